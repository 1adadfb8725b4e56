"""Barriers: how long until so many of several workers have come.

A synchronous step waits for the slowest worker, or, with backup workers, for all but the slowest
few. What it waits for is an order statistic of the workers' times.
"""

from __future__ import annotations

from math import inf

import numpy as np

from foretrain.distributions import (
    Constant,
    Distribution,
    Exponential,
    Floats,
    Pareto,
    Samples,
)
from foretrain.errors import InputError
from foretrain.statistics import OrderStatistic, exponential_order, left_at_each, order_weights


def barrier(compute: Distribution, *, workers: int, backup: int = 0) -> OrderStatistic:
    """Seconds until all workers have come but for the slowest few: mean and variance.

    Args:
        compute: seconds of one worker, independent of the others.
        workers: how many compute, at least 1.
        backup: of them, whom nobody waits for; less than all.

    Source: chen2016-backup, section 3, for what it is good for.
    """
    if not 0 <= backup < workers:
        raise InputError(
            f"backup must be at least 0 and below the {workers} workers, got {backup}."
        )
    return order_statistic(compute, rank=workers - backup, count=workers)


def best_backup(compute: Distribution, *, workers: int, rest: float = 0.0) -> int:
    """The number of backup workers with which most gradients are used per second.

    Args:
        compute: seconds of one worker, independent of the others.
        workers: how many compute, backup workers included, at least 1.
        rest: seconds of a step beside the barrier, the same whatever the number.
    """

    def used_per_second(backup: int) -> float:
        step = barrier(compute, workers=workers, backup=backup).mean + rest
        return (workers - backup) / step if step > 0 else inf

    return max(range(workers), key=used_per_second)


def order_statistic(of: Distribution, *, rank: int, count: int) -> OrderStatistic:
    """Mean and variance of the k-th smallest of independent values.

    Args:
        of: what each is drawn from. The part of a normal distribution below 0 counts as it is.
        rank: from 1, the smallest, to `count`, the largest.
        count: how many values, at least 1.

    Exact to rounding for constants, exponential and Pareto distributions and samples; the others
    are integrated over the order statistic of an exponential value, to some ten digits.

    Source: david2003, sections 2.1 and 3.1.
    """
    left = left_at_each(rank, count)
    match of:
        case Constant():
            return OrderStatistic(of.value, 0.0)
        case Exponential():
            mean, variance = exponential_order(rank, count)
            scale = of.mean - of.least
            return OrderStatistic(of.least + scale * mean, scale * scale * variance)
        case Pareto():
            return _of_pareto(of, left)
        case Samples():
            values = np.sort(of.values)
            weights = _chances(rank, count, samples=len(values))
        case _:
            hazards, weights = order_weights(rank, count)
            values = of.at_hazard(hazards)
    middle = float(weights @ values)
    return OrderStatistic(middle, float(weights @ (values - middle) ** 2))


def _of_pareto(of: Pareto, left: Floats) -> OrderStatistic:
    """Antilogarithms of exponential gaps multiply, so means are products over those left.

    Source: david2003, section 2.5.
    """
    shares = 1.0 / (of.shape * left)
    middle = of.least * float(np.exp(-np.log1p(-shares).sum()))
    if shares.max() >= 0.5:
        return OrderStatistic(middle, inf)
    spread = np.expm1(np.log1p(shares * shares / (1.0 - 2.0 * shares)).sum())
    return OrderStatistic(middle, middle * middle * float(spread))


def _chances(rank: int, count: int, *, samples: int) -> Floats:
    """Probability that the k-th smallest of values drawn is each of the sorted samples. [sample]"""
    from scipy.special import betainc

    return np.diff(betainc(rank, count - rank + 1.0, np.linspace(0.0, 1.0, samples + 1)))
