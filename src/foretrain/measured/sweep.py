"""Sweeps: trials of one hyper-parameter search, the rungs where they are looked at, and who ends.

A trial trains up to a rung, writes a checkpoint and shows a loss. A rule then says who goes on: at
once, or when its peers have come to the rung too. What is left at the last rung is the winner.

Source of the rules, each as its own paper or program has it: jamieson2016 (successive halving),
li2018 (Hyperband), li2020asha (ASHA), liaw2018 (Ray Tune), akiba2019 (Optuna), golovin2017
(median).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import ceil, floor, inf, isfinite, log
from statistics import fmean, median
from typing import Final, NamedTuple

from foretrain.errors import InputError

ROUNDING: Final = 1e-9
"""By which a quotient or a logarithm of floats may miss a whole number."""

MOST_TRIALS: Final = 10_000
MOST_RUNGS: Final = 20
OTHERS: Final = 3
"""Trials beside its own that a median is taken of at least. Source: liaw2018, its default."""


class EndingRule(StrEnum):
    """Who goes on at a rung."""

    HALVING = "successive-halving"
    """The best share of one in eta, when all have come."""

    HYPERBAND = "hyperband"
    """The same in several brackets, which begin with more trials or with longer rungs."""

    ASHA = "asha"
    """Whoever is among the best one in eta of those that have come so far, as soon as it is."""

    STOPPING = "asha-stopping"
    """At once whoever is no worse than the quantile of those before it (Ray Tune)."""

    PRUNING = "successive-halving-pruner"
    """At once whoever is among the best one in eta of those so far and itself (Optuna)."""

    MEDIAN = "median-stopping"
    """At once whoever was once no worse than the median of what others show on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Trials that begin together and are compared with each other.

    Attributes:
        trials: how many.
        rungs: seconds that a trial of mean speed has trained at each, ascending.
    """

    trials: int
    rungs: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.trials <= MOST_TRIALS:
            raise InputError(
                f"Bracket.trials must be from 1 to {MOST_TRIALS:,}, got {self.trials:,}."
            )
        ascends = all(before < after for before, after in pairwise((0.0, *self.rungs)))
        if not (1 <= len(self.rungs) <= MOST_RUNGS and ascends and isfinite(self.rungs[-1])):
            raise InputError(
                f"Bracket.rungs must be 1 to {MOST_RUNGS} times that ascend from above 0 s, got"
                f" {self.rungs}."
            )

    @property
    def lengths(self) -> tuple[float, ...]:
        """Seconds from each rung's predecessor to it. [rung]"""
        return tuple(after - before for before, after in pairwise((0.0, *self.rungs)))

    def kept(self, eta: float) -> tuple[int, ...]:
        """Trials that train to each rung where one in eta goes on. [rung]"""
        counts = [self.trials]
        for _ in self.rungs[1:]:
            counts.append(best_of(counts[-1], eta))
        return tuple(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A hyper-parameter search.

    Attributes:
        name: what it is called.
        brackets: of trials; one, but of Hyperband.
        rule: who goes on at a rung.
        eta: one in so many goes on, above 1.
        devices: of a trial.
    """

    name: str
    brackets: tuple[Bracket, ...]
    rule: EndingRule = EndingRule.HALVING
    eta: float = 3.0
    devices: int = 1

    def __post_init__(self) -> None:
        if not 1 < self.eta < inf:
            raise InputError(f"Sweep.eta must be above 1, got {self.eta}.")
        if not self.brackets:
            raise InputError(f"the sweep {self.name} has no bracket.")
        for bracket in self.brackets if self.waits or self.rule is EndingRule.ASHA else ():
            if bracket.kept(self.eta)[-1] < 1:
                raise InputError(
                    f"the sweep {self.name} has {bracket.trials} trials, of which none is left at"
                    f" rung {len(bracket.rungs)} where one in {self.eta:g} goes on. Take more"
                    " trials, or fewer rungs."
                )

    @property
    def demand(self) -> float:
        """Device-seconds that it is expected to take; exact where trials wait for their peers."""
        return self.devices * sum(
            count * length
            for bracket in self.brackets
            for count, length in zip(self.expected(bracket), bracket.lengths, strict=True)
        )

    def expected(self, bracket: Bracket) -> tuple[float, ...]:
        """Trials that train to each rung, on average. [rung]"""
        if self.waits:
            return bracket.kept(self.eta)
        return tuple(bracket.trials * self.chance**rung for rung in range(len(bracket.rungs)))

    @property
    def waits(self) -> bool:
        """Whether trials at a rung wait for their peers."""
        return self.rule in {EndingRule.HALVING, EndingRule.HYPERBAND}

    @property
    def chance(self) -> float:
        """Of a trial, to go on from a rung."""
        return 0.5 if self.rule is EndingRule.MEDIAN else 1.0 / self.eta


class TrialRung(NamedTuple):
    """What of a sweep a job is: one trial on its way to one rung.

    Attributes:
        sweep: of which it is a part.
        bracket: place of its bracket.
        trial: place of its trial in the bracket.
        place: of the rung, from 0.
        loss: what it will show there, the lower the better; no policy may look at it.
    """

    sweep: Sweep
    bracket: int
    trial: int
    place: int
    loss: float

    @property
    def last(self) -> bool:
        """Whether the trial ends there in any case."""
        return self.place == len(self.sweep.brackets[self.bracket].rungs) - 1


def geometric(first: float, last: float, *, eta: float) -> tuple[float, ...]:
    """Rungs from the first to the last time, each eta times the one before. [rung]"""
    if not 0 < first <= last < inf:
        raise InputError(f"first must be above 0 s and at most last, got {first} and {last}.")
    steps = floor(log(last / first) / log(eta) + ROUNDING)
    return tuple(last * eta ** (step - steps) for step in range(steps + 1))


def hyperband(first: float, last: float, *, eta: float) -> tuple[Bracket, ...]:
    """The brackets of Hyperband, those with most trials first.

    Args:
        first: seconds that a trial trains at least.
        last: seconds that the winner trains.
        eta: one in so many goes on.

    Source: li2018, algorithm 1, with numbers of trials rounded up, as in Ray Tune.
    """
    rungs = geometric(first, last, eta=eta)
    most = len(rungs) - 1
    return tuple(
        Bracket(
            trials=ceil((most + 1) / (step + 1) * eta**step - ROUNDING),
            rungs=rungs[most - step :],
        )
        for step in range(most, -1, -1)
    )


def best_of(count: int, eta: float) -> int:
    """How many of some trials go on."""
    return floor(count / eta + ROUNDING)


Shown = Sequence[float]
"""Losses of a trial at its rungs up to this one."""

Verdicts = Mapping[int, bool]
"""Whether a trial goes on, by its place among those that came; without those still undecided."""


class Board(NamedTuple):
    """What is known at a rung.

    Attributes:
        shown: of each trial that came, the first to come first, its losses at all rungs so far.
        eta: one in so many goes on.
        more: whether others may still come.
    """

    shown: Sequence[Shown]
    eta: float
    more: bool

    @property
    def losses(self) -> list[float]:
        """Of each trial here."""
        return [each[-1] for each in self.shown]


def verdicts(rule: EndingRule, board: Board) -> Verdicts:
    """Who goes on from a rung, and who ends there.

    Args:
        rule: by which.
        board: what is known there; at least one trial has come.

    Who once was told to go on goes on, whatever a later answer says.
    """
    return RULES[rule](board)


def _when_all_came(board: Board) -> Verdicts:
    if board.more:
        return {}
    count = len(board.shown)
    return {**dict.fromkeys(range(count), False), **_promoted(board._replace(more=True))}


def _promoted(board: Board) -> Verdicts:
    losses = board.losses
    good = dict.fromkeys(_best(losses, best_of(len(losses), board.eta)), True)
    return good if board.more else {**dict.fromkeys(range(len(losses)), False), **good}


def _no_worse_than_before(board: Board) -> Verdicts:
    *before, own = board.losses
    return {len(before): own < inf and (not before or own <= _quantile(before, 1.0 / board.eta))}


def _among_the_best(board: Board) -> Verdicts:
    *before, own = losses = board.losses
    bar = sorted(losses)[max(best_of(len(losses), board.eta) - 1, 0)]
    return {len(before): own < inf and own <= bar}


def _better_than_median(board: Board) -> Verdicts:
    *others, own = board.shown
    if own[-1] == inf or len(others) < OTHERS:
        return {len(others): own[-1] < inf}
    return {len(others): min(own) <= median(fmean(each) for each in others)}


RULES: Final[Mapping[EndingRule, Callable[[Board], Verdicts]]] = {
    EndingRule.HALVING: _when_all_came,
    EndingRule.HYPERBAND: _when_all_came,
    EndingRule.ASHA: _promoted,
    EndingRule.STOPPING: _no_worse_than_before,
    EndingRule.PRUNING: _among_the_best,
    EndingRule.MEDIAN: _better_than_median,
}


def _best(losses: Sequence[float], count: int) -> Iterable[int]:
    """Places of the lowest losses, of equal ones the first to come; never of a trial that failed.

    A trial that failed has an infinite loss.
    """
    order = sorted(range(len(losses)), key=lambda place: losses[place])
    return (place for place in order[:count] if losses[place] < inf)


def _quantile(losses: Sequence[float], share: float) -> float:
    """What a share of some losses stays below or reaches, interpolated."""
    ordered = sorted(losses)
    spot = share * (len(ordered) - 1)
    below = floor(spot)
    above = min(below + 1, len(ordered) - 1)
    if spot == below or ordered[above] == inf:
        return ordered[below]
    return ordered[below] + (spot - below) * (ordered[above] - ordered[below])


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepKind:
    """Sweeps that are alike.

    Attributes:
        sweep: such a one.
        share: of the sweeps that are submitted, above 0; shares are scaled to 1.
        vary: standard deviation of the time that a trial takes over its mean.
    """

    sweep: Sweep
    share: float = 1.0
    vary: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.share < inf:
            raise InputError(f"SweepKind.share must be above 0, got {self.share}.")
        if not 0 <= self.vary < inf:
            raise InputError(f"SweepKind.vary must be at least 0, got {self.vary}.")
