"""export: with which files does a trainer run a plan, and what is predicted of it?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError, nearest
from foretrain.launch.around import FILES, LAUNCHERS, LINES, JobStart
from foretrain.launch.facts import facts_of, unheard, value_of
from foretrain.launch.option import Tongues
from foretrain.launch.reading import shown
from foretrain.launch.writing import Wrote, in_form, write
from foretrain.plan.legality import kind_problems
from foretrain.plan.plan import Plan
from foretrain.plan.study import Space, Study
from foretrain.search.explain.departures import gives_one
from foretrain.search.result import SearchResult
from foretrain.search.search import search
from foretrain.show.document import Provenance, of_study
from foretrain.show.report import AnswerReport, Bullets, Note, ReportSection, Verbatim
from foretrain.show.words import span, written
from foretrain.step.estimate import estimate
from foretrain.step.facts import home
from foretrain.step.result import Estimate
from foretrain.step.software import habitual
from foretrain.study import catalogue
from foretrain.study.coefficients import DEFAULT
from foretrain.study.trainers import KIND, trainers
from foretrain.trainers.chosen import Chosen, against, chosen_of, that_can
from foretrain.trainers.trainer import Trainer
from foretrain.units import BYTES, DOLLARS, SECONDS

HABITS: Final = frozenset({"plan.sends"})
"""Fields of a plan that no trainer has an option for: it does as it does."""


SHARDING: Final = "plan.sharding"
"""Which a file has to state though it changes nothing about one replica."""

ATTENTION: Final = "options.attention"
"""By which a trainer is told the kernel of a plan's attention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    """A file.

    Attributes:
        name: of it.
        text: what it holds.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Something that a study says and that no file of the trainer holds.

    Attributes:
        key: which.
        value: what the study says.
        read: for what the files are read instead; empty where they say nothing of it.
    """

    key: str
    value: str
    read: str

    def __str__(self) -> str:
        """The sentence."""
        instead = f"; the files are read as {self.read}" if self.read else ""
        return f"{self.key} = {self.value}: no option says so{instead}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The files that run a plan.

    Attributes:
        trainer: name of the entry for which they are written.
        release: of that.
        launcher: what starts it.
        plan: in words.
        files: to be written beside each other.
        left: what they do not hold.
        estimate: what is predicted.
        inputs: hash of the study.
    """

    trainer: str
    release: str
    launcher: str
    plan: str
    files: tuple[ExportedFile, ...]
    left: tuple[Lost, ...]
    estimate: Estimate
    inputs: str


def export(
    study: Study,
    *,
    to: str,
    launcher: str = "torchrun",
    name: str = "train",
    searched: bool = False,
    coefficients: Coefficients = DEFAULT,
) -> Exported:
    """The files with which a trainer runs the plan of a study, or the best one that is found.

    Args:
        study: with one plan, as `estimate` takes it, or a space of them.
        to: a trainer of the catalogue, or a family for its newest release.
        launcher: what starts it: torchrun, slurm, kubernetes, skypilot.
        name: of the job, and of the files.
        searched: whether the best plan is taken where the study gives one too, which leaves some
            fields to a search (interleaving, recomputation).
        coefficients: how well hardware and software do.

    Raises:
        InputError: the trainer has no files that are known here, or cannot be told the plan; each
            field with the release.
        NoPlanFits: the study leaves the plan open, and none fits.
    """
    if launcher not in LAUNCHERS:
        known = ", ".join(LAUNCHERS)
        raise InputError(
            f"unknown launcher '{launcher}'.{nearest(launcher, LAUNCHERS)} Known: {known}."
        )
    if told := kind_problems(study):
        raise InputError("\n".join(told))
    if study.maximise is not None:
        raise InputError("search.maximise: asks for the largest; leave it out to export a plan.")
    trainer = target(to, chosen_of(study))
    study, found = _predicted(_with(study, trainer), coefficients, searched=searched)
    source = of_study(study, coefficients=coefficients)
    said = comments(found, trainer, source)
    files, left = files_of(study, found.plan, said, launcher=launcher, name=name)
    return Exported(
        trainer=trainer.name,
        release=trainer.release,
        launcher=launcher,
        plan=str(found.plan),
        files=files,
        left=left,
        estimate=found,
        inputs=source.inputs,
    )


