"""The trainer of a study: what it lets a plan be, and who else could run one.

A rule of what a trainer can: a plan asks for words (an axis, a schedule, a way of sharding), an
entry lists those that it has. What an entry does not speak of is not forbidden.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from foretrain.errors import InputError, nearest
from foretrain.plan.plan import (
    CUTS,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sharding,
)
from foretrain.plan.study import Space, Study
from foretrain.plan.table import Flags, PlanTable, distinct
from foretrain.trainers.trainer import Exclusion, Trainer
from foretrain.trainers.vocabulary import AXES, OPTIONS
from foretrain.workload.operator import Attention

SPEAKS_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "axes": "degree",
        "sequence_parallel": "sequence parallelism",
        "exchanges": "exchange",
        "schedules": "schedule",
        "cuts": "cut",
        "shardings": "sharding",
        "recompute": "recomputation",
        "offload": "offloading",
        "attention": "attention kernel",
        "precisions": "precision",
    }
)
"""What an ability is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What a study says of its software.

    Attributes:
        trainer: which.
        options: what of it is set, by the keys of `OPTIONS`.
        stated: options that the plan or the workload states.
    """

    trainer: Trainer
    options: tuple[tuple[str, str], ...] = ()
    stated: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        told = [text for name, value in self.options for text in self._wrong(name, value)]
        if told:
            raise InputError("\n".join(told))

    @property
    def name(self) -> str:
        """Of the trainer."""
        return self.trainer.name

    def set_to(self, option: str) -> str | None:
        """What an option is set to; None if the study leaves it open."""
        return dict(self.options).get(option)

    def _wrong(self, name: str, value: str) -> Iterator[str]:
        option = self.trainer.option(name)
        known = [each.name for each in self.trainer.options]
        if option is None:
            yield (
                f"options.{name}: {self.name} has no such option.{nearest(name, known)} "
                f"It has {', '.join(known)}."
            )
        elif value not in (values := option.values or tuple(OPTIONS[name].values)):
            yield (
                f"options.{name}: {self.name} has no {value!r}.{nearest(value, values)} "
                f"It has {', '.join(values)}."
            )


def chosen_of(study: Study) -> Chosen | None:
    """What a study says of its software; None if it says nothing."""
    chosen = study.trainer
    if chosen is not None and not isinstance(chosen, Chosen):
        raise InputError("Study.trainer must be a Chosen, or None for any.")
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One thing that a plan asks of a trainer.

    Attributes:
        ability: the key of `can` that speaks of it, or `attention`.
        field: of the plan.
        word: what is asked for.
    """

    ability: str
    field: str
    word: str


COUNTED: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "shard": ("shardings", "groups"),
        "recompute_layers": ("recompute", "layers"),
        "offload_layers": ("offload", "layers"),
    }
)
"""Counts of a plan that not every trainer can set: the ability that speaks of each, its word."""


def wishes(plan: Plan) -> Iterator[Wish]:
    """Everything that a plan asks of whoever runs it."""
    for axis in AXES:
        if getattr(plan, axis) > 1:
            yield Wish(ability="axes", field=axis, word=axis)
    if plan.tensor > 1:
        yield _wish("sequence_parallel", "sequence_parallel", plan.sequence_parallel)
    if plan.context > 1 and not plan.grid:
        yield _wish("exchanges", "exchange", plan.exchange)
    if plan.pipeline > 1:
        yield _wish("schedules", "schedule", plan.schedule)
        yield _wish("cuts", "cut", plan.cut)
    yield _wish("shardings", "sharding", plan.sharding)
    yield _wish("recompute", "recompute", plan.recompute)
    yield _wish("offload", "offload", plan.offload)
    yield _wish("attention", "attention", plan.attention)
    for name, (ability, called) in COUNTED.items():
        if getattr(plan, name):
            yield Wish(ability=ability, field=name, word=called)


def _wish(ability: str, field: str, value: object) -> Wish:
    return Wish(ability=ability, field=field, word=word(value))


