"""Cutting: the segments of every layer with which a replica trains samples quickest.

Three things add up over layers: the seconds of a sample, the bytes that it moves over a link, and
the bytes of memory. What a layer adds hangs on its own segments and on those of the layer before
alone. So of all beginnings of cuts that end in the same number of segments those can be left out
that another one does not exceed in any of the three (Pareto), those whose memory is more than there
is, and those that cannot become quicker than a cut that is known.

What a beginning can become is bounded by weighing: for any weights of time and traffic that add up
to 1, their weighted sum is no more than the larger of the two, and what is weighed in for memory is
no more than 0 where the cut fits. The least of such a sum over all ends is found layer by layer.

Source: handler1980, for weighing and leaving out under one limit on what adds up along a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from foretrain.queueing.segments import Machine, SegmentCosts

Floats = NDArray[np.float64]
Counts = NDArray[np.intp]

SAMPLE, TRAFFIC, MEMORY = range(3)
"""What adds up over layers: seconds of a sample, bytes that it moves, bytes of a machine."""

TIMES = (0.0, 0.25, 0.5, 0.75, 1.0)
MEMORIES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Weights of time over traffic, and of memory over the least pace: any give a bound, so there are
few of them. With more, bounds are tighter and take longer."""

NEVER = 1e60
"""What more segments than neurons add to each sum: more than any limit, and a number, so that it
may be weighed by 0."""

