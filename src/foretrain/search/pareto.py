"""Pareto front: what no other plan beats in every respect."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column, Rows


def front(time: Column, memory: Column) -> Rows:
    """Rows that no other row beats in both, fastest first; of equals the first row stays. [row]

    With the device count given, cost and energy are multiples of time and add nothing.
    """
    by_time = np.lexsort((np.arange(len(time)), memory, time))
    lowest = np.minimum.accumulate(memory[by_time])
    better: NDArray[np.bool_] = np.ones(len(time), bool)
    better[1:] = memory[by_time][1:] < lowest[:-1]
    return by_time[better]
