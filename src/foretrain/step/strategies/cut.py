"""The balanced cut: a row of layers in parts of which the slowest is as quick as can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError

Costs = NDArray[np.float64]
ROUNDING = 1e-12
"""Parts that differ by less, relatively, take the same time: sums of layers round differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRow:
    """Layers in the model's order, as one kind of device computes them.

    Attributes:
        seconds: time of each layer that may begin a part.
        first: seconds of what stands before them and stays with the first part.
        last: seconds of what stands after them and stays with the last part.
    """

    seconds: Sequence[float]
    first: float
    last: float


def balanced(seconds: Sequence[float], *, first: float, last: float, parts: int) -> tuple[int, ...]:
    """Which cut makes the slowest part as quick as can be?

    Of several such cuts it is the one whose parts differ least in layers (least sum of squares),
    for layers are memory; of several of those, the one whose first differing part has fewer layers,
    for early stages hold most micro-batches.

    Args:
        seconds: time of each layer that may begin a part, in the model's order.
        first: seconds of what stands before them and stays with the first part.
        last: seconds of what stands after them and stays with the last part.
        parts: stages, or chunks of all stages where they are interleaved.

    Returns:
        Layers of each part, at least one.

    Raises:
        InputError: fewer layers than parts, or no part.

    Exact for parts. With interleaving, where a stage takes the sum of its chunks, the slowest chunk
    is as quick as can be, which the slowest stage need not be.

    Source: dynamic programming over the last parts of the row; the recurrence is derived here.
    """
    return balanced_over([LayerRow(seconds=seconds, first=first, last=last)], [0] * parts)


def balanced_over(kinds: Sequence[LayerRow], parts: Sequence[int]) -> tuple[int, ...]:
    """Which cut makes the slowest part as quick as can be, where parts run on different devices?

    Args:
        kinds: the same layers, as each kind of device computes them.
        parts: the kind of each part, as its position in `kinds`.

    Returns:
        Layers of each part, at least one; of several such cuts the one that `balanced` takes.

    Raises:
        InputError: fewer layers than parts, or no part.

    Source: the same.
    """
    layers = len(kinds[0].seconds)
    if not 1 <= len(parts) <= layers:
        raise InputError(
            f"A cut into {len(parts)} parts needs at least 1 part and as many layers, got "
            f"{layers} layers. Choose fewer stages or chunks."
        )
    times = [_times(row.seconds, first=row.first, last=row.last) for row in kinds]
    slowest = _least([times[kind] for kind in parts], join=np.maximum)[-1][0]
    ends = np.arange(layers + 1)
    many = (ends - ends[:, np.newaxis]).astype(float)
    squares = [np.where(t <= slowest * (1 + ROUNDING), many * many, np.inf) for t in times]
    costs = [squares[kind] for kind in parts]
    # Layers of each part: of the cuts of least sum, each part as short as can be.
    least = _least(costs, join=np.add)
    lengths, start = [], 0
    for part, rest in zip(costs, reversed(least[:-1]), strict=True):
        end = int(np.argmin(part[start] + rest))
        lengths.append(end - start)
        start = end
    return tuple(lengths)


def _times(seconds: Sequence[float], *, first: float, last: float) -> Costs:
    """Seconds of the part from one boundary to another; infinite where it has no layer.

    The first layer is always in the first part, the last one in the last.
    """
    own = np.array(seconds, np.float64)
    own[0] += first
    own[-1] += last
    until = np.concatenate([[0.0], np.cumsum(own)])
    times: Costs = until - until[:, np.newaxis]
    times[np.tril_indices(len(until))] = np.inf
    return times


def _least(costs: Sequence[Costs], *, join: np.ufunc) -> list[Costs]:
    """Least cost of cutting the layers after each boundary into the last 0, 1, 2, ... parts.

    Costs of parts are joined by their maximum or their sum. [boundary] per number of parts

    Args:
        costs: of each part from one boundary to another.
        join: of what several parts cost.
    """
    end = np.full(len(costs[0]), np.inf)
    end[-1] = 0.0
    least = [end]
    for part in reversed(costs):
        least.append(join(part, least[-1]).min(axis=1))
    return least
