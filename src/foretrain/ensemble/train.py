"""Train the members of an ensemble, and hold what was predicted against what happened.

The report of `ensemble run`: members while they train, and what became of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from math import isfinite
from pathlib import Path
from statistics import fmean
from time import monotonic

from foretrain.ensemble.estimate import COUNTED, code
from foretrain.ensemble.plan import Planned, planned
from foretrain.ensemble.result import Compared, EnsembleRan, MemberResult, MemberState, Snapshot
from foretrain.ensemble.run.home import as_ours
from foretrain.ensemble.run.inputs import RunSetting
from foretrain.ensemble.run.launch import Launch
from foretrain.ensemble.run.looks import Looks, Report
from foretrain.ensemble.run.machine import time_of_everything
from foretrain.ensemble.run.probe import WHAT, Opened, Told, known, opened
from foretrain.ensemble.run.written import RunFolder
from foretrain.ensemble.run.written import opened as opened_logs
from foretrain.errors import ForetrainError, require
from foretrain.measured.ensemble_study import EnsembleStudy, Recipe
from foretrain.show.document import fingerprint
from foretrain.show.report import AnswerReport, Block, Note, ReportSection
from foretrain.show.table import Column, Fact, Table, table
from foretrain.show.words import count, percent, written
from foretrain.units import BYTES, SECONDS


def ensemble_run(
    study: EnsembleStudy,
    *,
    resume: bool = False,
    progress: Told | None = None,
    watch: Callable[[Snapshot], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> EnsembleRan:
    """Train every member of an ensemble on this machine.

    Args:
        study: data, members, and what the run may use.
        resume: go on with the run whose states are in the study's checkpoints.
        progress: told what is measured before, how much of it, of how much.
        watch: told of every look at the run.
        stop: whether members are to keep their state and end.

    Raises:
        InputError: the study's code, checkpoints or logs cannot be used.
        ForetrainError: every member failed.
        MissingExtra: PyTorch is not installed.
    """
    require("torch", what=WHAT)
    with as_ours(), ExitStack() as stack:
        folder = _folder(study, stack)
        # What a resumed run must have in common with the one that it goes on with.
        data = (study.name, study.data, study.shared, study.shuffle, study.seed, study.on_error)
        question = fingerprint((*data, study.recipes, study.halving))
        kept = folder.claim(question, resume=resume)
        found = stack.enter_context(opened(study))
        probed = known(study, found, progress)
        plan = planned(study, probed, cores=found.cores, fed=found.fed)
        folder.add({"question": question, "name": study.name})
        logs = stack.enter_context(opened_logs(study.logs, anew=not resume))

        def tell(now: Snapshot) -> None:
            logs.write(now)
            if watch is not None:
                watch(now)

        launch = Launch(
            setting=_setting(study, found, plan, folder=folder),
            tell=tell,
            stop=stop or (lambda: False),
            looks=Looks([recipe.name for recipe in study.recipes]),
            ended=list(kept.get("ended", [])),
            compared=kept.get("compared", 0),
        )
        began, used = monotonic(), time_of_everything()
        launch.run()
        answer = _answer(
            plan,
            launch,
            seconds=monotonic() - began,
            cpu=time_of_everything() - used,
            resumed=resume,
            warnings=tuple(logs.lost),
        )
    if all(each.state is MemberState.FAILED for each in answer.members):
        reasons = "\n".join(f"- {each.name}: {each.reason}" for each in answer.members)
        raise ForetrainError(f"every member failed.\n{reasons}")
    return answer


def _folder(study: EnsembleStudy, stack: ExitStack) -> RunFolder:
    """Where states are kept; a folder that is gone afterwards where nobody asked for one."""
    if study.checkpoints is not None:
        return RunFolder(Path(study.checkpoints.folder))
    made = stack.enter_context(tempfile.TemporaryDirectory(prefix="foretrain-"))
    return RunFolder(Path(made))


def _setting(
    study: EnsembleStudy, found: Opened, plan: Planned, *, folder: RunFolder
) -> RunSetting:
    return RunSetting(
        study=study,
        home=found.home,
        probed=plan.probed,
        way=plan.choice.way,
        cores=found.cores,
        memory=plan.memory,
        devices=plan.devices,
        folder=folder,
    )


def _answer(
    plan: Planned,
    launch: Launch,
    *,
    seconds: float,
    cpu: float,
    resumed: bool,
    warnings: tuple[str, ...],
) -> EnsembleRan:
    study, looks = launch.setting.study, launch.looks
    members = tuple(_member(recipe, launch) for recipe in study.recipes)
    return EnsembleRan(
        name=study.name,
        input=plan.choice.input,
        why=plan.choice.why,
        code=tuple(map(str, study.code)),
        members=members,
        seconds=seconds,
        cpu=cpu,
        memory=looks.memory,
        fill=fmean(looks.fills) if looks.fills else None,
        bottleneck=looks.overall(launch.reports),
        compared=() if resumed else tuple(compared(plan, members, launch, cpu=cpu)),
        resumed=resumed,
        complete=all(each.state in {MemberState.DONE, MemberState.ENDED} for each in members),
        folder=study.checkpoints.folder if study.checkpoints else "",
        warnings=warnings,
    )


def _member(recipe: Recipe, launch: Launch) -> MemberResult:
    """What became of a member; one that an earlier run had finished did nothing in this one."""
    report = launch.reports.get(recipe.name, Report())
    kept = launch.setting.folder.progress(recipe.name)
    epochs = max(report.epoch, kept["epoch"] if kept else 0)
    loss = report.epoch_loss if report.samples or kept is None else kept["last"]
    state = MemberState.DONE if epochs >= recipe.epochs else MemberState.STOPPED
    if recipe.name in launch.ended:
        state = MemberState.ENDED
    elif report.state is MemberState.FAILED:
        state = MemberState.FAILED
    return MemberResult(
        name=recipe.name,
        state=state,
        epochs=epochs,
        samples=report.samples,
        seconds=report.seconds,
        rate=report.samples / report.seconds if report.seconds else 0.0,
        wait=min(1.0, report.waited / report.seconds) if report.seconds else 0.0,
        loss=loss,
        cpu=report.cpu,
        dropped=report.dropped,
        skipped=report.skipped,
        reason=report.reason,
    )


def compared(
    plan: Planned,
    members: tuple[MemberResult, ...],
    launch: Launch,
    *,
    cpu: float,
) -> Iterator[Compared]:
    """Predictions against reality, of a run that went through from its first epoch to its last."""
    if any(each.state in {MemberState.FAILED, MemberState.STOPPED} for each in members):
        return
    expected = plan.forecast
    if expected.seconds is not None and expected.cpu is not None:
        trained = launch.trained
        yield _compared("time of training", "s", predicted=expected.seconds, measured=trained)
        yield _compared("processor time of everything", "s", predicted=expected.cpu, measured=cpu)
    measured = fmean(each.rate for each in members)
    rate = fmean(expected.rates.values())
    yield _compared("rate of a member", "samples/s", predicted=rate, measured=measured)
    own = fmean(each.cpu for each in plan.probed.members.values())
    spent = sum(each.cpu for each in members) / max(1, sum(each.samples for each in members))
    yield _compared("processor time of a member per sample", "s", predicted=own, measured=spent)
    held = launch.looks.memory
    if held is not None:
        yield _compared("memory of all processes", "B", predicted=expected.memory, measured=held)


def _compared(quantity: str, unit: str, *, predicted: float, measured: float) -> Compared:
    return Compared(
        quantity=quantity,
        unit=unit,
        predicted=predicted,
        measured=measured,
        error=predicted / measured - 1 if measured else None,
    )


def live(now: Snapshot) -> tuple[Block, ...]:
    """A look at a run, drawn again and again."""
    fill = "" if now.fill is None else f", {percent(now.fill)} of the stream's slots are full"
    pace = f"; the {now.bottleneck.stage} sets the pace" if now.bottleneck else ""
    shown = ("name", "state", "epoch", "samples", "rate", "lag", "wait", "loss")
    return table(now.members, *shown), Note(f"{written(SECONDS, now.seconds)}{fill}{pace}")


def ensemble_run_report(study: EnsembleStudy, answer: EnsembleRan) -> AnswerReport:
    """What is said after a run."""
    shown = ("name", "state", "epochs", "samples", "rate", "wait", "cpu", "loss", "lost")
    failed = (each for each in answer.members if each.state is MemberState.FAILED)
    done = [
        (each.loss, place)
        for place, each in enumerate(answer.members)
        if each.state is MemberState.DONE and each.loss is not None and isfinite(each.loss)
    ]
    members = ReportSection(
        name="members",
        title="Members",
        body=(
            table(answer.members, *shown, best=min(done)[1] if done else None, legend=True),
            tuple(Fact(label="Failed", text=f"{each.name}: {each.reason}") for each in failed),
            tuple(Fact(label="Warning", text=each) for each in answer.warnings),
        ),
    )
    compared = ReportSection(
        name="compared", title="Prediction against reality", body=(compared_table(answer),)
    )
    return AnswerReport(
        kind="Ensemble",
        title=f"{answer.name}: {count(len(answer.members), 'member')}",
        subtitle=code(answer.code),
        sections=(
            ReportSection(name="run", title="", body=(tuple(facts(answer)),)),
            members,
            compared,
            ReportSection(name="", title="", body=("", Note(code(answer.code)))),
        ),
    )


def facts(answer: EnsembleRan) -> Iterator[Fact]:
    """The run as a whole, one thing a line."""
    members = count(len(answer.members), "member")
    yield Fact(
        label="Ensemble", text=f"{answer.name}, {members}", more="resumed" if answer.resumed else ""
    )
    yield Fact(label="Input", text=str(answer.input), more=answer.why)
    processor = written(SECONDS, answer.cpu)
    yield Fact(
        label="Time", text=written(SECONDS, answer.seconds), more=f"{processor} of processor time"
    )
    if answer.memory is None:
        yield Fact(label="Memory", text="not seen", more="the run was over before the first look")
    else:
        yield Fact(label="Memory", text=written(BYTES, answer.memory), more=COUNTED)
    if answer.bottleneck is not None:
        yield Fact(
            label="Pace",
            text=f"set by the {answer.bottleneck.stage}",
            more=f"{answer.bottleneck.evidence}. {answer.bottleneck.remedy}",
        )
    if not answer.complete and answer.folder:
        yield Fact(label="To go on", text="run it again with --resume", more=answer.folder)


def compared_table(answer: EnsembleRan) -> Table:
    """Predictions against reality."""
    amount = Column(name="predicted", number=True, group="amount")
    return table(
        answer.compared,
        "quantity",
        (amount, lambda each: _valued(each.predicted, each.unit)),
        (replace(amount, name="measured"), lambda each: _valued(each.measured, each.unit)),
        "error",
    )


def _valued(value: float, unit: str) -> str:
    quantity = {"s": SECONDS, "B": BYTES}.get(unit)
    return written(quantity, value) if quantity else f"{value:,.3g} {unit}"
