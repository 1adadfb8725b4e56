"""Pareto front: what no other plan beats in every respect."""

from __future__ import annotations

import numpy as np

from foretrain.plan.table import Column, Rows


def front(time: Column, memory: Column) -> Rows:
    """Rows that no other row beats in both, fastest first; of equals the first row stays. [row]

    The fastest row is on the front; what remains once all that need no less memory are gone has
    a front of its own. With the device count given, cost and energy are multiples of time.
    """
    rows, found = np.arange(len(time)), []
    while len(rows):
        fastest = rows[time[rows] == time[rows].min()]
        best = fastest[np.argmin(memory[fastest])]
        found.append(best)
        rows = rows[memory[rows] < memory[best]]
    return np.array(found, np.intp)
