"""The one place where text becomes what a terminal may show.

Names, words and paths come from files, and a terminal obeys some characters: it moves its cursor,
sets its title, turns the direction of writing, or hides what follows. They are shown as Python
writes them. JSON and pages are left as they are, for they have ways of their own to hold any text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final
from unicodedata import category

import typer

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

KEPT: Final = "\n\t"
LISTED: Final = 10


def legible(text: str) -> str:
    """A text in which every character can be seen, as in `repr`."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def escaped(text: str) -> str:
    """A JSON text that a terminal may show: the same document."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(each if _shown(each) == each else _of_json(each) for each in text)


class Legible:
    """What a report draws, with every character to be seen."""

    def __init__(self, drawn: RenderableType) -> None:
        self._drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        """Called by rich; its own segments of control are kept."""
        for segment in console.render(self._drawn, options):
            yield segment if segment.control else segment._replace(text=legible(segment.text))


def tell(text: str) -> None:
    """A line beside the answer, on stderr."""
    typer.echo(legible(text), err=True)


def tell_all(what: str, found: Sequence[str]) -> None:
    """How many there are of something, and the first of them, on stderr; nothing where none is."""
    if found:
        tell(f"warning: {len(found):,} {what}{'s' * (len(found) > 1)} left out:")
        for each in found[:LISTED]:
            tell(f"- {each}")
        if len(found) > LISTED:
            tell(f"- and {len(found) - LISTED:,} more.")


def _shown(character: str) -> str:
    if character.isprintable() or character in KEPT or category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")


def _of_json(character: str) -> str:
    """A character as JSON writes it in ASCII: one unit of UTF-16 or two."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
