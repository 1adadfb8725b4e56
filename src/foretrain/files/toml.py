"""TOML files: from text to keys and values, with every way in which that fails."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.files.problems import Problems
from foretrain.files.text import read_text

MOST_BYTES: Final = 2**20
MOST_REPETITIONS: Final = 20
SET_ASIDE: Final = "written-twice-"
REPEATED: Final = re.compile(r"Cannot overwrite a value|Cannot declare \('(?P<table>.*)',?\) twice")
LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")


def read_toml(path: Path, problems: Problems) -> dict[str, Any]:
    """The keys and values of a TOML file.

    A key or table that is written twice is noted, and reading goes on without the second one, so
    that one run finds every mistake.

    Args:
        path: the file.
        problems: takes repeated keys.

    Raises:
        InputError: if it cannot be read as TOML at all.
    """
    text = read_text(path, most=MOST_BYTES)
    if not text.strip():
        raise InputError(f"{path}: the file is empty.")
    lines = text.split("\n")
    for _ in range(MOST_REPETITIONS):
        try:
            return _parsed(lines, path)
        except tomllib.TOMLDecodeError as error:
            lines = _without_repetition(lines, error, problems)
    problems.check()
    raise AssertionError("every round noted a problem")


def _parsed(lines: list[str], path: Path) -> dict[str, Any]:
    """Keys and values, but those of a table that stands in the file twice."""
    try:
        found = tomllib.loads("\n".join([*lines, ""]))
    except RecursionError:
        raise InputError(f"{path}: is nested too deeply.") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise InputError(f"{path}: is not TOML: {error}.") from None
    return {key: value for key, value in found.items() if not key.startswith(SET_ASIDE)}


def _without_repetition(
    lines: list[str], error: tomllib.TOMLDecodeError, problems: Problems
) -> list[str]:
    """The lines without the one that says again what an earlier one said.

    Raises:
        InputError: if the mistake is another one.
    """
    repeated, place = REPEATED.search(str(error)), LINE.search(str(error))
    if repeated is None or place is None:
        problems.add("", f"is not TOML: {error}.")
        problems.check()
    assert repeated
    assert place
    number = int(place[1])
    line = lines[number - 1].strip()
    what = f"the table {line}" if repeated["table"] else f"the key '{line.split('=')[0].strip()}'"
    problems.add(f"line {number}", f"{what} was written before; write it once.")
    instead = f"[{SET_ASIDE}{number}]" if repeated["table"] else ""
    return [*lines[: number - 1], instead, *lines[number:]]
