"""Output: answers on stdout, quiet when nobody reads them any more."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from foretrain.cli.legible import Legible, escaped, tell
from foretrain.errors import InputError
from foretrain.files.reading import exists
from foretrain.files.writing import unwritable, write_text

if TYPE_CHECKING:
    from rich.console import RenderableType


def show_and_write(
    answer: RenderableType | Mapping[str, object], path: Path | None, text: Callable[[], str]
) -> None:
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


def show(answer: RenderableType | Mapping[str, object]) -> None:
    """Print a document as JSON; a report in colour on a terminal, as plain lines elsewhere.

    Raises:
        InputError: if stdout is closed or takes no more.
    """
    if sys.stdout is None:
        raise InputError("the answer cannot be written: standard output is closed.")
    if isinstance(answer, Mapping):
        _write(escaped(json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False)))
    else:
        _write(_drawn(answer))


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


def _drawn(report: RenderableType) -> str:
    """A report as the terminal at hand shows it, drawn on a paper that is never full."""
    from rich.console import Console

    paper = TextIOWrapper(BytesIO(), encoding=sys.stdout.encoding or "utf-8", errors="replace")
    terminal = Console().is_terminal
    Console(file=paper, force_terminal=terminal, highlight=False).print(Legible(report))
    paper.seek(0)
    lines = paper.read().strip("\n").splitlines()
    return "\n".join(lines if terminal else map(str.rstrip, lines))


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    legible = text.encode(encoding, errors="replace").decode(encoding)
    try:
        sys.stdout.write(f"{legible}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_the_rest()
        sys.exit(0)
    except OSError as error:
        _drop_the_rest()
        raise InputError(f"the answer cannot be written: {error.strerror}.") from error


def _drop_the_rest() -> None:
    """Leave nothing to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
