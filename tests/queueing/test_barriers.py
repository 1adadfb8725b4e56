"""Barriers: laws of order statistics, cases by hand, integrals of others, and simulation."""

from itertools import pairwise, product
from math import inf, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gamma
from tests.queueing.laws import EVERY, SMOOTH, distributions

from foretrain.distributions import (
    Constant,
    Exponential,
    LogNormal,
    Normal,
    Pareto,
    Samples,
    Weibull,
)
from foretrain.errors import InputError
from foretrain.queueing.fork_join import barrier, best_backup, order_statistic
from foretrain.statistics import largest_normal

counts = st.integers(1, 200)


@given(law=distributions)
def test_one_worker_takes_its_mean_and_has_its_variance(law):
    alone = barrier(law, workers=1)
    assert alone.mean == pytest.approx(law.mean, rel=1e-9)
    assert alone.variance == pytest.approx(law.variance, rel=1e-6, abs=1e-12 * law.mean**2)


@given(law=distributions, count=counts)
def test_more_workers_take_longer_and_backup_workers_shorten_the_wait(law, count):
    whole = barrier(law, workers=count).mean
    assert barrier(law, workers=count + 1).mean >= whole * (1 - 1e-9)
    assert barrier(law, workers=count + 1, backup=1).mean <= whole * (1 + 1e-9)


@given(law=distributions, count=st.integers(1, 40))
def test_order_statistics_add_up_to_all_values(law, count):
    """The mean of all ranks is the mean; what is written as a normal law counts below 0 too."""
    means = [order_statistic(law, rank=rank, count=count).mean for rank in range(1, count + 1)]
    assert np.mean(means) == pytest.approx(law.mean, rel=1e-8)


@pytest.mark.parametrize("law", SMOOTH, ids=str)
@pytest.mark.parametrize(("backup", "workers"), [(0, 2), (0, 64), (4, 64), (9, 10)])
def test_mean_is_the_integral_of_the_chance_that_not_enough_have_come(law, backup, workers):
    """The binomial tail, summed as it is written; below 0 a normal law has but 3e-7."""
    ranks = np.arange(workers - backup, workers + 1)
    ways = np.array([gamma(workers + 1) / gamma(r + 1) / gamma(workers - r + 1) for r in ranks])

    def missing(time):
        share = float(law.below(np.array([time]))[0])
        return 1.0 - float(ways @ (share**ranks * (1.0 - share) ** (workers - ranks)))

    edges = np.concatenate([np.linspace(0.0, 10.0, 41), np.geomspace(11.0, 1e5, 20)])
    whole = sum(quad(missing, a, b)[0] for a, b in pairwise(edges))
    found = barrier(law, workers=workers, backup=backup).mean
    assert found == pytest.approx(whole, rel=1e-5)


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_mean_and_variance_are_those_of_draws(law):
    random, rounds = Random(2), 8_000
    drawn = np.sort([[law.draw(random) for _ in range(8)] for _ in range(rounds)], axis=1)[:, 5]
    found = barrier(law, workers=8, backup=2)
    assert abs(found.mean - drawn.mean()) <= 4.0 * sqrt(found.variance / rounds) + 1e-12
    assert found.variance == pytest.approx(drawn.var(), rel=0.1, abs=1e-12)


def test_backup_workers_of_exponential_times_save_the_last_gaps():
    """10 workers, 2 backups, rate 1: 1/10 + ... + 1/3, and the same of squares."""
    found = barrier(Exponential(mean=1.0), workers=10, backup=2)
    gaps = [1 / left for left in range(3, 11)]
    assert found == pytest.approx((sum(gaps), sum(gap * gap for gap in gaps)), rel=1e-12)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_samples_are_counted_case_by_case(rank):
    values = (1.0, 2.0, 2.0, 5.0)
    cases = [sorted(case)[rank - 1] for case in product(values, repeat=3)]
    found = order_statistic(Samples(values), rank=rank, count=3)
    assert found == pytest.approx((np.mean(cases), np.var(cases)), rel=1e-12)


@given(shape=st.floats(0.3, 20.0), count=st.integers(1, 100_000))
def test_the_quickest_of_weibull_times_is_a_weibull_time(shape, count):
    found = order_statistic(Weibull(mean=1.0, shape=shape), rank=1, count=count)
    assert found.mean == pytest.approx(count ** (-1.0 / shape), rel=1e-9)


@given(shape=st.floats(2.1, 20.0), count=st.integers(1, 100_000))
def test_the_quickest_of_pareto_times_is_a_pareto_time(shape, count):
    law = Pareto(mean=1.0, shape=shape)
    quick = shape * count
    least = Pareto(mean=law.least * quick / (quick - 1.0), shape=quick)
    found = order_statistic(law, rank=1, count=count)
    assert found == pytest.approx((least.mean, least.variance), rel=1e-9)


def test_the_slowest_of_pareto_times_grows_as_a_power_of_their_number():
    few, many = (barrier(Pareto(mean=1.0, shape=2.5), workers=n).mean for n in (1_000, 32_000))
    assert many / few == pytest.approx(32 ** (1 / 2.5), rel=0.01)


def test_a_backup_worker_tames_a_tail_without_variance():
    law = Pareto(mean=1.0, shape=1.5)
    assert barrier(law, workers=10).variance == inf
    assert barrier(law, workers=10, backup=1).variance < inf


@pytest.mark.parametrize("count", [2, 16, 1024])
def test_normal_times_and_light_lognormal_ones_are_the_normal_formula(count):
    expected = largest_normal(count, mean=1.0, deviation=1e-3)
    normal = barrier(Normal(mean=1.0, deviation=1e-3), workers=count).mean
    light = barrier(LogNormal(mean=1.0, deviation=1e-3), workers=count).mean
    assert normal == pytest.approx(expected, rel=1e-12)
    assert light == pytest.approx(expected, rel=2e-5)


def test_nobody_needs_backups_where_all_are_as_quick_and_many_do_where_tails_are_heavy():
    assert best_backup(Constant(1.0), workers=20) == 0
    heavy = best_backup(Pareto(mean=1.0, shape=1.2), workers=20)
    light = best_backup(LogNormal(mean=1.0, deviation=0.2), workers=20)
    assert heavy > light
    costly = best_backup(Pareto(mean=1.0, shape=1.2), workers=20, rest=100.0)
    assert costly < heavy


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: barrier(Constant(1.0), workers=0), "below the 0 workers"),
        (lambda: barrier(Constant(1.0), workers=4, backup=4), "below the 4 workers, got 4"),
        (lambda: barrier(Constant(1.0), workers=4, backup=-1), "got -1"),
        (lambda: order_statistic(Constant(1.0), rank=3, count=2), "rank must lie from 1 to 2"),
        (lambda: order_statistic(Samples((1.0,)), rank=0, count=2), "got 0"),
    ],
)
def test_a_barrier_of_nobody_is_refused(wrong, told):
    with pytest.raises(InputError, match=told):
        wrong()
