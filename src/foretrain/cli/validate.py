"""`foretrain validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.cli.options import AsJson

Tables = Annotated[list[Path], typer.Argument(metavar="TABLE...", help="Measured runs in CSV.")]
Kind = Annotated[
    str | None, typer.Option("--kind", help="Kind of the tables, where their names do not say it.")
]


def validate(tables: Tables, *, kind: Kind = None, as_json: AsJson = False) -> None:
    """Hold predictions against measured runs, row by row."""
    from foretrain.cli.output import show
    from foretrain.files.measurements import read_measurements
    from foretrain.report.validate import validation_text
    from foretrain.results.document import document
    from foretrain.verbs import validate as verb
    from foretrain.verbs.provenance import provenance

    runs = [run for table in tables for run in read_measurements(table, kind=kind)]
    answer = verb.validate(runs)
    show(document("validate", answer, provenance(runs)) if as_json else validation_text(answer))
