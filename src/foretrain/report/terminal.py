"""Terminal: facts, pieces and tables as rich draws them, legible at 80 columns and in ASCII."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from foretrain.errors import shortened
from foretrain.report.fact import Fact, Piece
from foretrain.report.fit import fitted, left_out
from foretrain.report.table import Column, Table
from foretrain.report.words import in_one_unit, percent, written
from foretrain.units import Quantity

LABEL_WIDTH = 11
MOST_OF_A_CELL = 1000
"""Characters; the longest of ours lists what was assumed of a row."""
BAR_WIDTH = 32
BAR_STYLE = Style(color="cyan")


class Bar:
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
        bar = Bar(piece.share / max(longest, 0.5))
        grid.add_row("", Text(piece.name), Text(amount), Text(percent(piece.share)), bar)
    return grid


class Fitted:
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


def table(content: Table, *, best: int | None = None) -> Fitted:
    """Columns of text; the row `best` stands out."""
    return Fitted(content, best)


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
