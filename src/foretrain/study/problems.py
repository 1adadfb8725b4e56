"""Problems of a document: all at once, each with its key, the bad value and what is legal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import GenericAlias
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from foretrain.errors import InputError, NoPlanFits, nearest
from foretrain.units import as_written

if TYPE_CHECKING:
    from pydantic import TypeAdapter


Noun = TypeVar("Noun")
Key = str | int

SAYS = {
    "int_type": "{value} is not a whole number.",
    "bool_type": "{value} is neither true nor false.",
    "string_type": "{value} is not a text.",
    "tuple_type": "{value} is not a list.",
    "dataclass_type": "{value} is not a table of keys and values.",
    "json_invalid": "holds a text that is not Unicode.",
    "missing": "is missing.",
}
MOST_LISTED = 50
MOST_NOTED = 1000
ABSENT = "unexpected_keyword_argument"
NAMED_FIELD = re.compile(r"[A-Z]\w*\.(\w+):? ")


@dataclass(slots=True)
class Problems:
    """What is wrong with one document.

    Attributes:
        where: the document, for messages.
        found: key and text of each problem, in the order in which they were found.
    """

    where: str
    found: dict[tuple[str, str], None] = field(default_factory=dict)

    def add(self, key: str, text: str) -> None:
        """Note a problem; the same one twice is one.

        Raises:
            InputError: there are so many that looking for more would only take time.
        """
        self.found[key, text] = None
        if len(self.found) >= MOST_NOTED:
            self.check()

    def add_all(self, texts: Iterable[str]) -> None:
        """Note problems that begin with their key and a colon."""
        for text in texts:
            key, _, why = text.partition(": ")
            self.add(key, why)

    def noting(self, key: str, *, fields: Mapping[str, str] | None = None) -> Noting:
        """In a `with` statement: what is refused inside becomes a problem of a key.

        Args:
            key: where.
            fields: where a noun is made, which names its field first: how keys are called that are
                not its fields.
        """
        return Noting(self, key, fields)

    def table(self, value: object, key: str) -> Mapping[str, Any] | None:
        """A table inside a document; None, with a problem noted, of anything else."""
        if isinstance(value, Mapping):
            return value
        self.add(key, f"{as_written(value)} is not a table of keys and values.")
        return None

    def touch(self, key: str) -> bool:
        """Whether a problem was found at a key or below it."""
        return any(
            found == key or found.startswith((f"{key}.", f"{key}[")) for found, _ in self.found
        )

    def check(self) -> None:
        """Raise an InputError if there is a problem: it lists all, at most MOST_LISTED in full."""
        lines = [f"{key}: {text}" if key else text for key, text in self.found]
        if len(lines) == 1:
            raise InputError(f"{self.where}: {lines[0]}")
        if lines:
            more = len(lines) - MOST_LISTED
            listed = [*lines[:MOST_LISTED], *([f"and {more} more."] if more > 0 else [])]
            head = f"{self.where} has {len(lines):,} problems."
            raise InputError("\n".join([head, *(f"- {line}" for line in listed)]))


@dataclass(frozen=True, slots=True)
class Noting:
    """Notes an InputError as a problem of a key, and goes on behind the `with` statement."""

    problems: Problems
    key: str
    fields: Mapping[str, str] | None = None

    def __enter__(self) -> None:
        """Nothing is refused yet."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> bool:
        """Whether it was noted."""
        if not isinstance(error, InputError):
            return False
        field, said = ((), str(error)) if self.fields is None else of_field(str(error))
        key = ".".join([self.key, *field])
        self.problems.add((self.fields or {}).get(key, key), said)
        return True


@contextmanager
def told_of(where: object) -> Iterator[None]:
    """Tell an error about what was read like those of reading it: where, one problem a line."""
    try:
        yield
    except NoPlanFits as error:
        raise NoPlanFits(f"{where}: {error}") from error
    except InputError as error:
        problems = Problems(str(where))
        for line in str(error).splitlines():
            problems.add("", line)
        problems.check()


