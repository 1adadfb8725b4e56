"""What is compared: two questions, or one and a step that was measured of it or of another run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from foretrain.app.question import CommandLine, Spoken, asked_study
from foretrain.errors import InputError, nearest

if TYPE_CHECKING:
    from foretrain.coefficients.coefficients import Coefficients
    from foretrain.launch.log import SteadyTime
    from foretrain.launch.writing import StepCounts
    from foretrain.plan.study import Study
    from foretrain.search.explain.compared import MeasuredStep

TABLE = ".csv:"
"""Between the name of a table and the id of a row in it."""


def asked_sides(line: CommandLine, other: str) -> tuple[Study | MeasuredStep, Study | MeasuredStep]:
    """What is compared with what.

    Args:
        line: a study in a file, files of a trainer, a model, or a row of a table ("runs.csv:ID"),
            and what is said beside it. A study in a file says itself where it runs; whatever is
            beside it is told by the line.
        other: the same; a plan for the first one ("tp8"); the log of its run, or the trace of a
            profiler.

    Raises:
        InputError: with every problem of the first that has some.
    """
    from foretrain.study.launch_files import is_log, is_profile_file

    path, row = Path(other), TABLE in str(line.study)
    tells = is_log(path) or is_profile_file(path)
    if row and tells:
        raise InputError(f"{other}: tells of the run of a study; {line.study} is a row of a table.")
    if not row and TABLE not in other and not tells:
        return _studies(line, other)
    first = _row(str(line.study), line.known) if row else asked_study(line.study, line.said)
    if TABLE in other:
        return first, _row(other, line.known)
    if tells:
        asked = _study_of(first)
        return first, logged_step(asked, path) if is_log(path) else _profiled(asked, path)
    return first, _beside(_study_of(first), other, line.said)


def _studies(line: CommandLine, other: str) -> tuple[Study, Study]:
    """Two studies, both asked as one is; or one, and the same with some of its plan named anew."""
    if not _is_question(other):
        first = asked_study(line.study, line.said)
        return first, _beside(first, other, line.said)
    path, said = Path(other), line.said
    lines = [replace(said, on=None) if _is_study(each) else said for each in (line.study, path)]
    if said.on is not None and all(each.on is None for each in lines):
        raise InputError(f"--on {said.on}: {line.study} and {other} say themselves where they run.")
    return asked_study(line.study, lines[0]), asked_study(path, lines[1])


def _beside(first: Study, other: str, said: Spoken) -> Study:
    """A question beside another one; a plan for that where it is none itself."""
    from foretrain.study.spoken import with_plan

    if not _is_question(other):
        return with_plan(first, other, where="compare")
    path = Path(other)
    return asked_study(path, replace(said, on=None) if _is_study(path) else said)


def _study_of(side: Study | MeasuredStep) -> Study:
    from foretrain.search.explain.compared import MeasuredStep

    return side.study if isinstance(side, MeasuredStep) else side


def _is_question(other: str) -> bool:
    """Whether a word names a file or a model."""
    from foretrain.study.files import exists
    from foretrain.study.launch_files import is_launch_file
    from foretrain.workload.library.entries import known

    path = Path(other)
    in_file = exists(path) or path.suffix == ".toml" or is_launch_file(path)
    return in_file or known(other) is not None


def _is_study(path: Path) -> bool:
    from foretrain.study.files import exists
    from foretrain.study.launch_files import is_configuration, is_launch_file

    return exists(path) and not is_launch_file(path) and not is_configuration(path)


def counts_of(study: Study) -> StepCounts:
    """What the step of a study of one plan is made of."""
    from foretrain.launch.writing import StepCounts
    from foretrain.step.estimate import estimate

    workload, plan = study.workload, estimate(study).plan
    return StepCounts(
        samples=workload.global_batch,
        tokens=workload.model.tokens,
        devices=plan.devices,
        micro_batches=workload.micro_batches(plan.data, plan.micro_batch),
    )


def steady_in(log: Path) -> SteadyTime:
    """The steady time of a step in a log.

    Raises:
        InputError: it has none.
    """
    from foretrain.launch.log import steady
    from foretrain.study.launch_files import read_log
    from foretrain.study.problems import told_of

    text = read_log(log)
    with told_of(log):
        return steady(text)


def logged_step(study: Study, log: Path) -> MeasuredStep:
    """The step that a log tells of a study's run."""
    from foretrain.search.explain.compared import MeasuredStep
    from foretrain.study.problems import told_of

    found = steady_in(log)
    with told_of(log):
        seconds = found.told.seconds(counts_of(study))
    of = f"{log.name}, {found.figures} figures"
    return MeasuredStep(study=study, step_time=seconds, of=of)


def _profiled(study: Study, trace: Path) -> MeasuredStep:
    """The step that a profiler saw of a study's run."""
    from foretrain.launch.kineto import profiled
    from foretrain.search.explain.compared import MeasuredStep
    from foretrain.show.words import count
    from foretrain.study.launch_files import read_profile
    from foretrain.study.problems import told_of

    document = read_profile(trace)
    with told_of(trace):
        found = profiled(document)
    of = f"{trace.name}, {count(found.steps, 'step')}"
    return MeasuredStep(study=study, step_time=found.step_time, of=of, profile=found)


def _row(named: str, coefficients: Coefficients) -> MeasuredStep:
    """A row of a table of measured runs.

    Raises:
        InputError: the table has no such row, or nothing is predicted of it.
    """
    from foretrain.evidence.predict import measured_step
    from foretrain.measured.run import MeasuredRun
    from foretrain.study.measurements import read_measurements
    from foretrain.study.problems import told_of

    table, _, name = named.rpartition(":")
    rows = read_measurements(Path(table))
    found = next((each for each in rows if each.id == name), None)
    if found is None:
        raise InputError(f"{table}: has no row '{name}'.{nearest(name, [it.id for it in rows])}")
    if not isinstance(found, MeasuredRun):
        raise InputError(f"{table}: {found.reason}")
    with told_of(table):
        return measured_step(found, coefficients, of=f"{Path(table).name}, row {name}")


def questions(sides: Sequence[Study | MeasuredStep]) -> tuple[Study, ...]:
    """The studies of what is compared."""
    return tuple(map(_study_of, sides))
