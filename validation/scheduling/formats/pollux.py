"""Pollux' workloads and profiles of models, in the form in which their authors published them.

A workload is one CSV. A profile is a folder of them: `placements.csv` and `scalability.csv` with
steps, `validation-<batch>.csv` with epochs. Each may be compressed as `.csv.gz`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from validation.scheduling.profile import Epoch, Profile, Submission

from foretrain.errors import InputError
from foretrain.queueing.steps import TimedStep
from foretrain.study.documents import records
from foretrain.study.files import read_text
from foretrain.study.problems import Problems
from foretrain.study.traces.format import MOST_BYTES, NOTHING

Row = Mapping[str, str]
Noun = TypeVar("Noun")

SUBMISSION = ("name", "time", "application", "num_replicas", "batch_size")
PLACED = ("placement", "local_bsz", "step_time", "sync_time")
SCALED = ("num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time")
LEARNED = ("progress", "iteration", "grad_sqr", "grad_var")
VALIDATION = "validation-"


def read_workload(path: Path) -> tuple[Submission, ...]:
    """Jobs as they were submitted.

    Raises:
        InputError: with every problem of the file and its line.
    """
    problems = Problems(str(path))
    jobs = _rows(path, SUBMISSION, make=_submission, problems=problems)
    names: set[str] = set()
    for job in jobs:
        if job.name in names:
            problems.add("", f"two jobs are called {job.name}. Rename one.")
        names.add(job.name)
    problems.check()
    return jobs


def read_profile(folder: Path) -> Profile:
    """What was measured of one model; the folder's name is the model's.

    Raises:
        InputError: with every problem of a file and its line, or of the folder.
    """
    files = {path.name.removesuffix(".gz"): path for path in sorted(folder.glob("*.csv*"))}
    known = [name for name in files if name.startswith(VALIDATION)]
    missing = [name for name in ("placements.csv", "scalability.csv") if name not in files]
    if missing or not known:
        raise InputError(
            f"{folder}: {', '.join(missing or [f'{VALIDATION}<batch>.csv'])} is missing. A profile"
            f" holds placements.csv, scalability.csv and {VALIDATION}<batch>.csv."
        )
    placed = _checked(files["placements.csv"], PLACED, _placed)
    scaled = _checked(files["scalability.csv"], SCALED, _scaled)
    return Profile(
        name=folder.name,
        steps=placed + scaled,
        epochs={_batch(files[name]): _checked(files[name], LEARNED, _epoch) for name in known},
    )


def _batch(path: Path) -> int:
    """The batch that the name of a file of epochs tells."""
    said = path.name.removeprefix(VALIDATION).split(".")[0]
    if not said.isdecimal():
        raise InputError(f"{path}: '{said}' is no batch. Name it {VALIDATION}<samples>.csv.")
    return int(said)


def _submission(row: Row) -> Submission:
    return Submission(
        name=row["name"],
        arrival=float(row["time"]),
        application=row["application"],
        devices=int(row["num_replicas"]),
        batch=int(row["batch_size"]),
    )


def _placed(row: Row) -> TimedStep:
    placement = tuple(map(int, row["placement"]))
    timed = partial(_timed, row, nodes=len(placement), devices=sum(placement))
    return timed(placement=placement)


def _scaled(row: Row) -> TimedStep:
    return _timed(row, nodes=int(row["num_nodes"]), devices=int(row["num_replicas"]))


def _timed(row: Row, *, nodes: int, devices: int, placement: tuple[int, ...] = ()) -> TimedStep:
    return TimedStep(
        nodes=nodes,
        devices=devices,
        batch=int(row["local_bsz"]),
        step=float(row["step_time"]),
        sync=float(row["sync_time"]),
        placement=placement,
    )


def _epoch(row: Row) -> Epoch:
    return Epoch(
        progress=float(row["progress"]),
        steps=float(row["iteration"]),
        signal=float(row["grad_sqr"]),
        noise=float(row["grad_var"]),
    )


def _checked(path: Path, columns: Sequence[str], make: Callable[[Row], Noun]) -> tuple[Noun, ...]:
    problems = Problems(str(path))
    rows = _rows(path, columns, make=make, problems=problems)
    problems.check()
    return rows


def _rows(
    path: Path, columns: Sequence[str], *, make: Callable[[Row], Noun], problems: Problems
) -> tuple[Noun, ...]:
    """A noun per line; what is wrong with a line is noted."""
    lines = (each for each in records(read_text(path, most=MOST_BYTES), str(path)) if each)
    header = next(lines, NOTHING).cells
    missing = [column for column in columns if column not in header]
    if missing:
        problems.add("line 1", f"has no column {', '.join(missing)}. Needed: {', '.join(columns)}.")
        return ()
    made = []
    for line in lines:
        try:
            made.append(make(line.row(header)))
        except ValueError as error:
            problems.add(f"line {line.line}", f"{error}")
    if not made:
        problems.add("", "holds no row that can be read.")
    return tuple(made)