def files_of(
    study: Study,
    plan: Plan,
    comments: Sequence[str] = (),
    *,
    launcher: str = "torchrun",
    name: str = "train",
) -> tuple[tuple[ExportedFile, ...], tuple[Lost, ...]]:
    """The files that run a plan, and what of the study they do not hold.

    Args:
        study: that names its trainer.
        plan: how.
        comments: lines at the top of each file.
        launcher: what starts it.
        name: of the job.

    Raises:
        InputError: the trainer cannot be told the plan; each field with the release.
    """
    chosen = chosen_of(study)
    assert chosen is not None, "a study without a trainer was exported"
    trainer = chosen.trainer
    quiet = unheard(plan, study) | HABITS
    said = facts_of(study, plan, trainer)
    facts = {key: it for key, it in said.items() if key not in quiet}
    if SHARDING in quiet:
        facts = {**facts, SHARDING: "none"}
    wrote = write(facts, Tongues(trainer), quiet)
    # What an entry rules out, its options need not say too.
    refused = [
        *_of_words(study, trainer),
        *(against(trainer, plan) or _refused(wrote, trainer)),
    ]
    if refused:
        raise InputError("\n".join(dict.fromkeys(refused)))
    start = _start(study, trainer, wrote, comments=comments, name=name)
    texts = {**start.files, **LAUNCHERS[launcher](start)}
    files = tuple(ExportedFile(name=each, text=text) for each, text in texts.items())
    return files, tuple(_left(wrote, plan, chosen))


def target(to: str, stated: Chosen | None) -> Trainer:
    """The trainer for which files are written: a release, or of a family the one that is meant.

    Args:
        to: of a release or a family.
        stated: what the study says of its software, whose release is taken where it is of the
            family.

    Raises:
        InputError: it has no files that are known here.
    """
    every = trainers()
    found = next(each for each in every if each.name == catalogue.find(KIND, to))
    by_family = found.name != to.lower()
    if by_family and stated is not None and stated.trainer.family == found.family:
        found = stated.trainer
    if found.dialect:
        return found
    able = [each for each in every if each.family == found.family and each.dialect]
    if by_family and able:
        return max(able, key=lambda each: each.date)
    have = sorted({each.name for each in able} or {each.name for each in every if each.dialect})
    raise InputError(f"no files of {found.name} are known here. Known: {', '.join(have)}.")


def able(study: Study, plan: Plan) -> Trainer | None:
    """The trainer for which files of a plan can be written; None if there is none.

    The study's own where it names one; otherwise the newest that runs the plan and can be told it.
    """
    stated = chosen_of(study)
    every = trainers()
    runs = that_can(every, plan)
    candidates = (
        [each for each in every if each.name in runs] if stated is None else [stated.trainer]
    )
    candidates.sort(key=lambda each: each.date, reverse=True)
    return next((each for each in candidates if each.dialect and _told(study, plan, each)), None)


def _told(study: Study, plan: Plan, trainer: Trainer) -> bool:
    """Whether a trainer can be told a plan."""
    try:
        files_of(_with(study, trainer), plan)
    except InputError:
        return False
    return True


def _with(study: Study, trainer: Trainer) -> Study:
    """A study that is run by a trainer; options of another one say nothing to it."""
    stated = chosen_of(study)
    if stated is not None and stated.name == trainer.name:
        return study
    given = tuple(
        each.name for each in fields(Space) if getattr(study.space, each.name) is not None
    )
    return replace(study, trainer=Chosen(trainer=trainer, stated=given))


def _predicted(
    study: Study, coefficients: Coefficients, *, searched: bool
) -> tuple[Study, Estimate]:
    """The estimate of a study's one plan; of the best one where it leaves some open."""
    if gives_one(study) and not searched:
        return study, estimate(study, coefficients=coefficients)
    found = search(study, coefficients=coefficients)
    assert isinstance(found, SearchResult), "two kinds of devices were not refused"
    return home(study, found.best), found.best.estimate


