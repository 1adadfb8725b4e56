"""Pareto front: what no other plan beats in every respect."""

from __future__ import annotations

import numpy as np

from foretrain.plan.table import Column, Rows


def front(time: Column, memory: Column) -> Rows:
    """Rows that no other row beats in both, fastest first; of equals the first row stays. [row]

    The fastest row is on the front; what remains once all that need no less memory are gone has
    a front of its own. With the device count given, cost and energy are multiples of time.
    """
    rows, found = _without_most(time, memory), []
    time, memory = time[rows], memory[rows]
    while len(rows):
        fastest = np.flatnonzero(time == time.min())
        best = fastest[np.argmin(memory[fastest])]
        found.append(rows[best])
        leaner = np.flatnonzero(memory < memory[best])
        rows, time, memory = rows[leaner], time[leaner], memory[leaner]
    return np.array(found, np.intp)


def _without_most(time: Column, memory: Column) -> Rows:
    """Every row but those that the one with the least product of both beats or equals. [row]"""
    if not len(time):
        return np.arange(0)
    knee = np.argmin(time * memory)
    stays = (time < time[knee]) | (memory < memory[knee])
    stays[knee] = True
    return np.flatnonzero(stays)
