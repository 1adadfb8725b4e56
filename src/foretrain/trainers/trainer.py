"""Trainers: with what software a training is run.

A trainer is data: what it can express, which options it has and what they are when nobody sets
them, and what it does by habit. Nobody asks for its name; whoever wants to know reads a field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Final

from foretrain.errors import InputError, nearest
from foretrain.trainers.flags import SILENT, Dialect
from foretrain.trainers.vocabulary import ABILITIES, HABITS, OPTIONS, Term

PATTERNS: Final = (
    "framework",
    "publisher",
    "task",
    "model",
    "family",
    "device",
    "precision",
    "dispatch",
)
"""Fields of `Circumstances` that a line may ask for by a pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known of a run, in the words of whoever describes it; empty where nothing is.

    Attributes:
        framework: name of the software, in lower case.
        publisher: id of who published the run.
        task: what was done.
        model: name of what is trained.
        family: family of what is trained.
        device: name of the device.
        precision: words for the precision.
        dispatch: words for tokens that an expert has no room for.
        container: release of the container.
        date: of the run, year first.
    """

    framework: str = ""
    publisher: str = ""
    task: str = ""
    model: str = ""
    family: str = ""
    device: str = ""
    precision: str = ""
    dispatch: str = ""
    container: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Of which runs a line of an entry holds: of any, but for what is given.

    Texts are patterns, found anywhere unless they say where, capitals or not.

    Attributes:
        framework: of the name of the software, in lower case.
        unless: of the name of software of which it does not hold.
        publisher: of the id of who published it.
        task: of the task.
        model: of the name of what is trained.
        family: of the family of what is trained.
        device: of the name of the device.
        precision: of the words for the precision.
        dispatch: of the words for tokens that an expert has no room for.
        container: the first release of the container.
        since: the first date; runs without a date are not among them.
        before: the first date of which it no longer holds; likewise.
    """

    framework: str = ""
    unless: str = ""
    publisher: str = ""
    task: str = ""
    model: str = ""
    family: str = ""
    device: str = ""
    precision: str = ""
    dispatch: str = ""
    container: str = ""
    since: str = ""
    before: str = ""

    def __post_init__(self) -> None:
        for name in (*PATTERNS, "unless"):
            try:
                re.compile(getattr(self, name))
            except re.error as error:
                raise InputError(f"Where.{name} is no pattern: {error}.") from None

    def holds(self, at: Circumstances) -> bool:
        """Whether a run is one of them."""
        date = at.date
        return (
            all(
                re.search(getattr(self, name), getattr(at, name), re.IGNORECASE)
                for name in PATTERNS
                if getattr(self, name)
            )
            and not (self.unless and re.search(self.unless, at.framework))
            and at.container >= self.container
            and not (self.since and date[: len(self.since)] < self.since)
            and not (self.before and not (date and date[: len(self.before)] < self.before))
        )

    def __str__(self) -> str:
        """What is given, for people."""
        given = [(each.name, getattr(self, each.name)) for each in fields(self)]
        return ", ".join(f"{name} {text}" for name, text in given if text)


EVERYWHERE: Final = Where()

