"""Where answers are drawn: terminals and web pages.

Fit: what a table abbreviates, and then leaves out, where a terminal has no room for it.

Terminal: reports as rich draws them, legible at 80 columns and in ASCII.

Web pages: one file that needs nothing but itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from foretrain.errors import shortened
from foretrain.show.document import Provenance
from foretrain.show.report import (
    AnswerReport,
    Block,
    Bullets,
    Drawing,
    Medium,
    Note,
    Pieces,
    Strong,
    Verbatim,
)
from foretrain.show.table import Column, Fact, Table, table
from foretrain.show.words import in_one_unit, percent, written
from foretrain.units import BYTES, SECONDS

if TYPE_CHECKING:
    from jinja2 import Environment, Template

GAP = 1
"""Cells between two columns."""


def fitted(content: Table, room: int) -> Table:
    """The table under short headings, then without its spare columns, until it fits in `room`."""
    if width(content) > room:
        short = tuple(replace(it, name=it.short or it.name) for it in content.columns)
        content = replace(content, columns=short)
    # First those that say the same in every row, then the most spare ones.
    spare = [(len(set(texts)) > 1, column) for column, texts in _columns(content) if column.spare]
    for _, column in sorted(spare, key=lambda it: (it[0], -it[1].spare)):
        if width(content) > room:
            kept = [place for place, each in enumerate(content.columns) if each != column]
            content = replace(
                content,
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
    # A number stays on one line with its unit, of prose each word.
    widths = [
        max(
            len(part)
            for text in (column.heading, *texts)
            for part in (text.splitlines() if column.number else text.split()) or [""]
        )
        for column, texts in _columns(content)
    ]
    return sum(widths) + GAP * (len(widths) - 1)


def _columns(content: Table) -> list[tuple[Column, tuple[str, ...]]]:
    """Every column with the texts under it."""
    return [
        (column, tuple(row[place] for row in content.rows))
        for place, column in enumerate(content.columns)
    ]


LABEL_WIDTH = 11
MOST_OF_A_CELL = 1000
"""Characters; the longest of ours lists what was assumed of a row."""
BAR_WIDTH = 32
BAR_STYLE = Style(color="cyan")
STYLES = {"Warning": "yellow", "Failed": "red", "fail": "bold red", "warn": "yellow", "ok": "green"}
"""Of what stands behind a label."""


class TerminalBar:
    """A bar as long as its share, drawn with `#` where the terminal knows ASCII only."""

    def __init__(self, share: float) -> None:
        self.share = min(share, 1.0)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        cells = round(self.share * min(BAR_WIDTH, options.max_width))
        yield Segment(("#" if options.ascii_only else "█") * cells, BAR_STYLE)


class _AsItIs:
    """Lines that nobody folds, for they are copied from a terminal."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        for line in self.text.splitlines():
            yield Segment(line)
            yield Segment.line()


def drawn(report: AnswerReport, *, more: bool = False) -> Group:
    """What a terminal shows of a report; with `more` all that a page says in words."""
    lines: list[RenderableType] = []
    for section in report.sections:
        shown = section.blocks(Medium.MORE if more else Medium.SCREEN)
        if shown and section.title and (more or not section.quiet):
            lines.append(Text(f"\n{section.title}", style="bold"))
        lines.append(blocks(shown))
    return Group(*lines)


def blocks(shown: Iterable[Block]) -> Group:
    """What a terminal shows of some blocks, one below the other."""
    lines = (
        line
        for block in shown
        for line in ([_AsItIs(block.text)] if isinstance(block, Verbatim) else _block(block))
    )
    return Group(*lines)


def _block(block: Block) -> Iterator[RenderableType]:
    """What a terminal shows of one block; nothing of a picture."""
    match block:
        case str():
            yield Text(block)
        case Note(text=text):
            yield Text(text, style="dim")
        case Strong(text=text):
            yield Text(f"\n{text}", style="bold")
        case Bullets(texts=texts):
            yield Padding(Text("\n".join(texts)), (0, 0, 1, 2))
        case tuple():
            yield _facts(block)
        case Pieces():
            yield _pieces(block)
        case Table():
            yield from _table(block)


