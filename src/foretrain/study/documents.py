"""Documents: from text to keys and values, or to cells.

JSON: from text to keys and values, with every way in which that fails.

TOML files: from text to keys and values, with every way in which that fails.

CSV: from text to cells, a record at a time; one that is not CSV costs no other.
"""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from foretrain.errors import InputError, shortened
from foretrain.study.files import DEEPEST, check_bounds, read_text
from foretrain.study.problems import Problems
from foretrain.units import as_written

SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class _Twice(ValueError):
    """A key that stands in a table twice."""


def from_json(text: str, where: str) -> dict[str, Any]:
    """The keys of a JSON document; `NaN` and `Infinity` are numbers, as in published files.

    Args:
        text: of the document.
        where: what to call it in messages.

    Raises:
        InputError: it cannot be read as JSON, is no table, or is out of all proportion.
    """
    try:
        found = json.loads(text, object_pairs_hook=_table)
    except RecursionError:
        raise InputError(f"{where}: is nested too deeply.") from None
    except _Twice as error:
        raise InputError(f"{where}: {error}") from None
    except ValueError as error:  # also a number of thousands of digits
        raise InputError(f"{where}: is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise InputError(f"{where}: is not a table of keys and values.")
    check_bounds(found, where)
    if SURROGATE.search(text):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{where}: holds a text that is not Unicode: half a surrogate pair."
            ) from None
    return found


