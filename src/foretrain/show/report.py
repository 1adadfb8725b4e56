"""Reports: what an answer says, section by section; a screen and a page draw the same blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from enum import Enum, auto
from types import MappingProxyType, UnionType

from foretrain.show.table import Fact, Piece, Table, named, table
from foretrain.units import Quantity


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence in a lighter voice."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """A sentence that stands out."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences, a line for each."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A text whose lines stay as they are, however long."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Pieces of a whole, each with its amount and share.

    Attributes:
        quantity: what they are measured in.
        pieces: in their order.
        of: what they are shares of, in words.
        meanings: what each is, where the name does not say it.
    """

    quantity: Quantity
    pieces: Sequence[Piece]
    of: str = "of the whole"
    meanings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """What only a page can draw.

    Attributes:
        template: draws it, `templates/sections/TEMPLATE.html.j2`.
        content: what the template calls `it`.
    """

    template: str
    content: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Screen:
    """What only a terminal shows, where a page has a picture."""

    block: Block


@dataclass(frozen=True, slots=True)
class Brief:
    """What only a terminal shows, unless it is asked for more: a few lines in place of many."""

    block: Block


@dataclass(frozen=True, slots=True)
class Paper:
    """What a page shows, and a terminal that is asked for more."""

    block: Block


@dataclass(frozen=True, slots=True)
class More:
    """What only a terminal shows that is asked for more, where a page has a picture."""

    block: Block


class Medium(Enum):
    """On what a report is drawn: a page, a terminal, or a terminal that is asked for more."""

    PAGE = auto()
    SCREEN = auto()
    MORE = auto()


Wrapped = Screen | Brief | Paper | More
Block = (
    str | Note | Strong | Bullets | Verbatim | tuple[Fact, ...] | Pieces | Table | Drawing | Wrapped
)

LEFT_OUT: Mapping[Medium, type | UnionType] = MappingProxyType(
    {
        Medium.PAGE: Screen | Brief | More,
        Medium.SCREEN: Paper | More | Drawing,
        Medium.MORE: Brief | Drawing,
    }
)
"""Blocks that are not for a medium."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """One heading and what stands under it.

    Attributes:
        name: its anchor, unique on a page; empty: a terminal alone shows it.
        title: the heading; empty where it opens the report of a terminal.
        body: the blocks; tables without rows are left out, and a section of nothing else with them.
        page_only: whether a terminal shows it only if it is asked for more.
        quiet: whether a terminal shows the title only if it is asked for more.
    """

    name: str
    title: str
    body: tuple[Block, ...]
    page_only: bool = False
    quiet: bool = False

    def blocks(self, medium: Medium) -> list[Block]:
        """What a medium shows; nothing where all is empty tables and notes."""
        if self.page_only and medium is Medium.SCREEN:
            return []
        mine = [each for each in self.body if not isinstance(each, LEFT_OUT[medium])]
        found = [each.block if isinstance(each, Wrapped) else each for each in mine]
        full = [
            each for each in found if each != () and not (isinstance(each, Table) and not each.rows)
        ]
        silent = all(isinstance(each, Note) for each in full)
        return [] if len(full) < len(found) and silent else full


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReport:
    """What an answer says.

    Attributes:
        kind: what it answers, in a window's title.
        title: the heading of a page.
        sections: in their order.
        subtitle: what was asked.
        coefficients: whether a page ends with every coefficient and its source.
    """

    kind: str
    title: str
    sections: tuple[ReportSection, ...]
    subtitle: str = ""
    coefficients: bool = False


def report(verb: str, answer: object) -> AnswerReport:
    """What an answer says that has nothing but its labels: facts, and a table for every list."""
    return AnswerReport(kind=verb, title=verb, sections=tuple(_labelled(verb, "", answer)))


def _labelled(name: str, title: str, answer: object) -> Iterator[ReportSection]:
    """The labels of a result, and then those of the results in it."""
    values = {each: getattr(answer, each) for each in named(type(answer))}
    columns = named(type(answer))
    single = {each: value for each, value in values.items() if not _holds(value)}
    facts = tuple(
        Fact(
            label=columns[each].name.capitalize(),
            text=columns[each].text(value),
            more=columns[each].meaning,
        )
        for each, value in single.items()
        if value is not None
    )
    if facts:
        yield ReportSection(name=name, title=title, body=(facts,))
    for each, value in values.items():
        inner, heading = f"{name}-{each}", columns[each].name.capitalize()
        if is_dataclass(value):
            yield from _labelled(inner, heading, value)
        elif each not in single:
            yield ReportSection(name=inner, title=heading, body=(table(value, legend=True),))


def _holds(value: object) -> bool:
    """Whether a value is a result, or a list of results."""
    if isinstance(value, tuple):
        return bool(value) and all(is_dataclass(each) for each in value)
    return is_dataclass(value) and bool(named(type(value)))
