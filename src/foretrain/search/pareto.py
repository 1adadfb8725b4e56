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
        fastest = np.flatnonzero(time == time.min())
        best = fastest[np.argmin(memory[fastest])]
        found.append(rows[best])
        leaner = np.flatnonzero(memory < memory[best])
        rows, time, memory = rows[leaner], time[leaner], memory[leaner]
    return np.array(found, np.intp)
