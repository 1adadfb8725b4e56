"""`foretrain calibrate`, `foretrain validate`.

`foretrain calibrate`.

`foretrain validate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretrain.app.output import AsJson, CoefficientsFile, Kind, Page, Workers
from foretrain.app.question import Spoken, with_options
from foretrain.errors import InputError

if TYPE_CHECKING:
    from foretrain.coefficients.coefficients import Calibration
    from foretrain.launch.writing import LoggedTime
    from foretrain.measured.run import MeasuredRun, UnreadRow
    from foretrain.plan.study import Study
    from foretrain.show.document import Provenance

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUNS...",
        help="Measured runs in CSV; or what ran (a study, files of a trainer, a model with --on) "
        "and the log of its run, or --step-time.",
    ),
]
StepTime = Annotated[
    str | None,
    typer.Option(
        "--step-time",
        metavar="TIME",
        help='What one step of the study took: "12.3 s", or the log\'s line.',
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the set, for --coefficients.")
]
Anyway = Annotated[
    bool,
    typer.Option("--anyway", help="Accept what is hard to believe, or does not help."),
]
Name = Annotated[
    str | None, typer.Option("--name", help="Name of the set; that of its file if absent.")
]


@with_options
def calibrate(
    asked: Spoken,
    *,
    runs: Runs,
    step_time: StepTime = None,
    kind: Kind = None,
    output: Output = None,
    anyway: Anyway = False,
    name: Name = None,
    workers: Workers = 1,
    coefficients: CoefficientsFile = None,
    as_json: AsJson = False,
) -> None:
    """Fit coefficients to runs of your own, or to one step."""
    from datetime import date

    from foretrain.app.output import check_page, chosen, show_and_write, tell, told
    from foretrain.app.progress import engine
    from foretrain.app.sides import counts_of
    from foretrain.evidence import calibrate as verb
    from foretrain.plan.study import Study
    from foretrain.study.coefficients import SHIPPED, as_toml
    from foretrain.study.problems import told_of

    if output is not None:
        for each in runs:
            check_page(output, each, what="input", option="--output")
    base, listed = chosen(coefficients), " ".join(map(str, runs))
    said, runs, source_of = _said(runs, step_time)
    ran = _runs(runs, kind, asked) if said is None else _study(runs, kind, asked)
    with told_of(source_of):
        seconds = said.seconds(counts_of(ran)) if said and isinstance(ran, Study) else None
    with told_of(listed), engine(workers) as spread:
        found = verb.calibrate(
            ran,
            step_time=seconds,
            anyway=anyway,
            called=listed,
            name=_name(name, output),
            date=date.today().isoformat(),
            base=base,
            engine=spread,
            progress=tell,
        )
    source = _source(ran, base)
    show_and_write(
        told(ran, found, source, as_json=as_json),
        output if found.accepted else None,
        lambda: as_toml(found.calibration, over=SHIPPED, about=ABOUT, digits=DIGITS),
    )
    if not found.accepted:
        raise InputError("\n".join([f"{listed}: no set is made.", *found.doubts, ANYWAY]))


def _said(runs: list[Path], step_time: str | None) -> tuple[LoggedTime | None, list[Path], str]:
    """What a step took, by a line or a log; the files that are no logs; and who says so.

    Raises:
        InputError: nothing says it, or two do; or a log comes without the study that ran.
    """
    from foretrain.app.output import tell
    from foretrain.app.sides import steady_in
    from foretrain.launch.writing import logged
    from foretrain.study.launch_files import is_log
    from foretrain.study.problems import told_of

    logs = [each for each in runs if is_log(each)]
    rest = [each for each in runs if each not in logs]
    if not logs:
        with told_of("--step-time"):
            return (None if step_time is None else logged(step_time)), rest, "--step-time"
    listed = ", ".join(map(str, logs))
    if step_time is not None or len(logs) > 1:
        raise InputError(f"{listed}: one log, or --step-time, says what a step took.")
    if not rest:
        raise InputError(
            f"{listed}: says what a step took, and not of what. Name the study that ran too."
        )
    found = steady_in(logs[0])
    tell(f"{listed}: {found}.")
    return found.told, rest, listed


ABOUT = "Made by foretrain calibrate, for --coefficients."

ANYWAY = "If it is right all the same, say --anyway."

DIGITS = 12
"""Of every value that is written, so that a measured step is met exactly."""


def _name(given: str | None, output: Path | None) -> str:
    """The name of a new set.

    Raises:
        InputError: a set of that name is shipped.
    """
    from foretrain.study.coefficients import BASES

    name = given or (output.stem if output else "mine")
    if name in BASES:
        raise InputError(f"--name {name}: such a set is shipped. Give yours a name of its own.")
    return name


def _source(ran: Sequence[MeasuredRun | UnreadRow] | Study, base: Calibration) -> Provenance:
    """What stands behind the answer."""
    from foretrain.plan.study import Study
    from foretrain.show.document import of_study, provenance

    if isinstance(ran, Study):
        return of_study(ran, coefficients=base.coefficients)
    return provenance(ran, coefficients=base.coefficients)


def _study(paths: list[Path], kind: str | None, asked: Spoken) -> Study:
    """The study whose step was timed."""
    from foretrain.app.question import asked_study

    if kind is not None:
        raise InputError("--kind is of tables, a step's time of a study. Leave one of them out.")
    if len(paths) > 1:
        raise InputError(f"a step's time is that of one study, got {len(paths)} files.")
    return asked_study(paths[0], asked)


def _runs(tables: list[Path], kind: str | None, asked: Spoken) -> list[MeasuredRun | UnreadRow]:
    """The rows of some tables; those that cannot be read are told."""
    from foretrain.app.output import tell_all
    from foretrain.measured.run import UnreadRow
    from foretrain.study.measurements import read_measurements

    if asked.words:
        raise InputError(
            f"{asked.words[0]} says what ran, which the rows of tables say themselves."
        )
    rows = [row for table in tables for row in read_measurements(table, kind=kind)]
    tell_all("row", [row.reason for row in rows if isinstance(row, UnreadRow)])
    return rows


Tables = Annotated[list[Path], typer.Argument(metavar="TABLE...", help="Measured runs in CSV.")]


def validate(
    tables: Tables,
    *,
    kind: Kind = None,
    coefficients: CoefficientsFile = None,
    as_json: AsJson = False,
    html: Page = None,
    workers: Workers = 1,
) -> None:
    """Hold predictions against measured runs, row by row."""
    from foretrain.app.output import answered, check_page, chosen
    from foretrain.app.progress import engine, rows_done
    from foretrain.evidence import validate as verb
    from foretrain.show.document import provenance
    from foretrain.study.measurements import read_measurements

    if html is not None:
        for table in tables:
            check_page(html, table, what="table")
    known = chosen(coefficients).coefficients
    runs = [run for table in tables for run in read_measurements(table, kind=kind)]
    with engine(workers) as spread, rows_done(len(runs)) as done:
        answer = verb.validate(runs, coefficients=known, engine=spread, progress=done)
    source = provenance(runs, coefficients=known)
    answered(runs, answer, source, as_json=as_json, html=html)
