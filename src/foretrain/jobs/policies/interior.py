"""Interior points: of many divisions of time with the same objective, the one in their middle.

A linear program of a division has many answers, and the solver decides which one is dealt out. An
interior-point method ends near the analytic centre of them all: where the product of all slacks is
largest, those that every answer leaves at 0 aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HALVINGS = 60
"""Steps of bisection between prices of 2^-60 and 2^60."""

ITERATIONS = 50
"""Steps of the method at most; it needs some fifteen."""

GAP = 1e-5
"""Relative gap to the optimum at which the centre is looked for."""

CENTRINGS = 4
"""Steps towards the centre, each of which squares the distance to it."""

REACH = 0.99
"""Share of the way to the nearest bound that a step goes. Source: wright1997, chapter 10."""


def centred(least: Sequence[float], wide: Sequence[int], *, devices: float) -> list[float]:
    """Shares of time of jobs, each between its least and 1, with the largest product of slacks.

    Args:
        least: share of each job, from 0 to 1.
        wide: devices of each job.
        devices: that all share.
    """
    import numpy as np

    low, each = np.array(least), np.array(wide, dtype=np.float64)
    room, left = 1.0 - low, devices - float(np.dot(low, each))

    def more(price: float) -> Floats:
        """Above the least: 1/more - 1/(room - more) = price x devices."""
        paid = price * each
        slope = 2.0 + paid * room
        return 2.0 * room / (slope + np.sqrt(slope * slope - 4.0 * paid * room))

    if left <= 0.0:
        return list(least)
    # Free devices have a slack too: they cost its inverse.
    cheap, dear = -float(HALVINGS), float(HALVINGS)
    for _ in range(HALVINGS):
        middle = (cheap + dear) / 2.0
        price = 2.0**middle
        if left - float(more(price) @ each) > 1.0 / price:
            dear = middle
        else:
            cheap = middle
    return [float(share) for share in low + more(2.0**dear)]


class DivisionBounds(NamedTuple):
    """Something of each bound of a division: slacks, multipliers, or steps of either.

    Attributes:
        even: least throughput, of each job.
        above: shares above 0, of each job (rows) and kind.
        times: time of each job.
        kinds: devices of each kind.
    """

    even: Floats
    above: Floats
    times: Floats
    kinds: Floats


class DivisionMove(NamedTuple):
    """A step of shares and of the least throughput, and what it does to slacks and multipliers."""

    shares: Floats
    level: float
    slacks: DivisionBounds
    multipliers: DivisionBounds


class MaxMinProgram(NamedTuple):
    """Max-min fairness as a linear program.

    Attributes:
        gain: throughput of each job (rows) with all of its time on a kind (columns); 0 where it
            cannot run.
        devices: of each job.
        capacity: devices of each kind.
    """

    gain: Floats
    devices: Floats
    capacity: Floats

    def slacks(self, shares: Floats, level: float) -> DivisionBounds:
        """Of a division and its least throughput; 1 for a share that cannot be."""
        return DivisionBounds(
            (self.gain * shares).sum(axis=1) - level,
            shares + (self.gain <= 0.0),
            1.0 - shares.sum(axis=1),
            self.capacity - self.devices @ shares,
        )


def most_even(gain: Floats, devices: Floats, capacity: Floats) -> Floats:
    """Division with the largest least throughput, at the analytic centre of all such.

    Args:
        gain: throughput of each job (rows) with all of its time on a kind (columns); 0 where it
            cannot run.
        devices: of each job.
        capacity: devices of each kind.

    Returns:
        Shares of the jobs' time, as `gain`; a job's add up to 1 at most.

    Source: wright1997, chapter 10: Mehrotra's predictor and corrector, from a feasible division.
    """
    import numpy as np

    can = gain > 0.0
    # Of a kind that nobody can use, none may be there; its bound must not be 0.
    program = MaxMinProgram(gain, devices, np.where(can.any(axis=0), capacity, 1.0))
    shares, level, dual = _begin(program)
    bounds = 2 * len(gain) + int(can.sum()) + len(capacity)
    centrings = 0
    for _ in range(ITERATIONS):
        if centrings == CENTRINGS:
            break
        slack = program.slacks(shares, level)
        gap = sum(float((one * other).sum()) for one, other in zip(slack, dual, strict=True))
        newton, least = NewtonSystem(program, slack, dual), GAP * level / bounds
        if gap < 2.0 * GAP * level:
            centrings += 1
            move = newton.move(DivisionBounds(*[np.full_like(each, least) for each in slack]))
        else:
            first = newton.move(DivisionBounds(*[np.zeros_like(each) for each in slack]))
            aim = max(least, gap / bounds * (1.0 - _reach(slack, dual, first)) ** 3)
            both = zip(first.slacks, first.multipliers, strict=True)
            move = newton.move(DivisionBounds(*[aim - one * other for one, other in both]))
        along = min(1.0, REACH * _reach(slack, dual, move))
        shares = shares + along * move.shares
        level += along * move.level
        dual = DivisionBounds(*[a + along * b for a, b in zip(dual, move.multipliers, strict=True)])
    return shares


def _begin(program: MaxMinProgram) -> tuple[Floats, float, DivisionBounds]:
    """A division well inside of its bounds, with its least throughput and multipliers."""
    import numpy as np

    gain, devices, capacity = program
    can = gain > 0.0
    shares = np.where(can, 0.5 / gain.shape[1], 0.0)
    shares = shares * np.minimum(1.0, 0.5 * capacity / np.maximum(devices @ shares, capacity / 2))
    level = 0.5 * float((gain * shares).sum(axis=1).min())
    slack = program.slacks(shares, level)
    even = 1.0 / slack.even / (1.0 / slack.even).sum()
    product = float((even * slack.even).mean())
    dual = DivisionBounds(
        even, product / slack.above * can, product / slack.times, product / slack.kinds
    )
    return shares, level, dual


class NewtonSystem:
    """Newton's steps from a point, to products of slack and multiplier that are named.

    What couples jobs are the devices of each kind and the least throughput: all else is worked out
    job by job, so that a step costs as many operations as there are jobs.
    """

    def __init__(self, program: MaxMinProgram, slack: DivisionBounds, dual: DivisionBounds) -> None:
        import numpy as np

        gain, devices = program.gain, program.devices
        self._gain, self._devices = gain, devices
        self._slack, self._dual, self._can = slack, dual, gain > 0.0
        off = gain * dual.even[:, None] + dual.above - dual.times[:, None]
        self._off = np.where(self._can, off - devices[:, None] * dual.kinds, 0.0)
        self._flat = np.where(self._can, slack.above / np.where(self._can, dual.above, 1.0), 0.0)
        self._stiff = slack.times / dual.times + self._flat.sum(axis=1)
        self._per_gain = self._alone(gain)
        self._weight = 1.0 / (slack.even / dual.even + (gain * self._per_gain).sum(axis=1))
        self._weighed = (devices * self._weight)[:, None] * self._per_gain
        self._system = self._coupled()

    def _alone(self, right: Floats) -> Floats:
        """Shares of each job by itself that answer to a right-hand side."""
        part = self._flat * right
        lost: Floats = part.sum(axis=1) / self._stiff
        return part - self._flat * lost[:, None]

    def _coupled(self) -> Floats:
        """Matrix of the prices of kinds and of the least throughput."""
        import numpy as np

        kinds, squared = len(self._slack.kinds), self._devices * self._devices
        system = np.empty((kinds + 1, kinds + 1))
        apart = self._flat.T @ ((squared / self._stiff)[:, None] * self._flat)
        system[:-1, :-1] = self._weighed.T @ (self._devices[:, None] * self._per_gain) + apart
        own = squared @ self._flat + self._slack.kinds / self._dual.kinds
        system[range(kinds), range(kinds)] -= own
        system[:-1, -1] = system[-1, :-1] = self._weighed.sum(axis=0)
        system[-1, -1] = self._weight.sum()
        return system

    def move(self, aim: DivisionBounds) -> DivisionMove:
        """The step.

        Args:
            aim: product of slack and multiplier of each bound.
        """
        import numpy as np

        gain, devices, slack, dual = self._gain, self._devices, self._slack, self._dual
        # What multipliers would do if no slack moved.
        above = np.where(self._can, aim.above / slack.above - dual.above, 0.0)
        times = aim.times / slack.times - dual.times
        own = self._alone(self._off + above - times[:, None])
        short = aim.even / dual.even - slack.even - (gain * own).sum(axis=1)
        lacks = slack.kinds - aim.kinds / dual.kinds - devices @ own - self._weighed.T @ short
        rest = 1.0 - dual.even.sum() - self._weight @ short
        found = np.linalg.solve(self._system, np.append(lacks, rest))
        prices, level = found[:-1], float(found[-1])
        even = self._weight * (short + level + devices * (self._per_gain @ prices))
        shares = own + self._per_gain * even[:, None] - self._alone(devices[:, None] * prices)
        moved = DivisionBounds(
            (gain * shares).sum(axis=1) - level, shares, -shares.sum(axis=1), -(devices @ shares)
        )
        above = np.where(self._can, above - dual.above / slack.above * shares, 0.0)
        times = times - dual.times / slack.times * moved.times
        return DivisionMove(shares, level, moved, DivisionBounds(even, above, times, prices))


def _reach(slack: DivisionBounds, dual: DivisionBounds, move: DivisionMove) -> float:
    """Share of a step, at most 1, after which the first slack or multiplier is 0."""
    import numpy as np

    quickest = 0.0
    have, moved = (*slack, *dual), (*move.slacks, *move.multipliers)
    for now, by in zip(have, moved, strict=True):
        # A share that a job cannot have has no multiplier, and neither moves.
        quickest = max(quickest, float(np.max(-by / np.where(now > 0.0, now, 1.0))))
    return min(1.0, 1.0 / quickest) if quickest > 0.0 else 1.0
