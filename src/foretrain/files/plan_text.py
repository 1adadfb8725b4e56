"""Plans in one line: keys and values of [plan], or the text that a ranking prints.

`tensor=8 pipeline=16 recompute=full` names three fields; `tp4+sp, pp8x12, dp16, mbs2, recompute
none` is a whole plan, in which what is not said is neutral.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.files.keys import table
from foretrain.files.plan import MOST_CHOICES, read_space
from foretrain.files.problems import Problems
from foretrain.files.toml import from_toml
from foretrain.plan.plan import Plan
from foretrain.units import as_written

Named = Mapping[str, tuple[Any, ...]]
"""Fields of a plan, and the choices that were named for each."""

KEY_AND_VALUE: Final = re.compile(r"(\w+)\s*=\s*(\[[\[\]\w\s,\"'>]*\]|\"[^\"]*\"|'[^']*'|[^\s,]+)")
WORDS: Final = tuple(
    re.compile(rf"(?:{pattern})(?![\w+>])", re.IGNORECASE)
    for pattern in (
        r"tp(?P<tensor>\d+)(?P<sequence_parallel>\+sp)?",
        r"cp(?P<context>\d+)(?P<exchange>a2a)?",
        r"pp(?P<pipeline>\d+)(?:x(?P<interleaving>\d+))?",
        r"dp(?P<data>\d+)",
        r"ep(?P<expert>\d+)(?:etp(?P<expert_tensor>\d+))?",
        r"mbs(?P<micro_batch>\d+)",
        r"recompute (?P<recompute>\w+)(?: of (?P<recompute_layers>\d+) layers)?",
        r"sharded (?P<sharding>\w+)(?: among (?P<shard>\d+))?(?P<reshard>, kept)?",
        r"offload (?P<offload>\w+)",
        r"(?P<attention>plain|flash) attention",
        r"(?P<schedule>gpipe|zero bubble|1f1b)",
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

MARKS: Final = {"+sp": True, "a2a": "all_to_all", ", kept": False}
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
    named = {name: getattr(space, name) for name in section}
    return named if not worded >= TELLING else _neutral() | named


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
    if len(named) < len(fields(Plan)) or any(len(choices) > 1 for choices in named.values()):
        return None
    return Plan(**{name: choices[0] for name, choices in named.items()})


def named_by(plan: Plan) -> Named:
    """Every field of a plan."""
    return {field.name: (getattr(plan, field.name),) for field in fields(Plan)}


def _neutral() -> dict[str, tuple[Any, ...]]:
    """What the text of a plan says by its silence."""
    return dict(named_by(Plan()))


def _words(text: str, problems: Problems) -> Iterator[tuple[str, dict[str, object]]]:
    """The words of a text, each with the fields that it fills."""
    place = 0
    while rest := BETWEEN.sub("", text[place:], count=1):
        place = len(text) - len(rest)
        match = _match(rest)
        if match is None:
            word = re.split(r"[\s,;]", rest, maxsplit=1)[0]
            wrong = f"{as_written(word)} is no key of [plan] with a value and no word of a plan."
            problems.add("", f"{wrong} Write tensor=8, for example, or tp8.")
            place += len(word)
            continue
        place += match.end()
        yield match[0], _pair(match) if match.re is KEY_AND_VALUE else _filled(match)


def _match(rest: str) -> re.Match[str] | None:
    """The word with which a text begins."""
    found = (pattern.match(rest) for pattern in (KEY_AND_VALUE, *WORDS))
    return next((match for match in found if match), None)


def _pair(match: re.Match[str]) -> dict[str, object]:
    """One key and its value, as TOML has it or bare: recompute=full."""
    key, value = match.groups()
    try:
        return {key: from_toml(f"value = {value}", key)["value"]}
    except InputError:
        return {key: _value("order" if ">" in value else key, value)}


def _filled(match: re.Match[str]) -> dict[str, object]:
    """The fields that a word of a plan's text fills."""
    given = {name: value for name, value in match.groupdict().items() if value is not None}
    return {name: _value(name, value) for name, value in given.items()}


def _value(name: str, word: str) -> object:
    """What a word means as the value of a key of [plan]."""
    word = word.lower()
    if word in MARKS:
        return MARKS[word]
    if name == "order":
        return word.split(">")
    if name == "cut" and word[0].isdigit():
        return _unfolded(word)
    return int(word) if word.isdecimal() and len(word) <= MOST_DIGITS else word.replace(" ", "_")


def _unfolded(text: str) -> list[int]:
    """Layers of each chunk, of a text such as 1-62x2-1."""
    layers: list[int] = []
    for run in text.split("-"):
        many, _, each = run.rpartition("x")
        if max(len(many), len(each)) > MOST_DIGITS or int(many or 1) > MOST_CHOICES:
            raise InputError(f"cut {as_written(text)} has more than {MOST_CHOICES:,} chunks.")
        layers += [int(each or 0)] * int(many or 1)
    return layers