def _of_words(study: Study, trainer: Trainer) -> Iterator[str]:
    """That a trainer whose options say how wide a decoder is builds no network of pictures."""
    model = study.workload.model
    if model.tokens == 1 and any(it.key == "model.hidden" for it in trainer.dialect.flags):
        yield (
            f"workload.model: {trainer.family} {trainer.release} ({trainer.name}) builds models of "
            f"language; {model.name} is none."
        )


def _refused(wrote: Wrote, trainer: Trainer) -> Iterator[str]:
    """Fields of a plan that a trainer cannot be told."""
    for key, (value, back) in wrote.lost.items():
        if key.startswith(("plan.", ATTENTION)):
            told = f"; the nearest it can say is {shown(back)}" if back is not None else ""
            field = "plan.attention" if key == ATTENTION else key
            release = f"{trainer.family} {trainer.release} ({trainer.name})"
            yield f"{field}: {release} has no option that says {shown(value)}{told}."


def _left(wrote: Wrote, plan: Plan, chosen: Chosen) -> Iterator[Lost]:
    """What is lost beside the plan; of its habits, what a trainer does otherwise."""
    usual = habitual(chosen, plan).sends
    if plan.pipeline > 1 and plan.sends is not usual:
        yield Lost(key="plan.sends", value=shown(value_of(plan.sends)), read=shown(value_of(usual)))
    for key, (value, back) in wrote.lost.items():
        if not _told_by_sizes(key, wrote):
            yield Lost(key=key, value=shown(value), read="" if back is None else shown(back))


def _told_by_sizes(key: str, wrote: Wrote) -> bool:
    """Whether a model's name is lost, and all of its sizes are not; or the other way round."""
    sizes = [each.key for each in wrote.options if each.key.startswith("model.")]
    if key == "workload.model":
        return len(sizes) > 3
    return key.startswith("model.") and not sizes


def written_for(trainer: Trainer, version: str) -> str:
    """The first line of a file, by which it is known again."""
    release = f"{trainer.family} {trainer.release}".strip()
    return f"Written by foretrain {version} for {release} ({trainer.name})."


def comments(found: Estimate, trainer: Trainer, source: Provenance) -> tuple[str, ...]:
    """What a file says of itself: its release, the prediction, and where that is from."""
    step = written(SECONDS, found.step_time)
    between = span(found.step_time_low, found.step_time_high, SECONDS)
    memory = written(BYTES, found.memory.total)
    paid = (
        "" if found.cost_per_step is None else f", {written(DOLLARS, found.cost_per_step)} a step"
    )
    return (
        written_for(trainer, source.version),
        f"Plan: {found.plan}",
        f"Predicted: step {step} ({between}), memory {memory} of a device{paid}.",
        f"Study {source.inputs}, coefficients {source.coefficients}.",
    )


def _start(
    study: Study, trainer: Trainer, wrote: Wrote, *, comments: Sequence[str], name: str
) -> JobStart:
    """What is started: the trainer's own file, and its command line."""
    dialect = trainer.dialect
    options = wrote.options
    form = dialect.form
    files: dict[str, str] = {}
    if form is not None and not form.in_shell:
        files[dialect.file] = FILES[form](tuple(in_form(options, form)), comments)
    arguments = [line for each in LINES for line in LINES[each](in_form(options, each))]
    return JobStart(
        name=name,
        comments=tuple(comments),
        command=dialect.command.replace("{file}", dialect.file),
        arguments=tuple(arguments),
        nodes=study.cluster.nodes,
        node_devices=study.cluster.node_devices,
        device=study.cluster.device.name,
        files=files,
    )


def export_report(study: Study, found: Exported) -> AnswerReport:
    """What is said of files."""
    files = tuple(
        ReportSection(
            name=f"file-{place}", title=each.name, body=(Verbatim(each.text.rstrip("\n")),)
        )
        for place, each in enumerate(found.files)
    )
    left = tuple(map(str, found.left))
    said = ReportSection(
        name="left",
        title="What the files do not hold",
        body=(Bullets(left), Note("Bring it in the script that they start.")) if left else (),
    )
    title = f"{found.trainer}, started by {found.launcher}"
    return AnswerReport(kind="Export", title=title, sections=(*files, said))
