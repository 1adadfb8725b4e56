"""`foretrain validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.app.output import AsJson, CoefficientsFile, Kind, Page, Workers

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
    from foretrain.app.engine import engine
    from foretrain.app.output import answered, check_page, chosen
    from foretrain.app.progress import rows_done
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