Prior = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One line of an entry.

    Attributes:
        value: what is so; of an option, what it is when nobody sets it.
        source: who says so.
        where: of which runs.
        prior: weights of the values that a run may have had which says nothing of the option;
            empty where it had `value`.
    """

    value: str
    source: str
    where: Where = EVERYWHERE
    prior: Prior = ()

    def __post_init__(self) -> None:
        if not self.source:
            raise InputError("Statement.source must say who says so.")
        for name, weight in self.prior:
            if not weight > 0:
                raise InputError(f"Statement.prior of {name} must be above 0, got {weight}.")

    @property
    def weights(self) -> Mapping[str, float]:
        """Every value that a run may have had which says nothing, with a share of 1."""
        total = sum(weight for _, weight in self.prior)
        return {name: weight / total for name, weight in self.prior} or {self.value: 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """What an entry says under one key.

    Attributes:
        name: the key.
        lines: the first that holds of a run counts.
        values: what an option can be set to.
    """

    name: str
    lines: tuple[Statement, ...]
    values: tuple[str, ...] = ()

    def at(self, circumstances: Circumstances) -> Statement | None:
        """The line that holds of a run; None if the entry says nothing of it."""
        return next((line for line in self.lines if line.where.holds(circumstances)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """What a trainer can do apart and not together.

    Attributes:
        together: fields of a plan and the words for their values; all must hold. A degree is
            written "1" or "more".
        source: who says so.
    """

    together: tuple[tuple[str, tuple[str, ...]], ...]
    source: str


ATTENTION: Final = "attention"
"""An option whose values say what a trainer can do, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """One release of some training software.

    Attributes:
        name: catalogue name.
        family: what it is a release of.
        release: which; empty where it has none.
        date: of the release, year first; empty if not known.
        container: first container that holds it; empty if there is none.
        summary: one line for people.
        can: what it can express, lists of words by the keys of `ABILITIES`.
        excludes: what it can do apart and not together.
        options: what may be set, by the keys of `OPTIONS`.
        habits: what is not for setting, by the keys of `HABITS`.
        recognised: of which runs it is the software, up to the release; of any of these.
        dialect: what its files and its command line call the keys of a study.
        words: what it can express, by the keys of `ABILITIES` of which its entry speaks, and the
            kernels of attention that it has; from the entry, once: a search asks for many plans.
    """

    name: str
    family: str = ""
    release: str = ""
    date: str = ""
    container: str = ""
    summary: str = ""
    can: tuple[Feature, ...] = ()
    excludes: tuple[Exclusion, ...] = ()
    options: tuple[Feature, ...] = ()
    habits: tuple[Feature, ...] = ()
    recognised: tuple[Where, ...] = ()
    dialect: Dialect = SILENT
    words: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        told = [
            *_unknown("options", self.options, OPTIONS),
            *_unknown("habits", self.habits, HABITS),
            *_unknown("can", self.can, ABILITIES),
        ]
        if told:
            raise InputError("\n".join(f"{key}: {text}" for key, text in told))
        words = {each.name: words_of(each.lines[0].value) for each in self.can}
        option = self.option(ATTENTION)
        if words and option is not None and option.values:
            kinds = OPTIONS[ATTENTION].values
            kernels = (kinds[each].value[0].name.lower() for each in option.values)
            words[ATTENTION] = tuple(dict.fromkeys(kernels))
        object.__setattr__(self, "words", MappingProxyType(words))

    def option(self, name: str) -> Feature | None:
        """What may be set under a key; None if it has no such option."""
        return _named(self.options, name)

    def habit(self, name: str) -> Feature | None:
        """What it does by habit under a key; None if nothing is known."""
        return _named(self.habits, name)

    def able(self, name: str) -> tuple[str, ...] | None:
        """What it can express under a key; None if nothing is known to be impossible."""
        return self.words.get(name)


def words_of(value: str) -> tuple[str, ...]:
    """The words of a list that is written in one line."""
    return tuple(part for part in value.split(", ") if part)


def _named(features: tuple[Feature, ...], name: str) -> Feature | None:
    return next((each for each in features if each.name == name), None)


def _unknown(
    section: str, features: tuple[Feature, ...], known: Mapping[str, Term]
) -> Iterator[tuple[str, str]]:
    """Keys and values of a section that mean nothing here."""
    for each in features:
        key = f"{section}.{each.name}"
        if each.name not in known:
            yield key, f"unknown key.{nearest(each.name, [*known])} Known: {', '.join(known)}."
            continue
        kind = known[each.name]
        said = [*each.values, *(name for line in each.lines for name, _ in line.prior)]
        for line in each.lines:
            said += words_of(line.value) if kind.several else [line.value]
        if wrong := [word for word in dict.fromkeys(said) if word not in kind.values]:
            yield (
                key,
                f"unknown {', '.join(map(repr, wrong))}.{nearest(wrong[0], [*kind.values])} "
                f"Known: {', '.join(kind.values)}.",
            )
        elif each.values and not {line.value for line in each.lines} <= {*each.values}:
            yield key, "when unset it is something that it cannot be set to."


ANY: Final = Trainer(name="any", family="any", summary="any software; nothing is known of it")


def recognised(at: Circumstances, trainers: tuple[Trainer, ...]) -> Trainer:
    """The release of the trainer that ran: the newest that was out; `ANY` if none is recognised.

    Who published a run tells more of its software than the name that it is given there.

    Args:
        at: what is known of the run; of one without a date it is the newest release.
        trainers: every entry.
    """
    found = [
        (bool(where.publisher), each)
        for each in trainers
        for where in each.recognised
        if where.holds(at)
    ]
    if not found:
        return next((each for each in trainers if each.name == ANY.name), ANY)
    surest = max(sure for sure, _ in found)
    known = [each for sure, each in found if sure == surest]
    ordered = sorted(known, key=lambda each: (each.date, each.name))
    out = [each for each in ordered if _was_out(each, at)]
    return out[-1] if out else ordered[0]


def _was_out(trainer: Trainer, at: Circumstances) -> bool:
    """Whether a release was out when something ran: by its container where both are known."""
    if trainer.container and at.container:
        return trainer.container <= at.container
    return not at.date or trainer.date[: len(at.date)] <= at.date
