"""Distributions: moments by integration, draws by Kolmogorov's distance, and bad values."""

from itertools import pairwise
from math import inf, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from foretrain.distributions import (
    Constant,
    Exponential,
    LogNormal,
    Normal,
    Pareto,
    Samples,
    Weibull,
    stretched,
)
from foretrain.errors import InputError
from tests.queueing.laws import EVERY, SMOOTH, distributions

every = pytest.mark.parametrize("law", EVERY, ids=str)
smooth = pytest.mark.parametrize("law", SMOOTH, ids=str)


def integral(of, edges):
    return sum(quad(of, low, high, limit=200)[0] for low, high in pairwise(edges))


@smooth
def test_mean_and_variance_are_those_of_the_share_below(law):
    """E[X] is the integral of the share above; E[X^2] that of 2 x times it."""
    edges = np.concatenate([np.linspace(0.0, 3.0, 31), np.geomspace(4.0, 1e6, 30)])

    def above(time):
        return 1.0 - float(law.below(np.array([time]))[0])

    assert integral(above, edges) == pytest.approx(law.mean, rel=1e-6)
    square = integral(lambda time: 2.0 * time * above(time), edges)
    assert square - law.mean**2 == pytest.approx(law.variance, rel=1e-4)


@every
def test_draws_are_spread_as_the_share_below_says(law):
    """Of 4,000 draws the largest distance exceeds 1.95 / sqrt(4,000) once in a thousand seeds."""
    random = Random(11)
    drawn = np.sort([law.draw(random) for _ in range(4_000)])
    ranks = np.searchsorted(drawn, drawn, side="right") / len(drawn)
    assert np.abs(ranks - law.below(drawn)).max() < 1.95 / sqrt(len(drawn))


@every
def test_draws_have_the_mean_and_the_variance(law):
    random = Random(7)
    drawn = np.array([law.draw(random) for _ in range(40_000)])
    assert drawn.mean() == pytest.approx(law.mean, rel=0.02)
    assert drawn.var() == pytest.approx(law.variance, rel=0.15, abs=1e-12)


@given(law=distributions, times=st.lists(st.floats(0.0, 1e4), min_size=2, max_size=20))
def test_the_share_below_rises_from_nought_to_one(law, times):
    shares = law.below(np.sort(times))
    assert ((shares >= 0) & (shares <= 1)).all()
    assert (np.diff(shares) >= 0).all()
    assert law.below(np.array([1e30]))[0] == pytest.approx(1.0)


@smooth
def test_the_value_at_a_hazard_is_exceeded_with_its_probability(law):
    hazards = np.geomspace(1e-3, 20.0, 40)
    above = 1.0 - law.below(law.at_hazard(hazards))
    np.testing.assert_allclose(above, np.exp(-hazards), rtol=1e-6, atol=1e-15)


@every
def test_values_at_hazards_of_exponential_draws_are_draws(law):
    hazards = np.random.default_rng(5).exponential(1.0, 100_000)
    values = law.at_hazard(hazards)
    assert values.mean() == pytest.approx(law.mean, rel=0.01)
    assert values.var() == pytest.approx(law.variance, rel=0.05, abs=1e-12)


@given(law=distributions)
def test_values_rise_with_the_hazard(law):
    assert (np.diff(law.at_hazard(np.geomspace(1e-6, 50.0, 60))) >= 0).all()


@pytest.mark.parametrize(
    ("law", "theirs"),
    [
        (
            LogNormal(mean=2.0, deviation=1.0),
            stats.lognorm(sqrt(np.log(1.25)), scale=2 / sqrt(1.25)),
        ),
        (Weibull(mean=1.0, shape=1.0), stats.expon()),
        (Pareto(mean=1.5, shape=3.0), stats.pareto(3.0)),
        (Normal(mean=3.0, deviation=0.5), stats.norm(3.0, 0.5)),
    ],
    ids=["lognormal", "weibull", "pareto", "normal"],
)
def test_shares_and_moments_are_those_of_scipy(law, theirs):
    times = np.linspace(0.1, 9.0, 50)
    np.testing.assert_allclose(law.below(times), theirs.cdf(times), rtol=1e-10, atol=1e-15)
    assert (law.mean, law.variance) == pytest.approx((theirs.mean(), theirs.var()), rel=1e-10)


def test_a_tail_may_be_too_heavy_for_a_variance():
    assert Pareto(mean=1.0, shape=2.0).variance == inf
    assert Pareto(mean=1.0, shape=2.001).variance < inf


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: Constant(-1.0), r"Constant.value must be at least 0 s, got -1\.0"),
        (lambda: Constant(float("nan")), "got nan"),
        (lambda: Exponential(mean=1.0, least=1.0), "Exponential.mean must be above 1 s"),
        (lambda: Exponential(mean=0.0), "Exponential.mean must be above 0 s"),
        (lambda: Normal(mean=1.0, deviation=0.4), "at most a third of the mean"),
        (lambda: Normal(mean=-1.0, deviation=0.1), "Normal.mean must be above 0 s"),
        (lambda: LogNormal(mean=1.0, deviation=0.0), "LogNormal.deviation must be above 0 s"),
        (
            lambda: LogNormal(mean=1.0, deviation=1e7),
            "LogNormal.deviation must be at most 1,000,000",
        ),
        (lambda: LogNormal(mean=inf, deviation=1.0), "LogNormal.mean must be above 0 s, got inf"),
        (lambda: Weibull(mean=1.0, shape=0.0), "Weibull.shape must be above 0, got"),
        (lambda: Pareto(mean=1.0, shape=1.0), "with less there is no mean"),
        (lambda: Samples(()), "at least one value"),
        (lambda: Samples((1.0, -0.5)), r"Samples.values must be at least 0 s, got -0\.5"),
    ],
)
def test_what_cannot_be_a_distribution_is_named_with_what_is_allowed(wrong, told):
    with pytest.raises(InputError, match=told):
        wrong()


@every
def test_values_that_take_twice_as_long_have_twice_the_mean_and_deviation(law):
    twice = stretched(law, 2.0)
    assert twice.mean == pytest.approx(2 * law.mean)
    assert twice.variance == pytest.approx(4 * law.variance)
