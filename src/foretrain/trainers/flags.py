"""Flags: what a trainer calls the keys of a study, in its files and on its command line.

A flag sets keys of a study: the one whose value it is, or, word by word, what each of its words
stands for. Keys are those of a study ("plan.tensor", "workload.global_batch", "options.attention"),
sizes of a decoder ("model.hidden"), devices ("cluster.nodes"), and what a study does not say but
follows from what it says ("layers_of_chunk").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Final

from foretrain.errors import InputError

Fact = bool | int | float | str
"""The value of a key; a list is its items with ">" between them."""

Facts = Mapping[str, Fact]


class Form(StrEnum):
    """How a file writes options."""

    ARGUMENTS = "arguments"
    """--name value, in a shell script."""
    OVERRIDES = "overrides"
    """name=value, in a shell script."""
    JSON = "json"
    TOML = "toml"
    YAML = "yaml"

    @property
    def in_shell(self) -> bool:
        """Whether options stand on a command line."""
        return self in (Form.ARGUMENTS, Form.OVERRIDES)


TRUE: Final = "true"
"""The word of a flag that stands alone, or is switched on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One option of a trainer.

    Attributes:
        name: as the trainer has it, parts of a path with dots between them.
        key: whose value it is, where no word says something else; empty where only `words` say
            what it means.
        words: what each word stands for: keys and values.
        beside: other options that are written with it, with their values.
        place: how the file writes it in which it stands.
        refines: whether it may say more of a key than an option above it did.
        times: whether the value of the key is a product, of which this is one factor.
        only_read: whether it is another way to say something, which nobody writes.
        always: whether it is written also where another option says the same.
        listed: whether its value is a list of words.
        source: who says so.
    """

    name: str
    key: str = ""
    words: tuple[tuple[str, tuple[tuple[str, Fact], ...]], ...] = ()
    beside: tuple[tuple[str, Fact], ...] = ()
    place: Form
    refines: bool = False
    times: bool = False
    only_read: bool = False
    always: bool = False
    listed: bool = False
    source: str

    def __post_init__(self) -> None:
        if not (self.key or self.words):
            raise InputError(f"Flag {self.name} says nothing of any key.")

    def keys(self) -> tuple[str, ...]:
        """Every key that it may set."""
        named = [key for _, sets in self.words for key, _ in sets]
        return tuple(dict.fromkeys([*([self.key] if self.key else []), *named]))


WHOLE: Final = re.compile(r"[+-]?\d+(?:_\d+)*")
MOST_DIGITS: Final = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a trainer is told what to do.

    Attributes:
        form: how its file, or its command line, writes options; None where none is known.
        command: the line that starts it, with {nodes}, {node_devices}, {devices}, {rank},
            {address}, {port} and {file} in it; empty where none is known.
        file: name of its own file; empty where it has a command line alone.
        programs: pattern of the programs that it runs.
        marks: keys at the top of its file, any of which tells it from others.
        families: trainers whose files stand beside its own.
        flags: what is understood, in the order in which it is written.
        unset: what is so where no option speaks of a key: a value, or the key that has it.
        unread: options that matter and that foretrain does not price, with what they are about.
        ignored: options that change neither time nor memory, by what they are about.
        source: who says all that.
    """

    form: Form | None = None
    command: str = ""
    file: str = ""
    programs: str = ""
    marks: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    unset: tuple[tuple[str, Fact], ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict, hash=False)
    ignored: Mapping[str, str] = field(default_factory=dict, hash=False)
    source: str = ""

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.flags)

    def flag(self, name: str) -> Flag | None:
        """The flag of a name; None if it has none that is understood."""
        return next((each for each in self.flags if each.name == name), None)

    def about(self, name: str) -> str | None:
        """What an option is about that matters and is not priced; None of any other."""
        return _group(self.unread, name)

    def idle(self, name: str) -> str | None:
        """What an option is about that changes neither time nor memory; None of any other."""
        return _group(self.ignored, name)

    def knows(self, name: str) -> bool:
        """Whether an option is one of this release, as far as its entry says."""
        return any(
            each is not None for each in (self.flag(name), self.about(name), self.idle(name))
        )


def _group(groups: Mapping[str, str], name: str) -> str | None:
    """What a name stands under: its own, or that of everything below a part of its path."""
    if name in groups:
        return groups[name]
    parts = name.split(".")
    below = (".".join([*parts[:many], "*"]) for many in range(len(parts) - 1, 0, -1))
    return next((groups[each] for each in below if each in groups), None)


SILENT: Final = Dialect()


def fact(text: object) -> Fact:
    """What an entry or a file says, as the value of a key; what is no finite number is a text."""
    if isinstance(text, bool | int) or (isinstance(text, float) and isfinite(text)):
        return text
    said = str(text).strip()
    if said.lower() in ("true", "false"):
        return said.lower() == TRUE
    if len(said) <= MOST_DIGITS and WHOLE.fullmatch(said):
        return int(said)
    try:
        number = float(said)
    except ValueError:
        return said
    return number if isfinite(number) else said


def sets_of(text: str, key: str) -> tuple[tuple[str, Fact], ...]:
    """What a word stands for: "full", or "plan.recompute = full, plan.recompute_layers = 0".

    Args:
        text: as the entry has it; empty where a word says nothing of any key.
        key: of which a word alone is the value.
    """
    if not text:
        return ()
    if "=" not in text:
        return ((key, fact(text)),)
    pairs = (each.partition("=") for each in text.split(","))
    return tuple((name.strip(), fact(value)) for name, _, value in pairs)
