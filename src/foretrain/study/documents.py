"""JSON: from text to keys and values, with every way in which that fails.

TOML files: from text to keys and values, with every way in which that fails.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from foretrain.errors import InputError, shortened
from foretrain.study.problems import Problems
from foretrain.study.reading import DEEPEST, check_bounds, read_text
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