def _table(content: Table) -> Iterator[RenderableType]:
    """The first rows of a table, how many more there are, and what its headings mean."""
    most = len(content.rows) if content.most is None else content.most
    first = replace(content, rows=content.rows[:most])
    yield FittedTable(first)
    if len(content.rows) > most:
        more = len(content.rows) - most
        yield Text(f"... and {more} more: see --json or --html", style="dim")
    if content.legend:
        yield _Legend(first)


def _facts(rows: Sequence[Fact]) -> RichTable:
    """Labels on the left and what is known on the right."""
    grid = RichTable.grid(padding=(0, 0))
    grid.add_column(width=max(LABEL_WIDTH, *(len(fact.label) + 1 for fact in rows)), style="bold")
    grid.add_column(overflow="fold")
    for fact in rows:
        text = Text(shortened(fact.text, most=MOST_OF_A_CELL), style=STYLES.get(fact.label, ""))
        grid.add_row(Text(fact.label), text.append(f"  ({fact.more})" if fact.more else "", "dim"))
    return grid


def _pieces(whole: Pieces) -> RichTable:
    """One line per piece: name, amount, share and a bar as long as the share."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=LABEL_WIDTH - 2)
    grid.add_column()
    grid.add_column(justify="right")
    grid.add_column(justify="right")
    grid.add_column()
    rows = whole.pieces
    longest = max((piece.share for piece in rows), default=1.0)
    amounts = in_one_unit([written(whole.quantity, piece.amount) for piece in rows], like=max)
    for piece, amount in zip(rows, amounts, strict=True):
        bar = TerminalBar(piece.share / max(longest, 0.5))
        grid.add_row("", Text(piece.name), Text(amount), Text(percent(piece.share)), bar)
    return grid


class FittedTable:
    """A table in as many columns as the terminal has room for."""

    def __init__(self, content: Table) -> None:
        self.content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        shown = fitted(self.content, options.max_width)
        grid = RichTable(
            box=SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False, header_style="bold"
        )
        for place, column in enumerate(shown.columns):
            prose = any(" " in row[place] for row in shown.rows)
            grid.add_column(
                Text(column.heading),
                justify="right" if column.number else "left",
                overflow="fold",
                no_wrap=column.number or not prose,
            )
        for place, row in enumerate(shown.rows):
            cells = (Text(shortened(it, most=MOST_OF_A_CELL), STYLES.get(it, "")) for it in row)
            grid.add_row(*cells, style="bold green" if place == shown.best else "")
        yield grid
        missing = left_out(self.content, shown)
        if missing:
            yield Text(f"no room for: {', '.join(missing)}", style="dim")


class _Legend:
    """What the headings mean that a terminal has room for, in the words in which they stand."""

    def __init__(self, content: Table) -> None:
        self.content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        shown = fitted(self.content, options.max_width)
        told = [f"{it.heading}: {it.meaning}" for it in shown.columns if it.meaning]
        if told:
            yield Text("; ".join(told), style="dim")


def page(report: AnswerReport, provenance: Provenance) -> str:
    """An HTML page that is complete in itself: styles and drawings are in it.

    Args:
        report: what it says.
        provenance: what that was computed from.
    """
    sections = []
    for section in report.sections:
        drawn = [
            (it.template, it.content) if isinstance(it, Drawing) else (TEMPLATES[type(it)], it)
            for it in section.blocks(Medium.PAGE)
            if it != ""
        ]
        if section.name and drawn:
            sections.append((section, drawn))
    return _template().render(
        report=report,
        sections=sections,
        provenance=provenance,
        coefficients=table(provenance.sources, "name", "amount", "interval", "kind", "source"),
    )


def fragment(line: str, content: Table) -> str:
    """A line and a table, for a page that somebody else draws."""
    return _environment().get_template("fragment.html.j2").render(line=line, content=content)


TEMPLATES = {
    str: "words",
    Note: "note",
    Strong: "strong",
    Bullets: "bullets",
    Verbatim: "verbatim",
    tuple: "facts",
    Pieces: "pieces",
    Table: "table",
}
"""What draws each kind of block."""


def _template() -> Template:
    return _environment().get_template("page.html.j2")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("foretrain.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "place": "{:.4g}%".format,
        "time": partial(written, SECONDS),
        "bytes": partial(written, BYTES),
        "amount": lambda value, quantity: written(quantity, value),
    }
    return environment