SLACK = 1.0 + 1e-12
"""By how much more than a known cut takes a bound may be: sums round differently by their order."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cutting:
    """How a replica of some machines and threads may be cut.

    Attributes:
        machines: as many as some layer has segments.
        threads: of each machine.
        steps: what a layer adds, by segments of the layer before and its own; `NEVER` where it has
            fewer neurons. [sum, layer, before, segments]
        limits: samples that a machine has under way, bytes per second of its link, bytes of its
            memory. [sum]
        beside: seconds per sample in which links move weights.
        weights: of each sum over its limit. [bound, sum]
        ahead: the least weighted sum of all later layers. [bound, layer, segments]
        memory_ahead: the least memory of all later layers. [layer, segments]
    """

    machines: int
    threads: int
    steps: Floats
    limits: Floats
    beside: float
    weights: Floats
    ahead: Floats
    memory_ahead: Floats

    @property
    def memory(self) -> float:
        """Bytes of memory below which no cut is."""
        return float((self.steps[MEMORY, 0, 0] + self.memory_ahead[0]).min())

    @property
    def pace(self) -> float:
        """Seconds between two samples below which no cut that fits is."""
        return float(self.bound(self.steps[:, 0, 0].T, np.arange(self.machines), layer=0).min())

    def bound(self, sums: Floats, last: Counts, *, layer: int) -> Floats:
        """Seconds between two samples below which nothing is that goes on from a beginning.

        Args:
            sums: up to a layer. [beginning, sum]
            last: segments of that layer, less 1. [beginning]
            layer: its place.
        """
        weighed = (sums / self.limits) @ self.weights.T + self.ahead[:, layer, last].T
        fixed = self.weights[:, TRAFFIC] * self.beside - self.weights[:, MEMORY]
        return np.asarray((weighed + fixed).max(axis=1))

    def paces(self, sums: Floats) -> Floats:
        """Seconds between two samples of whole cuts. [cut]

        Args:
            sums: over all layers. [cut, sum]
        """
        used = sums / self.limits
        return np.maximum(used[:, SAMPLE], used[:, TRAFFIC] + self.beside)


def cutting_of(
    costs: SegmentCosts, machine: Machine, *, machines: int, threads: int, beside: float
) -> Cutting:
    """How a replica of some machines and threads may be cut.

    Args:
        costs: tables of at least as many segments as machines.
        machine: all are alike.
        machines: of the replica.
        threads: of each machine.
        beside: seconds per sample in which links move weights.
    """
    here = (slice(None), slice(machines), slice(machines))
    compute = machine.slowdown[threads - 1] * costs.compute[here]
    steps = np.stack(
        [
            compute + costs.messages[here],
            costs.traffic[here],
            costs.weights[here] + threads * costs.context[here],
        ]
    )
    steps = np.where(np.isinf(compute), NEVER, steps)
    limits = np.array([float(threads), machine.link, machine.memory])
    alone = _ahead(steps)
    least = (steps[:, 0, 0] + alone[:, 0]).min(axis=1) / limits
    unit = max(least[SAMPLE], least[TRAFFIC] + beside)
    weights = np.array(
        [(time, 1.0 - time, memory * unit) for time, memory in product(TIMES, MEMORIES)]
    )
    return Cutting(
        machines=machines,
        threads=threads,
        steps=steps,
        limits=limits,
        beside=beside,
        weights=weights,
        ahead=_ahead(np.tensordot(weights / limits, steps, axes=1)),
        memory_ahead=alone[MEMORY],
    )


def _ahead(steps: Floats) -> Floats:
    """The least that all later layers add. [sum, layer, segments]"""
    sums, layers, _, machines = steps.shape
    ahead = np.zeros((sums, layers, machines))
    for layer in reversed(range(layers - 1)):
        ahead[:, layer] = (steps[:, layer + 1] + ahead[:, layer + 1, np.newaxis]).min(axis=2)
    return ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickestCut:
    """What a search for a cut found.

    Attributes:
        segments: of each layer; none where no cut fits or is quick enough.
        priced: beginnings of cuts that were priced.
    """

    segments: tuple[int, ...]
    priced: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Beginnings:
    """Cuts of the first layers. [beginning]

    Attributes:
        segments: of each layer, less 1. [beginning, layer]
        sums: over these layers. [beginning, sum]
        filled: whether some layer has a segment on every machine.
    """

    segments: Counts
    sums: Floats
    filled: NDArray[np.bool_]

    def take(self, rows: Counts | NDArray[np.bool_]) -> _Beginnings:
        """Some of them."""
        return _Beginnings(
            segments=self.segments[rows], sums=self.sums[rows], filled=self.filled[rows]
        )


def quickest_cut(cutting: Cutting, *, most: float) -> QuickestCut:
    """The cut of a replica that ends most samples per second, on all of its machines.

    Args:
        cutting: what cuts cost.
        most: seconds between two samples beyond which nobody cares.
    """
    known, memory = min(most, _known(cutting)), cutting.limits[MEMORY]
    kept = _first(cutting)
    priced = 0
    for layer in range(cutting.steps.shape[1]):
        if layer:
            kept = _grown(kept, cutting, layer=layer)
        priced += len(kept.sums)
        last = kept.segments[:, -1]
        fits = kept.sums[:, MEMORY] + cutting.memory_ahead[layer, last] <= SLACK * memory
        kept = kept.take(fits)
        bound = cutting.bound(kept.sums, kept.segments[:, -1], layer=layer)
        kept = _undominated(kept.take(bound <= SLACK * known))
    whole = kept.take(kept.filled & (kept.sums[:, MEMORY] <= memory))
    if not len(whole.sums):
        return QuickestCut(segments=(), priced=priced)
    first = np.lexsort((*whole.sums.T, cutting.paces(whole.sums)))[0]
    return QuickestCut(segments=tuple(int(n) + 1 for n in whole.segments[first]), priced=priced)


def _known(cutting: Cutting) -> float:
    """The pace of the best cut on all machines that weights lead to; infinite if none fits."""
    _, layers, _, machines = cutting.steps.shape
    weights = cutting.weights / cutting.limits
    place = np.zeros(len(weights), np.intp)
    cuts, sums = [], np.zeros_like(weights)
    for layer in range(layers):
        steps = cutting.steps[:, layer, place]
        weighed = np.einsum("ws,swn->wn", weights, steps) + cutting.ahead[:, layer]
        place = weighed.argmin(axis=1)
        sums += steps[:, np.arange(len(place)), place].T
        cuts.append(place)
    filled = np.max(cuts, axis=0) == machines - 1
    fits = filled & (sums[:, MEMORY] <= cutting.limits[MEMORY])
    return float(np.min(cutting.paces(sums[fits]), initial=np.inf))


def _first(cutting: Cutting) -> _Beginnings:
    """Every number of segments of the first layer."""
    own = np.flatnonzero(cutting.steps[SAMPLE, 0, 0] < NEVER)
    return _Beginnings(
        segments=own[:, np.newaxis],
        sums=cutting.steps[:, 0, 0, own].T,
        filled=own == cutting.machines - 1,
    )


def _grown(kept: _Beginnings, cutting: Cutting, *, layer: int) -> _Beginnings:
    """Every beginning with every number of segments of the layer after it."""
    own = np.flatnonzero(cutting.steps[SAMPLE, layer, 0] < NEVER)
    rows = np.repeat(np.arange(len(kept.sums)), len(own))
    last = np.tile(own, len(kept.sums))
    return _Beginnings(
        segments=np.column_stack([kept.segments[rows], last]),
        sums=kept.sums[rows] + cutting.steps[:, layer, kept.segments[rows, -1], last].T,
        filled=kept.filled[rows] | (last == cutting.machines - 1),
    )


def _undominated(cuts: _Beginnings) -> _Beginnings:
    """Those that no other is as good as in every sum, of those with the same last segments."""
    columns = np.column_stack([cuts.sums, ~cuts.filled])
    last = cuts.segments[:, -1]
    kept = [np.zeros(0, np.intp)]
    for segments in np.unique(last):
        rows = np.flatnonzero(last == segments)
        # In this order, whoever beats a row stands before it.
        rows = rows[np.lexsort(columns[rows].T[::-1])]
        mine = columns[rows]
        beaten = (mine[np.newaxis] <= mine[:, np.newaxis]).all(axis=2)
        kept.append(rows[~np.tril(beaten, k=-1).any(axis=1)])
    return cuts.take(np.concatenate(kept))
