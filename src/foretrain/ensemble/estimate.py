"""What `ensemble estimate` answers: whether to share the input, and what the run will take.

Whether an ensemble should share its input, and what its run will take.

The report of `ensemble estimate`: whether to share the input, and what a run will take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from foretrain.ensemble.one_node import LoadingEstimate
from foretrain.ensemble.plan import Planned, SharingChoice, planned
from foretrain.ensemble.run.home import as_ours
from foretrain.ensemble.run.launch import comparisons
from foretrain.ensemble.run.machine import limited
from foretrain.ensemble.run.probe import Told, known, opened
from foretrain.measured.ensemble_study import EnsembleStudy, HandingCosts, Input, SampleCosts
from foretrain.show.report import AnswerReport, Note, ReportSection
from foretrain.show.table import Fact, label, table
from foretrain.show.words import count, percent, whole, written
from foretrain.units import BYTES, SECONDS

LIMITS = {"training": "the steps", "preparation": "preparing", "cores": "the cores"}


def rate(value: float) -> str:
    """Samples per second: "12.3", "1,234"."""
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """One way in which members can get their samples.

    Attributes:
        name: in words.
        shared: whether all read one stream.
        workers: processes that prepare, of the stream or of each member.
        cpu: core-seconds per sample, all members together.
        rate: samples per second of each member.
        limit: what keeps it from more: training, preparation or cores.
        memory: bytes of all processes at once.
        chosen: whether the run takes it.
    """

    name: str = field(metadata=label("way"))
    shared: bool
    workers: int
    cpu: float = field(
        metadata=label("processor time", SECONDS, meaning="per sample, all members together")
    )
    rate: float = field(metadata=label("rate", rate, meaning="samples per second of each member"))
    limit: str = field(
        metadata=label("limit", LIMITS.__getitem__, number=False, meaning="what keeps it from more")
    )
    memory: float = field(metadata=label("memory", BYTES, spare=1))
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberForecast:
    """One member before the run.

    Attributes:
        name: of the member.
        model: the function that builds it.
        batch: samples per step.
        epochs: how often it sees every sample, if it is not ended early.
        alone: samples per second with samples always at hand.
        rate: samples per second among the others.
        cpu: core-seconds per sample, of its own.
        memory: bytes that its process holds by itself.
        wave: in which it trains, from 1.
    """

    name: str = field(metadata=label("member"))
    model: str
    batch: int = field(metadata=label("batch", whole))
    epochs: int = field(metadata=label("epochs", whole))
    alone: float = field(
        metadata=label(
            "alone", "{:,.0f}".format, meaning="samples per second with samples always at hand"
        )
    )
    rate: float = field(
        metadata=label("together", "{:,.0f}".format, meaning="samples per second among the others")
    )
    cpu: float = field(
        metadata=label("own time", SECONDS, meaning="processor time of a sample", spare=1)
    )
    memory: float = field(metadata=label("memory", BYTES, spare=2))
    wave: int = field(metadata=label("wave", whole))


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleEstimated:
    """An ensemble before it runs.

    Attributes:
        name: of the ensemble.
        input: how members will get their samples.
        why: in a sentence.
        code: functions of the study that a run calls.
        members: in the order of the study.
        loadings: what was compared, the quickest first.
        sample: what a sample costs.
        handing: what handing it on costs.
        shareable: k, what a sample costs to prepare over what a member spends on it.
        cores: that everything shares.
        waves: how many groups train one after the other.
        comparisons: epochs after which the worst members end.
        seconds: of the run; None where nobody knows how many samples an epoch has.
        cpu: core-seconds of the run, likewise.
        memory: bytes of all processes at once.
        saved: core-seconds without sharing over those with it.
        measured: whether this machine measured it; otherwise the study says it.
        warnings: what to know besides.
    """

    name: str
    input: Input
    why: str
    code: tuple[str, ...]
    members: tuple[MemberForecast, ...]
    loadings: tuple[Loading, ...]
    sample: SampleCosts
    handing: HandingCosts
    shareable: float
    cores: int
    waves: int
    comparisons: tuple[int, ...]
    seconds: float | None
    cpu: float | None
    memory: float
    saved: float
    measured: bool
    warnings: tuple[str, ...]


NOT_CALLED = (
    "The study gives every figure, so its code was not called: the data is taken for a data set"
    " with a length and an index."
)

USUAL = (
    "What handing on a sample costs is not in the study: figures of another machine (AMD EPYC) are"
    " taken. ensemble.handing says yours, as an estimate that measures shows them."
)


def ensemble_estimate(study: EnsembleStudy, *, progress: Told | None = None) -> EnsembleEstimated:
    """What a run of an ensemble will take on this machine, measured briefly; trains nothing.

    Calls the code that the study names, unless the study gives every figure: then nothing is
    measured, and PyTorch is not needed.

    Args:
        study: data, members, and what the run may use.
        progress: told what is done, how much of it, of how much.

    Raises:
        InputError: code of the study is missing or does not give what it must, or a member does
            not fit this machine.
        MissingExtra: something must be measured, and PyTorch is not installed.
    """
    if study.given is not None:
        with limited(study.cores) as cores:
            return _answer(study, planned(study, study.given, cores=cores, fed=False), cores=cores)
    with as_ours(), opened(study) as found:
        probed = known(study, found, progress)
        plan = planned(study, probed, cores=found.cores, fed=found.fed)
        return _answer(study, plan, cores=found.cores)


def _answer(study: EnsembleStudy, plan: Planned, *, cores: int) -> EnsembleEstimated:
    choice, expected, halving = plan.choice, plan.forecast, comparisons(study)
    first, probed = plan.parts[0].since, plan.probed
    # What members spend on a sample, beside which preparing it is held; perhaps nothing.
    own = [each.cpu for each in probed.members.values()]
    return EnsembleEstimated(
        name=study.name,
        input=choice.input,
        why=choice.why,
        code=tuple(map(str, study.code)),
        members=tuple(_members(study, plan)),
        loadings=tuple(_loading(each, choice) for each in choice.estimates),
        sample=probed.sample,
        handing=probed.handing,
        shareable=probed.sample.prepare * len(own) / sum(own) if sum(own) else 0.0,
        cores=cores,
        waves=sum(part.since == first for part in plan.parts),
        comparisons=tuple(int(rung) for rung in halving.rungs) if halving else (),
        seconds=expected.seconds,
        cpu=expected.cpu,
        memory=expected.memory,
        saved=choice.private.cpu / choice.taken.cpu,
        measured=probed.measured,
        warnings=tuple(_warnings(study, plan)),
    )


def _members(study: EnsembleStudy, plan: Planned) -> Iterator[MemberForecast]:
    for recipe in study.recipes:
        costs = plan.probed.members[recipe.name]
        yield MemberForecast(
            name=recipe.name,
            model=str(recipe.model),
            batch=recipe.batch,
            epochs=recipe.epochs,
            alone=costs.rate,
            rate=plan.forecast.rates[recipe.name],
            cpu=costs.cpu,
            memory=costs.memory,
            wave=plan.wave(recipe.name),
        )


def _loading(estimate: LoadingEstimate, choice: SharingChoice) -> Loading:
    return Loading(
        name=estimate.name,
        shared=estimate.shared,
        workers=estimate.workers,
        cpu=estimate.cpu,
        rate=estimate.rate,
        limit=estimate.limit,
        memory=estimate.memory,
        chosen=estimate == choice.taken,
    )


def _warnings(study: EnsembleStudy, plan: Planned) -> Iterator[str]:
    rates = [each.rate for each in plan.probed.members.values()]
    if plan.choice.input is Input.SHARED and max(rates) > 2 * min(rates):
        slowest = min(study.recipes, key=lambda each: plan.probed.members[each.name].rate)
        yield (
            f"{slowest.name} is {max(rates) / min(rates):.1f} times slower than the quickest"
            " member, and those that block wait for it: policy = 'detach' lets them go ahead."
        )
    if not plan.probed.measured:
        yield NOT_CALLED
    if plan.probed.usual:
        yield USUAL
    if plan.probed.sample.count is None:
        yield "The data does not tell how many samples it has, so times are per sample only."


COUNTED = "all processes, what they share once"


def ensemble_estimate_report(study: EnsembleStudy, answer: EnsembleEstimated) -> AnswerReport:
    """What is said before a run."""
    chosen = next((n for n, each in enumerate(answer.loadings) if each.chosen), None)
    named = ", ".join(answer.code)
    told = code(answer.code) if answer.measured else f"A run calls code of the study: {named}."
    waves = ("wave",) if answer.waves > 1 else ()
    ways = table(
        answer.loadings, "name", "rate", "cpu", "memory", "limit", best=chosen, legend=True
    )
    members = table(
        answer.members,
        *("name", "batch", "epochs", "alone", "rate", "cpu", "memory", *waves),
        legend=True,
    )
    warnings = tuple(Fact(label="Warning", text=each) for each in answer.warnings)
    return AnswerReport(
        kind="Ensemble",
        title=f"{answer.name}: {count(len(answer.members), 'member')}",
        subtitle=told,
        sections=(
            ReportSection(name="expected", title="", body=(tuple(facts(answer)),)),
            ReportSection(name="loading", title="How members may get their samples", body=(ways,)),
            ReportSection(
                name="members",
                title="Members",
                body=(members, *(("", warnings) if warnings else ())),
            ),
            ReportSection(name="", title="", body=("", Note(told))),
        ),
    )


def facts(answer: EnsembleEstimated) -> Iterator[Fact]:
    """What is expected, one thing a line."""
    members = count(len(answer.members), "member")
    cores = count(answer.cores, "core")
    waves = f"{answer.waves} waves, one after the other" if answer.waves > 1 else ""
    rungs = ", ".join(map(str, answer.comparisons))
    compared = f"compared after epoch {rungs}" if rungs else ""
    groups = "; ".join(part for part in (waves, compared) if part)
    yield Fact(label="Ensemble", text=f"{answer.name}, {members} on {cores}", more=groups)
    yield Fact(label="Input", text=str(answer.input), more=answer.why)
    if answer.seconds is not None and answer.cpu is not None:
        more = f"{written(SECONDS, answer.cpu)} of processor time"
        yield Fact(label="Time", text=written(SECONDS, answer.seconds), more=more)
    yield Fact(
        label="Memory",
        text=written(BYTES, answer.memory),
        more=COUNTED,
    )
    saved = f"{answer.saved:.2g} times the processor time without sharing"
    yield Fact(label="Sharing", text=f"k = {answer.shareable:.2g}", more=saved)
    sample = answer.sample
    share = sample.prepare / max(sample.seconds, sample.prepare)
    waits = f", {percent(1 - share)} of it waiting" if share < 0.9 else ""
    prepare = written(SECONDS, sample.prepare)
    yield Fact(
        label="Sample",
        text=f"{prepare} of processor time to prepare{waits}; {written(BYTES, sample.size)}",
        more="" if answer.measured else "as the study says",
    )
    handing = answer.handing
    costs = ("store", "deliver", "collate", "queue")
    told = ", ".join(f"{name} {written(SECONDS, getattr(handing, name))}" for name in costs)
    yield Fact(label="Handing on", text=told, more=f"contention {handing.contention:.3f}")


def code(names: Sequence[str]) -> str:
    """Which functions of the study run."""
    return f"Runs code of the study: {', '.join(names)}."
