"""The balanced cut: a row of layers in parts of which the slowest is as quick as can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError

ROUNDING = 1e-12
"""Parts that differ by less, relatively, take the same time: sums of layers round differently."""


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
    if not 1 <= parts <= len(seconds):
        raise InputError(
            f"A cut into {parts} parts needs at least 1 part and as many layers, got "
            f"{len(seconds)} layers. Choose fewer stages or chunks."
        )
    times = _times(seconds, first=first, last=last)
    slowest = _least(times, parts=parts, join=np.maximum)[parts][0]
    ends = np.arange(len(times))
    layers = (ends - ends[:, np.newaxis]).astype(float)
    squares = np.where(times <= slowest * (1 + ROUNDING), layers * layers, np.inf)
    return _lengths(squares, _least(squares, parts=parts, join=np.add))


def _times(seconds: Sequence[float], *, first: float, last: float) -> NDArray[np.float64]:
    """Seconds of the part from one boundary to another; infinite where it has no layer.

    The first layer is always in the first part, the last one in the last.
    """
    own = np.array(seconds, np.float64)
    own[0] += first
    own[-1] += last
    until = np.concatenate([[0.0], np.cumsum(own)])
    times: NDArray[np.float64] = until - until[:, np.newaxis]
    times[np.tril_indices(len(until))] = np.inf
    return times


def _least(costs: NDArray[np.float64], *, parts: int, join: np.ufunc) -> list[NDArray[np.float64]]:
    """Least cost of cutting the layers after each boundary into 0, 1, 2, ... parts.

    Costs of parts are joined by their maximum or their sum. [boundary] per number of parts
    """
    end = np.full(len(costs), np.inf)
    end[-1] = 0.0
    least = [end]
    for _ in range(parts):
        least.append(join(costs, least[-1]).min(axis=1))
    return least


def _lengths(costs: NDArray[np.float64], least: list[NDArray[np.float64]]) -> tuple[int, ...]:
    """Layers of each part: of the cuts of least sum, each part as short as can be."""
    lengths, start = [], 0
    for rest in reversed(least[:-1]):
        end = int(np.argmin(costs[start] + rest))
        lengths.append(end - start)
        start = end
    return tuple(lengths)