def word(value: object) -> str:
    """What entries call a value of a plan's field."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Schedule):
        return value.word
    if isinstance(value, IntEnum):
        return value.name.lower()
    return "listed" if isinstance(value, tuple) else str(value)


def against(trainer: Trainer, plan: Plan) -> list[str]:
    """Why a trainer cannot run a plan, each reason with its key; empty if it can."""
    found = []
    for wish in wishes(plan):
        known = trainer.able(wish.ability)
        if known is not None and wish.word not in known:
            found.append(_refused(trainer, wish, (wish.word,)))
    found += [_excluded(trainer, each) for each in trainer.excludes if _holds(each, plan)]
    return found


def _refused(trainer: Trainer, wish: Wish, words: Iterable[str]) -> str:
    known = ", ".join(trainer.able(wish.ability) or ("none",))
    asked = " or ".join(dict.fromkeys(words))
    if wish.ability == "axes":
        return f"plan.{wish.field}: {trainer.name} has no {asked} axis; it has {known}."
    return (
        f"plan.{wish.field}: {trainer.name} has no {SPEAKS_OF[wish.ability]} '{asked}'; it has "
        f"{known}."
    )


def _excluded(trainer: Trainer, each: Exclusion) -> str:
    names = [name for name, _ in each.together]
    told = " with ".join(
        f"plan.{name} {'above 1' if words == ('more',) else ' or '.join(words)}"
        for name, words in each.together
    )
    return f"plan.{names[-1]}: {trainer.name} cannot have {told}: {each.source}."


def _holds(exclusion: Exclusion, plan: Plan) -> bool:
    """Whether a plan has all that is excluded together; of options, none says so."""
    return all(
        name in _PLAN_FIELDS
        and (getattr(plan, name) > 1 if "more" in words else word(getattr(plan, name)) in words)
        for name, words in exclusion.together
    )


_PLAN_FIELDS: Final = frozenset(each.name for each in fields(Plan))


def that_can(trainers: Sequence[Trainer], plan: Plan) -> tuple[str, ...]:
    """Names of the trainers that can run a plan: of each family the newest release that can.

    Only entries that say what they can are asked.
    """
    newest: dict[str, Trainer] = {}
    wanted = tuple(wishes(plan))
    for each in sorted(trainers, key=lambda each: (each.date, each.name)):
        if each.able("axes") and _runs(each, plan, wanted):
            newest[each.family] = each
    return tuple(sorted(each.name for each in newest.values()))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Runners:
    """Trainers, any of which may run a plan.

    Attributes:
        trainers: those that can run some plan of a space.
        known: whether any of them can run plans that ask for the same.
    """

    trainers: tuple[Trainer, ...]
    known: dict[Hashable, bool] = field(default_factory=dict)

    def can(self, plans: PlanTable) -> Flags:
        """Whether any of them can run each plan. [plan]"""
        columns = [
            *(np.asarray(getattr(plans, name) > 1, np.float64) for name in AXES),
            *(np.asarray(getattr(plans, name) > 0, np.float64) for name in COUNTED),
            *(getattr(plans, name) for name in _WORDS),
        ]
        rows, index = distinct(columns)
        asked = zip(*(column[rows].tolist() for column in columns), strict=True)
        # Another table may number its cuts and grids otherwise.
        cuts = [plans.cuts[int(each)] for each in plans.cut[rows]]
        grids = [bool(plans.grids[int(each)]) for each in plans.grid[rows]]
        keys = zip(cuts, grids, asked, strict=True)
        can = [self._can(key, plans, int(row)) for key, row in zip(keys, rows, strict=True)]
        return np.array(can, bool)[index]

    def _can(self, asked: Hashable, plans: PlanTable, row: int) -> bool:
        if asked not in self.known:
            plan = plans.plan(row)
            wanted = tuple(wishes(plan))
            self.known[asked] = any(_runs(each, plan, wanted) for each in self.trainers)
        return self.known[asked]


def _runs(trainer: Trainer, plan: Plan, wanted: Sequence[Wish]) -> bool:
    """Whether a trainer can run a plan: whether `against` has nothing to say."""
    for wish in wanted:
        known = trainer.able(wish.ability)
        if known is not None and wish.word not in known:
            return False
    return not any(_holds(each, plan) for each in trainer.excludes)


def runners(trainers: Sequence[Trainer], space: Space) -> Runners | None:
    """The trainers that can run plans of a space; None if none can, or none says what it can."""
    able = [it for it in trainers if it.able("axes") and not narrowed(space, it)[1]]
    # The newest first, which can most.
    able.sort(key=lambda it: it.date, reverse=True)
    return Runners(trainers=tuple(able)) if able else None


_WORDS: Final = (
    "cut",
    "grid",
    "sequence_parallel",
    "exchange",
    "schedule",
    "sharding",
    "recompute",
    "offload",
    "attention",
)
"""Columns whose values are words for a trainer."""

ENUMERATED: Final[Mapping[str, tuple[str, tuple[Any, ...]]]] = MappingProxyType(
    {
        "sequence_parallel": ("sequence_parallel", (False, True)),
        "exchange": ("exchanges", tuple(ContextExchange)),
        "schedule": ("schedules", tuple(Schedule)),
        "sharding": ("shardings", tuple(Sharding)),
        "recompute": ("recompute", tuple(Recompute)),
        "offload": ("offload", tuple(Offload)),
        "cut": ("cuts", CUTS),
        "attention": ("attention", (Attention.FLASH, Attention.PLAIN)),
    }
)
"""Fields of a space whose values have words: the ability that speaks of them, and every value."""


def narrowed(space: Space, trainer: Trainer) -> tuple[Space, list[str]]:
    """A space without what a trainer cannot do, and what keeps all of it from running.

    A field with choices of which none is left keeps them, and is told.
    """
    changes: dict[str, tuple[Any, ...]] = {}
    told: list[str] = []
    asked = [*_axes(trainer), *_words(trainer), *_counts(trainer)]
    for wish, every, able in asked:
        given = getattr(space, wish.field)
        left = tuple(each for each in given or every if each in able or _listed(each, trainer))
        if not left:
            words = map(word, given) if wish.field in ENUMERATED else (wish.word,)
            told.append(_refused(trainer, wish, words))
        elif given is not None or len(left) < len(every):
            changes[wish.field] = left
    return replace(space, **changes), told


Limited = tuple[Wish, tuple[Any, ...], tuple[Any, ...]]
"""A field of a space: what is asked, every value that it has where it is free, those that go."""


def _listed(value: object, trainer: Trainer) -> bool:
    """Whether a value is a cut that lists its layers, and the trainer has such."""
    return isinstance(value, tuple) and "listed" in (trainer.able("cuts") or ())


def _axes(trainer: Trainer) -> Iterator[Limited]:
    """Axes that a trainer lacks have one member."""
    axes = trainer.able("axes")
    for axis in AXES:
        if axes is not None and axis not in axes:
            yield Wish(ability="axes", field=axis, word=axis), (1, 2), (1,)


def _words(trainer: Trainer) -> Iterator[Limited]:
    """Fields whose values have words."""
    for name, (ability, every) in ENUMERATED.items():
        known = trainer.able(ability)
        if known is not None:
            able = [each for each in every if word(each) in known]
            yield Wish(ability=ability, field=name, word=""), every, tuple(able)


def _counts(trainer: Trainer) -> Iterator[Limited]:
    """Fields of which a trainer without a word has none."""
    for name, (ability, called) in COUNTED.items():
        known = trainer.able(ability)
        if known is not None and called not in known:
            yield Wish(ability=ability, field=name, word=called), (0, 1), (0,)


def excluded(trainer: Trainer, plans: PlanTable) -> Flags:
    """Whether plans have what a trainer can do apart and not together. [plan]"""
    found = np.zeros(len(plans), bool)
    for each in trainer.excludes:
        if all(name in _PLAN_FIELDS for name, _ in each.together):
            found |= np.logical_and.reduce([_column(plans, *each) for each in each.together])
    return found


def _column(plans: PlanTable, name: str, words: tuple[str, ...]) -> Flags:
    column = getattr(plans, name)
    if "more" in words:
        return np.asarray(column > 1)
    _, every = ENUMERATED[name]
    return np.isin(column, [float(each) for each in every if word(each) in words])
