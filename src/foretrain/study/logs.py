"""Logs that trainers print, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from foretrain.study.files import read_bytes

ENDINGS: Final = (".log", ".txt", ".out", ".err")

MOST_BYTES: Final = 2**28


def is_log(path: Path) -> bool:
    """Whether a file is a log, by the end of its name, packed by gzip or not."""
    return path.with_suffix("" if path.suffix == ".gz" else path.suffix).suffix in ENDINGS


def read_log(path: Path) -> str:
    """The characters of a log; what is no text in it, as a process may print, becomes a mark.

    Raises:
        InputError: it cannot be read, or is larger than any log.
    """
    return read_bytes(path, most=MOST_BYTES).decode("utf-8", errors="replace")