def _table(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The keys of a table, each once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise _Twice(f"the key {as_written(twice)} was written before; write it once.")
    return found


def from_yaml(text: str, where: str) -> dict[str, Any]:
    """The keys of a YAML document of plain values; of several, the first.

    Args:
        text: of the document.
        where: what to call it in messages.

    Raises:
        InputError: it cannot be read as YAML, is no table, or is out of all proportion.
    """
    import yaml

    try:
        found = next(yaml.load_all(text, Loader=_plain_yaml()), None)
    except RecursionError:
        raise InputError(f"{where}: is nested too deeply.") from None
    except (yaml.YAMLError, ValueError) as error:
        told = " ".join(str(error).split())
        raise InputError(f"{where}: is not YAML: {told}.") from None
    if not isinstance(found, dict):
        raise InputError(f"{where}: is not a table of keys and values.")
    check_bounds(found, where)
    return {str(key): value for key, value in found.items()}


@cache
def _plain_yaml() -> type[Any]:
    """A reader of plain values that refuses aliases, by which a line becomes gigabytes.

    Numbers such as 1e-5 stay texts, as YAML 1.1 has them.
    """
    import yaml

    class PlainYaml(yaml.SafeLoader):  # type: ignore[misc]
        """Dates stay texts, tags of programs too."""

        def compose_node(self, parent: Any, index: Any) -> Any:  # noqa: ANN401 - as yaml has it
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                raise yaml.constructor.ConstructorError(
                    None, None, f"the alias *{event.anchor} is not read", event.start_mark
                )
            return super().compose_node(parent, index)

    PlainYaml.add_multi_constructor("!", lambda loader, suffix, node: None)
    PlainYaml.add_constructor("tag:yaml.org,2002:timestamp", PlainYaml.construct_yaml_str)
    return PlainYaml


MOST_BYTES: Final = 2**20
MOST_REPETITIONS: Final = 20
MOST_DOTS: Final = 100
"""Parts of a dotted key: Python's reader takes time by their square, hours for a file of them."""

SET_ASIDE: Final = "written-twice-"
REPEATED: Final = re.compile(r"Cannot overwrite a value|Cannot declare \('(?P<table>.*)',?\) twice")
LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")
PART: Final = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
CHAIN: Final = re.compile(rf"(?<![\w-]){PART}(?:[ \t]*\.[ \t]*{PART}){{{MOST_DOTS}}}")


def read_toml(path: Path, problems: Problems) -> dict[str, Any]:
    """The keys and values of a TOML file.

    A key or table that is written twice is noted, and reading goes on without the second one, so
    that one run finds every mistake.

    Args:
        path: the file.
        problems: takes repeated keys.

    Raises:
        InputError: if it cannot be read as TOML at all, or is out of all proportion.
    """
    text = read_text(path, most=MOST_BYTES)
    if not text.strip():
        raise InputError(f"{path}: the file is empty.")
    lines = text.split("\n")
    for _ in range(MOST_REPETITIONS):
        try:
            found = _parsed("\n".join([*lines, ""]), str(path))
        except tomllib.TOMLDecodeError as error:
            lines = _without_repetition(lines, error, problems)
            continue
        return {key: value for key, value in found.items() if not key.startswith(SET_ASIDE)}
    problems.check()
    raise AssertionError("every round noted a problem")


def from_toml(text: str, where: str) -> dict[str, Any]:
    """The keys and values of a TOML document.

    Args:
        text: of the document.
        where: what to call it in messages.

    Raises:
        InputError: if it cannot be read as TOML, or is out of all proportion.
    """
    try:
        return _parsed(text, where)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: is not TOML: {error}.") from None


def _parsed(text: str, where: str) -> dict[str, Any]:
    """Keys and values.

    Raises:
        TOMLDecodeError: the text is not TOML.
        InputError: it is out of all proportion.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") >= MOST_DOTS and CHAIN.search(line):
            raise InputError(
                f"{where}: line {number}: is nested too deeply; at most {DEEPEST} levels are read."
            )
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{where}: is nested too deeply.") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # a date that there is not, a number of thousands of digits
        raise InputError(f"{where}: is not TOML: {error}.") from None
    check_bounds(found, where)
    return found


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
    key = as_written(line.split("=")[0].strip())
    what = f"the table {shortened(line)}" if repeated["table"] else f"the key {key}"
    problems.add(f"line {number}", f"{what} was written before; write it once.")
    instead = f"[{SET_ASIDE}{number}]" if repeated["table"] else ""
    return [*lines[: number - 1], instead, *lines[number:]]


MOST_BROKEN: Final = 1000
"""Records that are not CSV, after which a file is called none: the search for the end of each reads
on as far as a cell may reach."""

MOST_CELLS: Final = 1000
"""Of a record; the widest table of ours has 60 columns."""

ADVICE: Final = (
    'Write comma-separated values, with "..." around those that hold a comma or a quote.'
)


@dataclass(frozen=True, slots=True)
class CsvRecord:
    """One record of a CSV file: a line, or several where a cell holds the ends of lines.

    Attributes:
        line: where it begins, the first line being 1.
        cells: none of a blank line, and of what is not CSV.
        problem: why it is not CSV; empty where it is.
    """

    line: int
    cells: list[str]
    problem: str = ""

    def __bool__(self) -> bool:
        """Whether it is more than a blank line."""
        return bool(self.problem) or any(self.cells)

    def row(self, names: Sequence[str]) -> dict[str, str]:
        """Its cells by the names of their columns.

        Raises:
            InputError: it is not CSV, or has too few or too many cells.
        """
        if self.problem:
            raise InputError(self.problem)
        if len(self.cells) != len(names):
            raise InputError(f"has {len(self.cells)} cells, the header has {len(names)}.")
        return dict(zip(names, self.cells, strict=True))


def records(text: str, where: str) -> Iterator[CsvRecord]:
    """The records of a CSV file, blank lines too.

    Where a quote is not closed, what follows its line is read as if it were not there: so that one
    slip costs one record, and not all the others.

    Args:
        text: of the file.
        where: what to call it in messages.

    Raises:
        InputError: where so much of it is not CSV that it is something else.
    """
    lines = _Lines(text)
    reader = csv.reader(lines, strict=True)
    broken = 0
    while True:
        begin = lines.place
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines.place = begin
            next(lines)
            broken += 1
            if broken > MOST_BROKEN:
                raise InputError(
                    f"{where}: line {begin.number} is not CSV: {error}; nor are {MOST_BROKEN:,} "
                    f"before it. {ADVICE}"
                ) from None
            yield CsvRecord(begin.number, [], f"is not CSV: {error}. {ADVICE}")
            continue
        wide = len(cells) > MOST_CELLS
        told = f"has {len(cells):,} cells; at most {MOST_CELLS:,} are read." if wide else ""
        yield CsvRecord(begin.number, [] if wide else cells, told)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a line begins.

    Attributes:
        character: counted from 0.
        number: of the line, counted from 1.
    """

    character: int
    number: int


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text, each with its end, one at a time: a list of all takes much memory."""
    return _Lines(text)


class _Lines:
    """The lines of a text, which one can go back to."""

    def __init__(self, text: str) -> None:
        self._text = text if "\n" in text else text.replace("\r", "\n")
        self.place = _Place(0, 1)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        begin = self.place.character
        if begin >= len(self._text):
            raise StopIteration
        end = self._text.find("\n", begin) + 1 or len(self._text)
        self.place = _Place(end, self.place.number + 1)
        return self._text[begin:end]