def written(path: Sequence[Key]) -> str:
    """A path in a document as people write it: cluster.levels[0].link."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")


def unknown_key(key: str, known: Sequence[str]) -> str:
    """What to say about a key that means nothing here."""
    return f"unknown key.{nearest(key, known)} Known: {', '.join(known)}."


def check_sections(
    document: Mapping[str, object],
    sections: Sequence[str],
    problems: Problems,
    *,
    lists: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> None:
    """Note sections that are not known; refuse those that are no tables.

    Args:
        document: of a file.
        sections: that it may have.
        problems: takes what is wrong.
        lists: those of them that are lists of tables.
        beside: what else it may have.

    Raises:
        InputError: a section is no table.
    """
    for key in document:
        if key not in sections:
            problems.add(key, unknown_key(key, (*sections, *beside)))
    for key in sections:
        kind: type = list if key in lists else Mapping
        if key in document and not isinstance(document[key], kind):
            brackets = f"[[{key}]]" if key in lists else f"[{key}]"
            problems.add(key, f"is not a table; write {brackets} and its keys below.")
            problems.check()


def validated(
    kind: type[Noun],
    document: Mapping[str, object],
    *,
    path: str,
    problems: Problems,
    taken: tuple[str, ...] = (),
) -> Noun | None:
    """A document as an instance of a dataclass, or None where that is impossible.

    Every problem is noted. What can be made without the bad keys is returned all the same, so that
    the caller finds further problems; it must not be used once `problems` holds any.

    Args:
        kind: the dataclass that the document describes.
        document: keys and values, with units written out.
        path: where it stands in its file.
        problems: takes what is wrong.
        taken: legal keys that the caller has read itself.
    """
    noun: Noun | None
    noun, errors = _attempt(kind, document)
    for error in errors:
        key, said = of_field(_sentence(kind, error, taken))
        problems.add(written((path, *error["loc"], *key)), said)
    if not errors:
        return noun
    bad = {error["loc"][0] for error in errors if error["loc"]}
    rest = {key: value for key, value in document.items() if key not in bad}
    noun, _ = _attempt(kind, rest)
    return noun


def inner(kind: type[Noun], document: Mapping[str, object]) -> Noun:
    """A table inside a document, for a key that may be something else than a table.

    Raises:
        InputError: with every problem of the table, each with its key.
    """
    problems = Problems("")
    noun = validated(kind, document, path="", problems=problems)
    told = " ".join(f"{key.lstrip('.')}: {text}" for key, text in problems.found)
    if told or noun is None:
        raise InputError(told or f"{as_written(document)} cannot be read.")
    return noun


def _attempt(kind: type, document: Mapping[str, object]) -> tuple[Any, list[dict[str, Any]]]:
    """The noun, or what pydantic has against the document; JSON is its strictest reader."""
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_json(json.dumps([document], default=str))[0], []
    except ValidationError as error:
        return None, [{**each, "loc": each["loc"][1:]} for each in error.errors()]


@cache
def _adapter(kind: type) -> TypeAdapter[tuple[Any]]:
    """A reader that refuses unknown keys; nested dataclasses inherit that from the tuple."""
    from pydantic import ConfigDict, TypeAdapter

    single: Any = GenericAlias(tuple, (kind,))
    return TypeAdapter(single, config=ConfigDict(extra="forbid", strict=True))


def _sentence(kind: type, error: Mapping[str, Any], taken: tuple[str, ...]) -> str:
    """One of pydantic's errors in our words."""
    name, value, context = error["type"], error["input"], error.get("ctx", {})
    if name == ABSENT:
        *above, key = error["loc"]
        # The legal keys of the table at a path below the dataclass.
        inside = kind
        for part in above:
            if isinstance(part, str):
                inside = next(_dataclasses(get_type_hints(inside)[part]))
        keys = [each.name for each in fields(inside)] if is_dataclass(inside) else []
        return unknown_key(str(key), [*(() if above else taken), *keys])
    if name == "value_error":
        return str(context["error"])
    if name == "enum":
        known = context["expected"].replace(" or ", ", ").replace("'", "").split(", ")
        return (
            f"unknown {as_written(value)}.{nearest(str(value), known)} Known: {', '.join(known)}."
        )
    says = SAYS.get("missing" if name.startswith("missing") else name)
    if says is None:
        return f"{as_written(value)}: {error['msg']}."
    return says.format(value=as_written(value), **context)


def of_field(text: str) -> tuple[tuple[str, ...], str]:
    """The field that a noun's own check names first, such as Power.pue, and what it says of it."""
    named = NAMED_FIELD.match(text)
    return ((named[1],), text[named.end() :]) if named else ((), text)


def _dataclasses(hint: object) -> Iterator[type]:
    """The dataclasses inside a type hint such as `tuple[Level, ...] | None`."""
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for part in get_args(hint):
        yield from _dataclasses(part)
