"""Forms: options as the text of a file, one function for each way in which files write them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from foretrain.launch.reading import shown
from foretrain.launch.writing import WrittenOption
from foretrain.trainers.flags import Fact, Form

SAFE: Final = re.compile(r"[\w@%+=:,./-]+")


def quoted(text: str) -> str:
    """A word as a shell takes it."""
    return text if SAFE.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def arguments(options: Iterable[WrittenOption]) -> Iterator[str]:
    """--name value, a line each."""
    for each in options:
        if each.value is True:
            yield f"--{each.name}"
        elif each.value is not False:
            yield f"--{each.name} {_words(each.value)}"


def overrides(options: Iterable[WrittenOption]) -> Iterator[str]:
    """name=value, a line each."""
    for each in options:
        yield quoted(f"{each.name}={shown(each.value)}")


def _words(value: Fact) -> str:
    return " ".join(quoted(each) for each in shown(value).split(" "))


def json_file(options: Sequence[WrittenOption], comments: Sequence[str]) -> str:
    """JSON, which has no comments: they stand under a key that no trainer reads."""
    return json.dumps({"_comment": list(comments), **_tree(options)}, indent=2) + "\n"


def yaml_file(options: Sequence[WrittenOption], comments: Sequence[str]) -> str:
    """YAML of plain values."""
    head = [f"# {each}".rstrip() for each in comments]
    return "\n".join([*head, *yaml_lines(_tree(options))]) + "\n"


def toml_file(options: Sequence[WrittenOption], comments: Sequence[str]) -> str:
    """TOML, a section for each first part of a name."""
    lines = [f"# {each}".rstrip() for each in comments]
    tables: dict[str, list[str]] = {}
    for each in options:
        section, _, name = each.name.rpartition(".")
        tables.setdefault(section, []).append(f"{name} = {_toml(_item(each))}")
    for section in sorted(tables):
        lines += [*([f"\n[{section}]"] if section else []), *tables[section]]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    return json.dumps(value)


def _item(option: WrittenOption) -> Any:  # noqa: ANN401 - of any kind
    return str(option.value).split() if option.listed else option.value


def _tree(options: Iterable[WrittenOption]) -> dict[str, Any]:
    """Names with dots as tables in tables."""
    found: dict[str, Any] = {}
    for each in options:
        at = found
        *path, name = each.name.split(".")
        for part in path:
            at = at.setdefault(part, {})
        at[name] = _item(each)
    return found


PLAIN: Final = re.compile(r"[A-Za-z_/][\w ./@+-]*")
RESERVED: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def yaml_lines(tree: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """The lines of a table of tables, lists and plain values."""
    pad = "  " * depth
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield f"{pad}{_scalar(key)}:" if value else f"{pad}{_scalar(key)}: {{}}"
            yield from yaml_lines(value, depth + 1)
        elif isinstance(value, list):
            yield f"{pad}{_scalar(key)}:"
            for each in value:
                yield from _text(f"{pad}  -", str(each), f"{pad}    ")
        elif isinstance(value, str):
            yield from _text(f"{pad}{_scalar(key)}:", value, f"{pad}  ")
        else:
            yield f"{pad}{_scalar(key)}: {_scalar(value)}"


def _text(head: str, value: str, pad: str) -> Iterator[str]:
    """A text of one line, or of several, which stand below."""
    if "\n" not in value:
        yield f"{head} {_scalar(value)}"
        return
    yield f"{head} |"
    yield from (f"{pad}{line}".rstrip() for line in value.rstrip("\n").split("\n"))


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if not isinstance(value, str):
        return shown(value) if isinstance(value, bool | int | float) else str(value)
    if PLAIN.fullmatch(value) and value.lower() not in RESERVED and not value.endswith(" "):
        return value
    return json.dumps(value)


FILES: Final[Mapping[Form, Callable[[Sequence[WrittenOption], Sequence[str]], str]]] = {
    Form.JSON: json_file,
    Form.TOML: toml_file,
    Form.YAML: yaml_file,
}
"""Forms of files of their own."""

LINES: Final[Mapping[Form, Callable[[Iterable[WrittenOption]], Iterator[str]]]] = {
    Form.ARGUMENTS: arguments,
    Form.OVERRIDES: overrides,
}
"""Forms of command lines."""
