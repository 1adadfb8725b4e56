"""`foretrain calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretrain.cli.options import AsJson, CoefficientsFile

if TYPE_CHECKING:
    from foretrain.coefficients.calibration import Calibration
    from foretrain.results.calibrate import Calibrated
    from foretrain.results.provenance import Provenance

Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUNS...", help="Measured runs in CSV; a study with --step-time."),
]
StepTime = Annotated[
    str | None,
    typer.Option("--step-time", metavar="TIME", help='What one step of the study took: "12.3 s".'),
]
Kind = Annotated[
    str | None, typer.Option("--kind", help="Kind of the tables, where their names do not say it.")
]
Output = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the set, for --coefficients.")
]
Name = Annotated[
    str | None, typer.Option("--name", help="Name of the set; that of its file if absent.")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes that share the runs.")]


def calibrate(
    runs: Runs,
    *,
    step_time: StepTime = None,
    kind: Kind = None,
    output: Output = None,
    name: Name = None,
    workers: Workers = 1,
    coefficients: CoefficientsFile = None,
    as_json: AsJson = False,
) -> None:
    """Fit coefficients to runs of your own, or to one step."""
    from foretrain.cli.output import check_page, show_and_write
    from foretrain.cli.sets import chosen
    from foretrain.files.coefficients import SHIPPED, as_toml
    from foretrain.report.calibrate import calibration_text
    from foretrain.results.document import document

    if output is not None:
        for each in runs:
            check_page(output, each, what="input", option="--output")
    base, called = chosen(coefficients), _name(name, output)
    if step_time is None:
        found, source = _fitted(runs, kind=kind, name=called, base=base, workers=workers)
    else:
        _refuse_kind(kind)
        found, source = _anchored(runs, step_time, name=called, base=base)
    show_and_write(
        document("calibrate", found, source) if as_json else calibration_text(found),
        output,
        lambda: as_toml(found.calibration, over=SHIPPED, about=ABOUT, digits=DIGITS),
    )


ABOUT = "Made by foretrain calibrate, for --coefficients."


DIGITS = 12
"""Of every value that is written, so that a measured step is met exactly."""


def _refuse_kind(kind: str | None) -> None:
    """Refuse a kind of tables where there is a study."""
    from foretrain.errors import InputError

    if kind is not None:
        raise InputError("--kind is of tables, --step-time of a study. Leave one of them out.")


def _name(given: str | None, output: Path | None) -> str:
    """The name of a new set.

    Raises:
        InputError: a set of that name is shipped.
    """
    from foretrain.errors import InputError
    from foretrain.files.calibration import BASES

    name = given or (output.stem if output else "mine")
    if name in BASES:
        raise InputError(f"--name {name}: such a set is shipped. Give yours a name of its own.")
    return name


def _fitted(
    tables: list[Path], *, kind: str | None, name: str, base: Calibration, workers: int
) -> tuple[Calibrated, Provenance]:
    """The set fitted to the runs of some tables."""
    from datetime import date

    from foretrain.cli.legible import tell, tell_all
    from foretrain.files.measurements import read_measurements
    from foretrain.files.problems import told_of
    from foretrain.measured.run import MeasuredRun
    from foretrain.measured.unread import UnreadRow
    from foretrain.verbs import calibrate as verb
    from foretrain.verbs.engine import engine
    from foretrain.verbs.provenance import provenance

    listed = " ".join(map(str, tables))
    rows = [row for table in tables for row in read_measurements(table, kind=kind)]
    runs = [row for row in rows if isinstance(row, MeasuredRun)]
    tell_all("row", [row.reason for row in rows if isinstance(row, UnreadRow)])
    fitting = verb.Fitting(
        free=verb.fittable(base),
        kept_apart=frozenset(),
        publishers=None,
        name=name,
        date=date.today().isoformat(),
        command=f"foretrain calibrate {listed}",
    )
    with told_of(listed), engine(workers) as spread:
        found = verb.calibrate(
            runs,
            fitting,
            priors=base,
            engine=spread,
            progress=tell,
        )
    return found, provenance(runs, coefficients=base.coefficients)


def _anchored(
    studies: list[Path], step_time: str, *, name: str, base: Calibration
) -> tuple[Calibrated, Provenance]:
    """The set moved by one measured step of a study."""
    from datetime import date

    from foretrain.errors import InputError
    from foretrain.files.problems import told_of
    from foretrain.files.study import read_study
    from foretrain.units import SECONDS
    from foretrain.verbs.anchor import anchor
    from foretrain.verbs.provenance import of_study

    if len(studies) > 1:
        raise InputError(f"--step-time is that of one study, got {len(studies)} files.")
    with told_of("--step-time"):
        seconds = SECONDS.read(step_time)
    (path,) = studies
    asked = read_study(path)
    with told_of(path):
        found = anchor(
            asked, seconds, run=str(path), name=name, date=date.today().isoformat(), base=base
        )
    return found, of_study(asked, coefficients=base.coefficients)
