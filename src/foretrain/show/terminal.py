"""Fit: what a table abbreviates, and then leaves out, where a terminal has no room for it.

Terminal: facts, pieces and tables as rich draws them, legible at 80 columns and in ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from foretrain.errors import shortened
from foretrain.show.table import Column, Fact, Piece, Table
from foretrain.show.words import in_one_unit, percent, written
from foretrain.units import Quantity

GAP = 1
"""Cells between two columns."""


def fitted(content: Table, room: int) -> Table:
    """The table under short headings, then without its spare columns, until it fits in `room`."""
    if width(content) > room:
        # Short headings.
        columns = tuple(replace(it, name=it.short or it.name) for it in content.columns)
        content = replace(content, columns=columns)
    for column in _dispensable(content):
        if width(content) > room:
            kept = [place for place, each in enumerate(content.columns) if each != column]
            content = Table(
                columns=tuple(content.columns[place] for place in kept),
                rows=tuple(tuple(row[place] for place in kept) for row in content.rows),
            )
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


def _dispensable(content: Table) -> list[Column]:
    """The spare columns: first those that say the same in every row, then the most spare ones."""
    spare = [(len(set(texts)) > 1, column) for column, texts in _columns(content) if column.spare]
    return [column for _, column in sorted(spare, key=lambda it: (it[0], -it[1].spare))]


LABEL_WIDTH = 11
MOST_OF_A_CELL = 1000
"""Characters; the longest of ours lists what was assumed of a row."""
BAR_WIDTH = 32
BAR_STYLE = Style(color="cyan")


class TerminalBar:
    """A bar as long as its share, drawn with `#` where the terminal knows ASCII only."""

    def __init__(self, share: float) -> None:
        self.share = min(share, 1.0)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        cells = round(self.share * min(BAR_WIDTH, options.max_width))
        yield Segment(("#" if options.ascii_only else "█") * cells, BAR_STYLE)


def heading(text: str) -> Text:
    """A line that opens a section."""
    return Text(f"\n{text}", style="bold")


def note(text: str) -> Text:
    """A line in a lighter voice."""
    return Text(text, style="dim")


def facts(rows: Iterable[Fact], *, width: int = LABEL_WIDTH) -> RichTable:
    """Labels on the left, so many cells wide, and what is known on the right."""
    grid = RichTable.grid(padding=(0, 0))
    grid.add_column(width=width, style="bold")
    grid.add_column(overflow="fold")
    for fact in rows:
        style = "yellow" if fact.label == "Warning" else ""
        text = Text(shortened(fact.text, most=MOST_OF_A_CELL), style=style)
        grid.add_row(Text(fact.label), text.append(f"  ({fact.more})" if fact.more else "", "dim"))
    return grid


def pieces(rows: Sequence[Piece], quantity: Quantity) -> RichTable:
    """One line per piece: name, amount, share and a bar as long as the share."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=LABEL_WIDTH - 2)
    grid.add_column()
    grid.add_column(justify="right")
    grid.add_column(justify="right")
    grid.add_column()
    longest = max((piece.share for piece in rows), default=1.0)
    amounts = in_one_unit([written(quantity, piece.amount) for piece in rows], like=max)
    for piece, amount in zip(rows, amounts, strict=True):
        bar = TerminalBar(piece.share / max(longest, 0.5))
        grid.add_row("", Text(piece.name), Text(amount), Text(percent(piece.share)), bar)
    return grid


class FittedTable:
    """A table in as many columns as the terminal has room for; the row `best` stands out."""

    def __init__(self, content: Table, best: int | None) -> None:
        self.content = content
        self.best = best

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        shown = fitted(self.content, options.max_width)
        yield _drawn(shown, self.best)
        missing = left_out(self.content, shown)
        if missing:
            yield note(f"no room for: {', '.join(missing)}")


def table(content: Table, *, best: int | None = None) -> FittedTable:
    """Columns of text; the row `best` stands out."""
    return FittedTable(content, best)


def legend(columns: Sequence[Column]) -> Text:
    """What short column names mean."""
    return note("; ".join(f"{it.name}: {it.meaning}" for it in columns if it.meaning))


def _drawn(content: Table, best: int | None) -> RichTable:
    drawn = RichTable(
        box=SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False, header_style="bold"
    )
    for place, column in enumerate(content.columns):
        prose = any(" " in row[place] for row in content.rows)
        drawn.add_column(
            Text(column.heading),
            justify="right" if column.number else "left",
            overflow="fold",
            no_wrap=column.number or not prose,
        )
    for place, row in enumerate(content.rows):
        cells: list[RenderableType] = [Text(shortened(text, most=MOST_OF_A_CELL)) for text in row]
        drawn.add_row(*cells, style="bold green" if place == best else "")
    return drawn
