"""Trade-offs of two: which rows of a table no other row beats."""

from __future__ import annotations

import numpy as np

from foretrain.plan.table import Column, Rows


def unbeaten(time: Column, memory: Column) -> Rows:
    """Rows that no other row beats in both, fastest first; equals are all there. [row]

    A row beats another one if it is nowhere worse and somewhere better.
    """
    rows = _without_most(time, memory)
    order = rows[np.lexsort((memory[rows], time[rows]))]
    before = np.concatenate([[np.inf], np.minimum.accumulate(memory[order])[:-1]])
    first = memory[order] < before
    # What equals the last row that was better is as good.
    best = order[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    stays: Rows = order[(time[order] == time[best]) & (memory[order] == memory[best])]
    return stays


def _without_most(time: Column, memory: Column) -> Rows:
    """Every row but those that the one with the least product of both beats. [row]"""
    if not len(time):
        return np.arange(0)
    knee = np.argmin(time * memory)
    stays = (time < time[knee]) | (memory < memory[knee])
    stays |= (time == time[knee]) & (memory == memory[knee])
    return np.flatnonzero(stays)
