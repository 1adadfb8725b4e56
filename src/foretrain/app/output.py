"""The one place where text becomes what a terminal may show.

Names, words and paths come from files, and a terminal obeys some characters: it moves its cursor,
sets its title, turns the direction of writing, or hides what follows. They are shown as Python
writes them. JSON and pages are left as they are, for they have ways of their own to hold any text.

What several commands take.

Output: answers on stdout, quiet when nobody reads them any more.

Sets of coefficients that a command is given.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from unicodedata import category

import typer

from foretrain.answers import entry_of, loaded
from foretrain.errors import InputError
from foretrain.study.files import exists, unwritable, write_text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from foretrain.coefficients.coefficients import Calibration
    from foretrain.show.document import Provenance
    from foretrain.show.report import AnswerReport
    from foretrain.show.table import Fact


KEPT: Final = "\n\t"
LISTED: Final = 10

MOST_LINES: Final = 39
"""Of an answer on a terminal that is not asked for more: 40, of which one is the next prompt."""


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


StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study in TOML.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the JSON document and nothing else.")]
Page = Annotated[
    Path | None, typer.Option("--html", metavar="PAGE", help="Also write the report as a web page.")
]
More = Annotated[bool, typer.Option("--more", help="Show the whole answer, however long.")]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes that share the work.")]
Kind = Annotated[
    str | None, typer.Option("--kind", help="Kind of the tables, where their names do not say it.")
]
CoefficientsFile = Annotated[
    Path | None,
    typer.Option(
        "--coefficients", metavar="FILE", help="Predict with a set that `calibrate` wrote."
    ),
]


@dataclass(frozen=True, slots=True)
class Answered:
    """A report as a terminal shows it.

    Attributes:
        report: what it says.
        following: what to ask next, a command in each line.
        most: lines that are shown; None for all.
    """

    report: RenderableType
    following: tuple[Fact, ...] = ()
    most: int | None = None


if TYPE_CHECKING:
    Shown = RenderableType | Mapping[str, Any] | Answered
    """A report, or a document."""


def told(
    question: object,
    answer: object,
    source: Provenance,
    *,
    as_json: bool,
    more: bool = True,
    most: int | None = None,
    named: str = "",
) -> Shown:
    """What is shown of an answer: its document, or its report."""
    from foretrain.show.document import document
    from foretrain.show.terminal import drawn

    entry = entry_of(answer)
    shown = document(entry.name, answer, source)
    if as_json:
        return shown
    following = loaded(entry.then)(question, answer) if entry.then and named else ()
    assert isinstance(following, tuple), f"{entry.then} gives no facts"
    facts = tuple(replace(it, text=it.text.format(study=named)) for it in following)
    return Answered(drawn(_report(question, answer), more=more), facts, None if more else most)


def answered(
    question: object,
    answer: object,
    source: Provenance,
    *,
    as_json: bool,
    html: Path | None,
    more: bool = True,
    most: int | None = None,
    named: str = "",
) -> None:
    """Show an answer, and write its page where one is asked for.

    Args:
        question: what was asked.
        answer: what a verb answers.
        source: what it was computed from.
        as_json: whether to show the document.
        html: the page.
        more: whether a terminal shows the whole answer, however long.
        most: lines that it shows otherwise; None for all.
        named: how a command names the question; empty: nothing is said of what to ask next.
    """

    def text() -> str:
        from foretrain.show.terminal import page

        return page(_report(question, answer), source)

    shown = told(question, answer, source, as_json=as_json, more=more, most=most, named=named)
    show_and_write(shown, html, text)


def _report(question: object, answer: object) -> AnswerReport:
    """What an answer says, in its wing's words or in those of its labels alone."""
    from foretrain.show.report import AnswerReport, report

    entry = entry_of(answer)
    if not entry.report:
        return report(entry.name, answer)
    found = loaded(entry.report)(question, answer)
    assert isinstance(found, AnswerReport), f"{entry.report} gives no report"
    return found


def show_and_write(answer: Shown, path: Path | None, text: Callable[[], str]) -> None:
    """Show an answer, and write it to a file too where one is named.

    It is shown where the file cannot be written too: a full disk must not cost an hour's search.

    Args:
        answer: a document or a report.
        path: of the file.
        text: makes what the file is to hold.

    Raises:
        InputError: the file, or stdout, cannot be written.
    """
    try:
        if path is not None:
            write_text(path, text())
            tell(f"Wrote {path}.")
    finally:
        show(answer)


