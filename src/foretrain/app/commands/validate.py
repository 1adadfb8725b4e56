"""`foretrain validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.app.output import AsJson, CoefficientsFile

Tables = Annotated[list[Path], typer.Argument(metavar="TABLE...", help="Measured runs in CSV.")]
Kind = Annotated[
    str | None, typer.Option("--kind", help="Kind of the tables, where their names do not say it.")
]
Page = Annotated[
    Path | None, typer.Option("--html", metavar="PAGE", help="Also write the report as a web page.")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes that share the rows.")]


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
    from foretrain.app.engine import engine
    from foretrain.app.output import check_page, chosen, show_and_write
    from foretrain.app.progress import rows_done
    from foretrain.evidence import validate as verb
    from foretrain.evidence.page import validation_page
    from foretrain.evidence.report import validation_text
    from foretrain.show.document import document
    from foretrain.show.provenance import provenance
    from foretrain.study.measurements import read_measurements

    if html is not None:
        for table in tables:
            check_page(html, table, what="table")
    known = chosen(coefficients).coefficients
    runs = [run for table in tables for run in read_measurements(table, kind=kind)]
    with engine(workers) as spread, rows_done(len(runs)) as done:
        answer = verb.validate(runs, coefficients=known, engine=spread, progress=done)
    source = provenance(runs, coefficients=known)
    shown = document("validate", answer, source)
    show_and_write(
        shown if as_json else validation_text(answer),
        html,
        lambda: validation_page(answer, source),
    )
