"""What a document may hold at most, whichever it is: checked before anything reads it.

Checked without recursion, so that what follows may recurse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from foretrain.errors import InputError
from foretrain.files.problems import Key, written
from foretrain.units import as_written

DEEPEST: Final = 20
MOST_ITEMS: Final = 100_000
MOST_LETTERS: Final = 10_000
LARGEST: Final = 2**63 - 1
"""The largest whole number of TOML, and of what reads JSON into 64 bits."""

Place = tuple[tuple[Key, ...], object]


def check_bounds(document: object, where: str) -> None:
    """Refuse a document that is out of all proportion.

    Args:
        document: tables, lists and values, as a file or a program gave them.
        where: what to call it in messages.

    Raises:
        InputError: it is nested too deeply, or a list, a text or a whole number is too large.
    """
    layer: list[Place] = [((), document)]
    for _ in range(DEEPEST + 1):
        for path, value in layer:
            if why := _against(value):
                raise InputError(f"{where}: {written(path)}{': ' if path else ''}{why}")
        layer = [((*path, key), item) for path, value in layer for key, item in _inside(value)]
    if layer:
        raise InputError(f"{where}: is nested too deeply; at most {DEEPEST} levels are read.")


def _against(value: object) -> str:
    """What is out of proportion in a value itself; empty if nothing is."""
    if isinstance(value, str) and len(value) > MOST_LETTERS:
        return f"{as_written(value)} has {len(value):,} letters; at most {MOST_LETTERS:,} are read."
    if isinstance(value, list | Mapping) and len(value) > MOST_ITEMS:
        return f"has {len(value):,} entries; at most {MOST_ITEMS:,} are read."
    if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
        return f"{as_written(value)} is a whole number of more than 64 bits."
    return ""


def _inside(value: object) -> Iterable[tuple[Key, object]]:
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    return enumerate(value) if isinstance(value, list) else ()
