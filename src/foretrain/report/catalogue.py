"""The report of `catalogue`: what foretrain knows by name, and who says so."""

from __future__ import annotations

from rich.console import Group

from foretrain.report import terminal
from foretrain.report.table import Column, Table
from foretrain.results.catalogue import CatalogueEntry, CatalogueResult


def catalogue_text(result: CatalogueResult) -> Group:
    """One line per entry; for a single entry every number with its source."""
    if len(result.entries) == 1:
        return _entry(result.entries[0])
    columns = (Column(name="name"), Column(name="kind"), Column(name="summary"))
    rows = tuple((entry.name, entry.kind, entry.summary) for entry in result.entries)
    hint = "foretrain catalogue NAME shows an entry's numbers and their sources."
    return Group(terminal.table(Table(columns=columns, rows=rows)), "", terminal.note(hint))


def _entry(entry: CatalogueEntry) -> Group:
    columns = (
        Column(name="key"),
        Column(name="value", number=True),
        Column(name="confidence"),
        Column(name="as of"),
        Column(name="source"),
    )
    rows = tuple(
        (figure.key, str(figure.value), figure.confidence, figure.date or "", figure.source)
        for figure in entry.figures
    )
    return Group(
        terminal.heading(f"{entry.name}, a {entry.kind}"),
        entry.summary,
        "",
        terminal.table(Table(columns=columns, rows=rows)),
    )
