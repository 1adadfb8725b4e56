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
    sources = list(dict.fromkeys(figure.source for figure in entry.figures))
    return Group(
        terminal.heading(f"{entry.name} ({entry.kind})"),
        entry.summary,
        "",
        terminal.table(_figures(entry, sources)),
        "",
        *(terminal.note(f"[{place}] {source}") for place, source in enumerate(sources, start=1)),
    )


def _figures(entry: CatalogueEntry, sources: list[str]) -> Table:
    """The numbers, each with the place of its source in the list below."""
    columns = (
        Column(name="key"),
        Column(name="value", number=True),
        Column(name="confidence"),
        Column(name="source"),
    )
    rows = tuple(
        (
            figure.key,
            str(figure.value),
            figure.confidence,
            f"[{sources.index(figure.source) + 1}]{f' of {figure.date}' if figure.date else ''}",
        )
        for figure in entry.figures
    )
    return Table(columns=columns, rows=rows)
