"""Fit: what a table abbreviates, and then leaves out, where a terminal has no room for it."""

from __future__ import annotations

from dataclasses import replace

from foretrain.report.table import Column, Table

GAP = 1
"""Cells between two columns."""


def fitted(content: Table, room: int) -> Table:
    """The table under short headings, then without its spare columns, until it fits in `room`."""
    if width(content) > room:
        content = _abbreviated(content)
    for column in _dispensable(content):
        if width(content) > room:
            content = _without(content, column)
    return content


def left_out(content: Table, shown: Table) -> tuple[str, ...]:
    """The names of the columns that a fitted table lacks."""
    if len(shown.columns) == len(content.columns):
        return ()
    names = {column.name for column in shown.columns}
    return tuple(it.name for it in content.columns if not {it.name, it.short} & names)


def width(content: Table) -> int:
    """Cells from the left of the first column to the right of the last, prose in short lines."""
    widths = [
        max(len(part) for text in (column.heading, *texts) for part in _parts(column, text))
        for column, texts in _columns(content)
    ]
    return sum(widths) + GAP * (len(widths) - 1)


def _columns(content: Table) -> list[tuple[Column, tuple[str, ...]]]:
    """Every column with the texts under it."""
    return [
        (column, tuple(row[place] for row in content.rows))
        for place, column in enumerate(content.columns)
    ]


def _parts(column: Column, text: str) -> list[str]:
    """What must stay on one line: a number with its unit, a word of prose."""
    return (text.splitlines() if column.number else text.split()) or [""]


def _abbreviated(content: Table) -> Table:
    """Short headings."""
    columns = tuple(replace(it, name=it.short or it.name) for it in content.columns)
    return replace(content, columns=columns)


def _dispensable(content: Table) -> list[Column]:
    """The spare columns: first those that say the same in every row, then the most spare ones."""
    spare = [(len(set(texts)) > 1, column) for column, texts in _columns(content) if column.spare]
    return [column for _, column in sorted(spare, key=lambda it: (it[0], -it[1].spare))]


def _without(content: Table, column: Column) -> Table:
    kept = [place for place, each in enumerate(content.columns) if each != column]
    return Table(
        columns=tuple(content.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in content.rows),
    )