def show(answer: Shown) -> None:
    """Print a document as JSON; a report in colour on a terminal, as plain lines elsewhere.

    Raises:
        InputError: if stdout is closed or takes no more.
    """
    if sys.stdout is None:
        raise InputError("the answer cannot be written: standard output is closed.")
    if isinstance(answer, Mapping):
        _write(escaped(json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False)))
    elif isinstance(answer, Answered):
        _write("\n".join(_at_most(answer)))
    else:
        _write("\n".join(_drawn(answer)))


def lines_of(question: object, answer: object, *, most: int) -> list[str]:
    """What is said of an answer in a few lines of 80 letters, as plain text."""
    from rich.console import Console

    from foretrain.show.terminal import drawn

    paper = StringIO()
    report = drawn(_report(question, answer))
    Console(file=paper, width=80, no_color=True, highlight=False).print(Legible(report))
    lines = [line.rstrip() for line in paper.getvalue().strip("\n").splitlines()]
    if len(lines) > most:
        lines = [*lines[: most - 1], f"... {len(lines) - most + 1} more lines"]
    return lines


def _at_most(answer: Answered) -> list[str]:
    """The lines of an answer: those of what to ask next at its end, and as many before as fit."""
    from rich.console import Console

    lines, paper = _drawn(answer.report), Console()
    ending, width = [*map(_copied, answer.following)], paper.width
    if paper.is_terminal:
        ending = [line for each in ending for line in _continued(each, width)]
    taken = sum(-(-len(line) // width) for line in ending) + bool(ending)
    kept = len(lines) if answer.most is None else answer.most - taken
    if len(lines) > kept:
        lines = [*lines[: kept - 1], f"... {len(lines) - kept + 1} more lines: --more"]
    return [*lines, *([""] if ending else []), *ending]


def _continued(command: str, width: int) -> list[str]:
    """A command in lines that a shell takes for one, broken before an option where it is long."""
    place = command.rfind(" --", 0, width - 2)
    if len(command) <= width or place < 0:
        return [command]
    return [f"{command[:place]} \\", f"{'':<11}{command[place + 1 :]}"]


def _copied(fact: Fact) -> str:
    """What to ask next, in one line."""
    return legible(f"{fact.label:<11}{fact.text}{f'  ({fact.more})' if fact.more else ''}")


def check_page(page: Path, study: Path, *, what: str = "study", option: str = "--html") -> None:
    """Refuse a page that cannot be written, before the work whose answer it would hold.

    Args:
        page: where it is to be written.
        study: the file that it answers.
        what: what that file is called.
        option: that names the page.

    Raises:
        InputError: if it would take the study's place, is a folder, or lies where nothing may be.
    """
    try:
        page.exists()
    except OSError as error:  # a name that no file can have, a folder that nobody may look into
        raise unwritable(page, error) from error
    if page.exists() and exists(study) and page.samefile(study):
        raise InputError(f"{option} {page} is the {what} itself. Give it another name.")
    if page.is_dir():
        raise InputError(
            f"{option} {page} is a folder. Name a file, such as {page / 'answer.html'}."
        )
    if not page.parent.is_dir():
        raise InputError(f"{option} {page}: there is no folder {page.parent}. Create it first.")
    # A file is replaced by a new one, which takes the right to change its folder.
    if not os.access(page if page.exists() and not page.is_file() else page.parent, os.W_OK):
        raise InputError(f"{option} {page} may not be written. Name another file.")


def _drawn(report: RenderableType) -> list[str]:
    """The lines of a report on the terminal at hand, drawn on a paper that is never full."""
    from rich.console import Console

    paper = TextIOWrapper(BytesIO(), encoding=sys.stdout.encoding or "utf-8", errors="replace")
    terminal = Console().is_terminal
    # What is wider than the terminal was meant to be: a file's line stays whole.
    Console(file=paper, force_terminal=terminal, highlight=False).print(Legible(report), crop=False)
    paper.seek(0)
    lines = paper.read().strip("\n").splitlines()
    return lines if terminal else [*map(str.rstrip, lines)]


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    legible = text.encode(encoding, errors="replace").decode(encoding)
    try:
        with _uninterrupted():
            sys.stdout.write(f"{legible}\n")
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_the_rest()
        sys.exit(0)
    except OSError as error:
        _drop_the_rest()
        raise InputError(f"the answer cannot be written: {error.strerror}.") from error


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keep Ctrl-C waiting, so that an answer of more than a pipe holds at once is written whole.

    A pager that is left by Ctrl-C closes the pipe, which ends the writing all the same.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _drop_the_rest() -> None:
    """Leave nothing to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def chosen(path: Path | None) -> Calibration:
    """The set in a file; the shipped one without a file."""
    from foretrain.study.coefficients import SHIPPED, read_calibration

    return SHIPPED if path is None else read_calibration(path)
