"""The section [plan] of a study: one value or a list of choices for each field of a plan.

Plans in one line: keys and values of [plan], or the text that a ranking prints.

`tensor=8 pipeline=16 recompute=full` names three fields; `tp4+sp, pp8x12, dp16, mbs2, recompute
none` is a whole plan, in which what is not said is neutral.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from math import prod
from typing import Annotated, Any, Final, TypeVar

from foretrain.errors import InputError
from foretrain.plan.plan import (
    AXES,
    CUTS,
    SAID,
    ChannelSplit,
    ContextExchange,
    Cut,
    Grid,
    Offload,
    Order,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.plan.study import Space
from foretrain.study.documents import from_toml
from foretrain.study.keys import COUNT, LARGEST, Reads, count, known, reader, table
from foretrain.study.problems import Problems, validated
from foretrain.units import as_written
from foretrain.workload.operator import Attention

Value = TypeVar("Value")

MOST_CHOICES: Final = 1000
"""Of one field, and chunks of one cut."""
Name = TypeVar("Name", bound=IntEnum)


def _choices(one: Callable[[object], Value], schema: Mapping[str, object]) -> Reads:
    """A field that takes one value, described by a JSON Schema, or a list of them."""

    def read(value: object) -> tuple[Value, ...]:
        items = value if isinstance(value, list) else [value]
        found = _all(one, items)
        if not found:
            raise InputError("an empty list leaves no choice; leave the key out to free it.")
        twice = [item for item in found if found.count(item) > 1]
        if twice:
            raise InputError(f"{as_written(value)} names a choice twice.")
        return found

    return Reads(read, {"anyOf": [schema, {"type": "array", "items": schema, "minItems": 1}]})


def _all(one: Callable[[object], Value], items: list[object]) -> tuple[Value, ...]:
    """Every item read, or one error that tells what is wrong with each of them."""
    if len(items) > MOST_CHOICES:
        raise InputError(f"has {len(items):,} choices; at most {MOST_CHOICES:,} are read.")
    found, wrong = [], []
    for item in items:
        try:
            found.append(one(item))
        except InputError as error:
            wrong.append(str(error))
    if wrong:
        raise InputError(" ".join(dict.fromkeys(wrong)))
    return tuple(found)


def read_flag(value: object) -> bool:
    """True or false.

    Raises:
        InputError: for anything else.
    """
    if not isinstance(value, bool):
        raise InputError(f"{as_written(value)} is neither true nor false.")
    return value


def _named(names: type[Name]) -> Reads:
    """A field that takes members of an enumeration."""
    return _choices(reader(names), {"enum": list(known(names))})


def read_order(value: object) -> Order:
    """All axes, or all but `context`, which then stands beside `tensor`."""
    names = list(map(str, value)) if isinstance(value, list) else []
    if names and "context" not in names and "tensor" in names:
        names.insert(names.index("tensor") + 1, "context")
    if sorted(names) != sorted(AXES):
        raise InputError(
            f"{as_written(value)} does not name {', '.join(AXES)} once each, innermost first."
        )
    first, second, third, fourth = names
    return first, second, third, fourth


MOST_DIMENSIONS: Final = 3


def read_grid(value: object) -> Grid:
    """Devices along each dimension of a sample.

    Raises:
        InputError: it is no list of up to three counts.
    """
    many = value if isinstance(value, list) else [None]
    counts = all(type(each) is int and 1 <= each <= LARGEST for each in many)
    if not counts or len(many) > MOST_DIMENSIONS or prod(many) > LARGEST:
        raise InputError(
            f"{as_written(value)} is no grid: write devices along height and width (and depth), "
            "such as [2, 2]; [] is none."
        )
    return tuple(many)


def read_grids(value: object) -> tuple[Grid, ...]:
    """One grid, or a list of them; numbers alone are one grid."""
    several = isinstance(value, list) and any(isinstance(item, list) for item in value)
    return _all(read_grid, value if isinstance(value, list) and several else [value])


def read_cut(value: object) -> Cut:
    """How layers are spread over stages.

    Raises:
        InputError: it is none of the ways.
    """
    for name in CUTS:
        if value == name:
            return name
    if not isinstance(value, list) or not value:
        raise InputError(
            f"{as_written(value)} is none of {', '.join(map(repr, CUTS))}, nor a list of layers "
            "per chunk such as [9, 10, 10, 9]."
        )
    if len(value) > MOST_CHOICES:
        raise InputError(f"has {len(value):,} chunks; at most {MOST_CHOICES:,} are read.")
    least = [*[1] * (len(value) - 1), int(len(value) == 1)]
    wrong = [
        as_written(item)
        for item, most in zip(value, least, strict=True)
        if type(item) is not int or item < most
    ]
    if wrong:
        *most, last = dict.fromkeys(wrong)
        told = f"{', '.join(most)} or {last}" if most else last
        raise InputError(f"layers of a chunk are whole numbers of at least 1, not {told}.")
    return tuple(value)


def read_cuts(value: object) -> tuple[Cut, ...]:
    """One cut, or a list of them; numbers alone are one cut."""
    several = isinstance(value, list) and any(isinstance(item, list | str) for item in value)
    return _all(read_cut, value if isinstance(value, list) and several else [value])


def read_orders(value: object) -> tuple[Order, ...]:
    """One order, or a list of them."""
    one = isinstance(value, list) and not any(isinstance(item, list) for item in value)
    return _all(read_order, value if isinstance(value, list) and not one else [value])


def _from_zero(everything: str) -> Reads:
    """A field that takes whole numbers of at least 0, which stands for everything."""

    def read(value: object) -> int:
        if type(value) is int and 0 <= value <= LARGEST:
            return value
        raise InputError(
            f"{as_written(value)} is not a whole number of at least 0 (0: {everything})."
        )

    return _choices(read, {**COUNT, "minimum": 0})


ORDER = f"{', '.join(AXES)}, innermost first; or a list of such orders"
CUT = f"{', '.join(map(repr, CUTS))}, or layers of each chunk in order; or a list of such cuts"
GRID = "devices along each dimension of a sample, such as [2, 2]; or a list of such grids"
Counts = Annotated[tuple[int, ...], _choices(count, COUNT)]
Flags = Annotated[tuple[bool, ...], _choices(read_flag, {"type": "boolean"})]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSection:
    """The section as it is written; `Space` has the meanings."""

    data: Counts | None = None
    tensor: Counts | None = None
    context: Counts | None = None
    pipeline: Counts | None = None
    expert: Counts | None = None
    expert_tensor: Counts | None = None
    interleaving: Counts | None = None
    micro_batch: Counts | None = None
    sequence_parallel: Flags | None = None
    exchange: Annotated[tuple[ContextExchange, ...], _named(ContextExchange)] | None = None
    grid: Annotated[tuple[Grid, ...], Reads(read_grids, {"description": GRID})] | None = None
    convolutions: Annotated[tuple[ChannelSplit, ...], _named(ChannelSplit)] | None = None
    split: Annotated[tuple[int, ...], _from_zero("all layers that can be")] | None = None
    sharding: Annotated[tuple[Sharding, ...], _named(Sharding)] | None = None
    shard: Annotated[tuple[int, ...], _from_zero("all replicas")] | None = None
    reshard: Flags | None = None
    recompute: Annotated[tuple[Recompute, ...], _named(Recompute)] | None = None
    recompute_layers: Annotated[tuple[int, ...], _from_zero("all layers")] | None = None
    offload_layers: Annotated[tuple[int, ...], _from_zero("all layers")] | None = None
    offload: Annotated[tuple[Offload, ...], _named(Offload)] | None = None
    attention: Annotated[tuple[Attention, ...], _named(Attention)] | None = None
    schedule: Annotated[tuple[Schedule, ...], _named(Schedule)] | None = None
    sends: Annotated[tuple[Sends, ...], _named(Sends)] | None = None
    cut: Annotated[tuple[Cut, ...], Reads(read_cuts, {"description": CUT})] | None = None
    order: (
        Annotated[tuple[Order, ...], Reads(read_orders, {"type": "array", "description": ORDER})]
        | None
    ) = None


def read_space(section: dict[str, object], problems: Problems) -> Space:
    """The plans that a study asks about; a key with a mistake, noted in `problems`, is free."""
    found = validated(PlanSection, section, path="plan", problems=problems) or PlanSection()
    chosen = {field.name: getattr(found, field.name) for field in fields(PlanSection)}
    space = Space(**{name: value for name, value in chosen.items() if value is not None})
    if space.grid and any(space.grid) and space.context is None:
        # Its devices are those of the context axis.
        shared = dict.fromkeys(prod(grid) for grid in space.grid)
        return replace(space, context=tuple(shared))
    return space


Named = Mapping[str, tuple[Any, ...]]
"""Fields of a plan, and the choices that were named for each."""

KEY_AND_VALUE: Final = re.compile(r"(\w+)\s*=\s*(\[[\[\]\w\s,\"'>]*\]|\"[^\"]*\"|'[^']*'|[^\s,]+)")
WORDS: Final = tuple(
    re.compile(rf"(?:{pattern})(?![\w+>])", re.IGNORECASE)
    for pattern in (
        r"tp(?P<tensor>\d+)(?P<convolutions>ch)?(?P<sequence_parallel>\+sp)?",
        r"grid(?P<grid>\d+(?:x\d+)*)",
        r"split (?P<split>\d+)",
        r"cp(?P<context>\d+)(?P<exchange>a2a|ag)?",
        r"pp(?P<pipeline>\d+)(?:x(?P<interleaving>\d+))?",
        r"dp(?P<data>\d+)",
        r"ep(?P<expert>\d+)(?:etp(?P<expert_tensor>\d+))?",
        r"mbs(?P<micro_batch>\d+)",
        r"recompute (?P<recompute>\w+)(?: of (?P<recompute_layers>\d+) layers)?",
        r"sharded (?P<sharding>\w+)(?: among (?P<shard>\d+))?(?P<reshard>, kept)?",
        r"offload (?P<offload>\w+)(?: of (?P<offload_layers>\d+) layers)?",
        r"(?P<attention>plain|flash) attention",
        rf"(?P<schedule>{'|'.join(each.label.lower() for each in Schedule)})",
        r"(?P<sends>overlapped|blocking) sends",
        r"cut (?P<cut>[a-z]+|[\dx-]+)",
        r"order (?P<order>\w+(?:>\w+)*)",
    )
)
"""The words of `Plan.__str__`, each with the fields that it fills."""

BETWEEN: Final = re.compile(r"\A[\s,;]+")
"""What stands between words: all that ends one, or none would ever be read to its end."""

MOST_LETTERS: Final = 2000
MOST_DIGITS: Final = 9

MARKS: Final = {
    "+sp": True,
    "a2a": "all_to_all",
    "ag": "all_gather",
    "ch": "channel",
    ", kept": False,
}
"""Words that stand for the value of a field by being there."""

TELLING: Final = {"tensor", "pipeline", "data", "micro_batch", "recompute"}
"""Fields that the text of a plan always has; words that fill them all are a whole plan."""


def read_named(text: str, *, where: str) -> Named:
    """The fields that a text names; all of them where it is the text of a whole plan.

    Args:
        text: keys and values, or words of a plan's text, in any mixture.
        where: what to call it in messages.

    Raises:
        InputError: with every word that is not understood and every value that cannot be.
    """
    if len(text) > MOST_LETTERS:
        told = f"{as_written(text)} has {len(text):,} letters; at most {MOST_LETTERS:,} are read."
        raise InputError(f"{where}: {told}")
    problems = Problems(where)
    written: dict[str, object] = {}
    worded: set[str] = set()
    for word, found in _words(text, problems):
        problems.add_all(
            f"plan.{name}: is named twice in {as_written(text)}; name it once."
            for name in set(found) & set(written)
        )
        written |= found
        worded |= set() if "=" in word else set(found)
    section = table(written, "plan", problems)
    space = read_space(section, problems)
    problems.check()
    if not written:
        raise InputError(
            f"{where}: {as_written(text)} names nothing. Write tensor=8, for example, or tp8."
        )
    implied = ("context",) if "grid" in section else ()
    named = {name: getattr(space, name) for name in (*implied, *section)}
    # What the text of a plan says by its silence.
    return named if not worded >= TELLING else dict(named_by(Plan())) | named


def read_plan(text: str, *, where: str) -> Plan:
    """The plan of a text that is a whole plan's.

    Raises:
        InputError: the text cannot be read, or leaves fields open.
    """
    named = read_named(text, where=where)
    plan = whole(named)
    if plan is None:
        raise InputError(f"{where}: {as_written(text)} is no whole plan.")
    return plan


def whole(named: Named) -> Plan | None:
    """The plan in which every field is named once; None where a field is open."""
    if len(named) < len(SAID) or any(len(choices) > 1 for choices in named.values()):
        return None
    return Plan(**{name: choices[0] for name, choices in named.items()})


def named_by(plan: Plan) -> Named:
    """Every field of a plan."""
    return {name: (getattr(plan, name),) for name in SAID}


def _words(text: str, problems: Problems) -> Iterator[tuple[str, dict[str, object]]]:
    """The words of a text, each with the fields that it fills."""
    place = 0
    while rest := BETWEEN.sub("", text[place:], count=1):
        place = len(text) - len(rest)
        words = (pattern.match(rest) for pattern in (KEY_AND_VALUE, *WORDS))
        match = next((match for match in words if match), None)
        if match is None:
            word = re.split(r"[\s,;]", rest, maxsplit=1)[0]
            wrong = f"{as_written(word)} is no key of [plan] with a value and no word of a plan."
            problems.add("", f"{wrong} Write tensor=8, for example, or tp8.")
            place += len(word)
            continue
        place += match.end()
        if match.re is not KEY_AND_VALUE:
            given = match.groupdict().items()
            yield match[0], {name: _value(name, said) for name, said in given if said is not None}
            continue
        # One key and its value, as TOML has it or bare: recompute=full.
        key, value = match.groups()
        try:
            yield match[0], {key: from_toml(f"value = {value}", key)["value"]}
        except InputError:
            yield match[0], {key: _value("order" if ">" in value else key, value)}


def _value(name: str, word: str) -> object:
    """What a word means as the value of a key of [plan]."""
    word = word.lower()
    if word in MARKS:
        return MARKS[word]
    if name == "order":
        return word.split(">")
    if name == "grid":
        return [int(each) for each in word.split("x") if len(each) <= MOST_DIGITS]
    if name == "cut" and word[0].isdigit():
        # Layers of each chunk: 1-62x2-1.
        layers: list[int] = []
        for run in word.split("-"):
            many, _, each = run.rpartition("x")
            if max(len(many), len(each)) > MOST_DIGITS or int(many or 1) > MOST_CHOICES:
                raise InputError(f"cut {as_written(word)} has more than {MOST_CHOICES:,} chunks.")
            layers += [int(each or 0)] * int(many or 1)
        return layers
    return int(word) if word.isdecimal() and len(word) <= MOST_DIGITS else word.replace(" ", "_")
