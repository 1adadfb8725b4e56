"""Options: where they stand, the dialects they are written in, and what is told of them.

Options: what files and command lines give a trainer, each with where it stands.

Tongues: the dialects in which the options of one run may be written.

What is told of options: those that were understood, were not, or change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from foretrain.trainers.flags import Fact, Flag
from foretrain.trainers.trainer import Trainer


def base(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """Where something stands.

    Attributes:
        file: its name.
        line: from 1; 0 where a file has no lines to speak of.
    """

    file: str
    line: int = 0

    def __str__(self) -> str:
        """As compilers write it: train.sh:12."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option with its value.

    Attributes:
        name: as it is written, without dashes; parts of a path with dots between them.
        value: true where the option stands alone.
        place: where.
        unset: variables in it that nobody sets.
    """

    name: str
    value: Fact
    place: FilePlace
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What some files say.

    Attributes:
        options: of the trainer, in the order in which they stand.
        around: of what starts it: launchers, batch systems.
        programs: what is run, script or module.
        marks: keys at the top of files that are tables.
        asked: files that are named on the line.
    """

    options: tuple[Option, ...] = ()
    around: tuple[Option, ...] = ()
    programs: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    asked: tuple[str, ...] = field(default=())


class Tongues:
    """The dialects in which the options of a run may be written, its trainer's own first."""

    def __init__(self, trainer: Trainer, others: Sequence[Trainer] = ()) -> None:
        """The dialects of a trainer and of those whose files stand beside its own.

        Args:
            trainer: who runs.
            others: every trainer of the catalogue.
        """
        self.trainer = trainer
        beside = [_newest(others, family, trainer) for family in trainer.dialect.families]
        self.dialects = [trainer.dialect, *(each.dialect for each in beside if each)]
        self.releases = sorted(
            (it for it in others if it.family == trainer.family and it.name != trainer.name),
            key=lambda it: it.date,
            reverse=True,
        )

    def named(self, name: str) -> str:
        """The name under which an option is known; hyphens and underscores are alike."""
        known = (each for each in _spellings(name) if any(it.knows(each) for it in self.dialects))
        return next(known, name)

    def flag(self, name: str) -> tuple[Flag, int] | None:
        """The flag of a name, and its rank among all."""
        for place, dialect in enumerate(self.dialects):
            if found := dialect.flag(name):
                return found, place * RANKS + dialect.flags.index(found)
        return None

    def other(self, name: str) -> tuple[str, Flag | None] | None:
        """Another release that has an option, and the flag that it is there."""
        for each in _spellings(name):
            for trainer in self.releases:
                if trainer.dialect.knows(each):
                    return trainer.name, trainer.dialect.flag(each)
        return None

    def unread(self, name: str) -> str | None:
        """What an option is about that matters and is not priced."""
        told = (it.about(name) for it in self.dialects)
        return next((each for each in told if each is not None), None)

    def ignored(self, name: str) -> str | None:
        """What an option is about that changes neither time nor memory."""
        told = (it.idle(name) for it in self.dialects)
        return next((each for each in told if each is not None), None)

    def knows(self, name: str) -> bool:
        """Whether an option is known."""
        return any(it.knows(each) for each in _spellings(name) for it in self.dialects)

    def names(self) -> list[str]:
        """Every option that is known."""
        return [
            name
            for it in self.dialects
            for name in (*(flag.name for flag in it.flags), *it.unread, *it.ignored)
        ]


RANKS: Final = 10_000


def _spellings(name: str) -> tuple[str, str, str]:
    return name, name.replace("_", "-"), name.replace("-", "_")


def _newest(trainers: Sequence[Trainer], family: str, beside: Trainer) -> Trainer | None:
    """Of a family, the newest release that was out with another trainer."""
    found = [it for it in trainers if it.family == family and it.dialect]
    out = [it for it in found if it.date <= beside.date] or found[:1]
    return max(out, key=lambda it: it.date, default=None)


class Why(StrEnum):
    """Why an option is not understood, or not taken as it is written."""

    VARIABLE = "variable"
    UNKNOWN = "unknown"
    VALUE = "value"
    UNPRICED = "unpriced"
    OTHER_RELEASE = "other-release"
    CONFLICT = "conflict"
    FOLLOWS = "follows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """An option that was understood.

    Attributes:
        place: where it stands; empty where nobody writes it and the trainer's own value holds.
        option: its name.
        value: what is written.
        key: what of a study it says.
        taken: for what it was taken.
    """

    place: str
    option: str
    value: str
    key: str
    taken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotUnderstood:
    """An option that may change time or memory, and was not taken as it is written.

    Attributes:
        place: where it stands.
        option: its name.
        value: what is written.
        kind: why.
        subject: what it is about: a variable, values that are known, another option, a release.
        taken: for what it was taken; empty where it was left out.
    """

    place: str
    option: str
    value: str
    kind: Why
    subject: str
    taken: str = ""

    def __str__(self) -> str:
        """The sentence."""
        sentence = SENTENCES[self.kind].format(subject=self.subject, value=self.value)
        taken = f" It is taken for {self.taken}." if self.taken else " It is left out."
        return f"{sentence}{taken}"


SENTENCES: Final[Mapping[Why, str]] = {
    Why.VARIABLE: "Nobody sets {subject}.",
    Why.UNKNOWN: "No option of this trainer that is known here.{subject}",
    Why.VALUE: "{value} is no value that is known here; known: {subject}.",
    Why.UNPRICED: "It sets {subject}, which may matter and is not priced.",
    Why.OTHER_RELEASE: "It is an option of {subject}.",
    Why.CONFLICT: "It contradicts {subject}.",
    Why.FOLLOWS: "Nothing follows from it without {subject}.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """Options that change neither time nor memory.

    Attributes:
        about: what they are about.
        options: their names.
    """

    about: str
    options: tuple[str, ...]
