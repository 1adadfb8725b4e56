"""Output: answers on stdout, quiet when nobody reads them any more."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from foretrain.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType


def show(content: RenderableType) -> None:
    """Print a report: in colour on a terminal, as plain lines of text elsewhere."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    with console.capture() as capture:
        console.print(content)
    lines = capture.get().strip("\n").splitlines()
    _write("\n".join(lines if console.is_terminal else map(str.rstrip, lines)))


def show_json(document: Mapping[str, object]) -> None:
    """Print a JSON document."""
    _write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def save(text: str, path: Path) -> None:
    """Write a text to a file.

    Raises:
        InputError: if the file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    legible = text.encode(encoding, errors="replace").decode(encoding)
    try:
        sys.stdout.write(f"{legible}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _end_quietly()


def _end_quietly() -> NoReturn:
    """The reader has gone: leave nothing to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)
