"""heSRPT: its closed form, a search of all shares, and its limits."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.examples import few
from tests.jobs.runs import job, shared, trace

from foretrain.errors import InputError
from foretrain.jobs.policies.elastic import hesrpt, processor_sharing, shares, total_response
from foretrain.throughput import PowerLaw

works = st.lists(st.floats(0.1, 100.0), min_size=1, max_size=8)
exponents = st.floats(0.05, 0.9)


def simulated(works, exponent, devices, policy=None):
    curve = PowerLaw(exponent=exponent, most=devices)
    jobs = trace(job(place, work=work, curve=curve) for place, work in enumerate(works))
    return sum(shared(jobs, policy or hesrpt(exponent), devices).ended)


@few(60)
@given(works=works, exponent=exponents, devices=st.integers(1, 64))
def test_simulation_gives_the_closed_form(works, exponent, devices):
    expected = total_response(works, devices=devices, exponent=exponent)
    assert simulated(works, exponent, devices) == pytest.approx(expected, rel=1e-9)


@given(jobs=st.integers(1, 50), exponent=exponents)
def test_shares_are_all_devices_and_grow_as_jobs_get_smaller(jobs, exponent):
    given_out = shares(jobs, exponent=exponent)
    assert sum(given_out) == pytest.approx(1.0)
    assert given_out == sorted(given_out)


@few(40)
@given(works=works, exponent=exponents)
def test_an_equal_share_is_never_better(works, exponent):
    best = total_response(works, devices=4, exponent=exponent)
    equal = simulated(works, exponent, 4, processor_sharing)
    assert equal >= best * (1 - 1e-12)


def flow(parameters, order, exponent):
    """Sum of response times of jobs that end in an order, with shares that change at ends only.

    Between two ends constant shares are best, since speed is concave in them. The parameters are
    logarithms of shares over that of the job that ends last, one phase after the other.
    """
    logarithms = iter(np.clip(parameters, -50.0, 50.0))
    left, now, total = np.array(order), 0.0, 0.0
    while left.size:
        weights = np.exp([*(next(logarithms) for _ in left[1:]), 0.0])
        speeds = (weights / weights.sum()) ** exponent
        lasts = left[0] / speeds[0]
        now += lasts
        total += now
        left = left[1:] - lasts * speeds[1:]
        if left.size and left.min() < 0:
            return 1e9
    return total


@pytest.mark.parametrize(
    ("works", "exponent"),
    [((3.0, 2.0, 1.0), 0.5), ((5.0, 1.0, 1.0), 0.3), ((2.0, 2.0, 2.0), 0.7), ((9.0, 3.0), 0.8)],
)
def test_a_search_of_all_shares_finds_nothing_better_and_finds_it(works, exponent):
    best = total_response(works, devices=1, exponent=exponent)
    found = []
    sooner = [float(more) for last in range(len(works), 1, -1) for more in range(last - 1, 0, -1)]
    for order in permutations(works):
        search = minimize(
            flow, sooner, args=(order, exponent), method="Nelder-Mead",
            options={"maxiter": 4_000, "xatol": 1e-10, "fatol": 1e-14},
        )  # fmt: skip
        found.append(search.fun)
    assert min(found) == pytest.approx(best, rel=1e-9)


def test_two_jobs_share_as_worked_out_by_hand():
    """At q = 1/2 one of two equal jobs gets 3/4: they end at 2/sqrt(3) and 1 + 1/sqrt(3)."""
    assert shares(2, exponent=0.5) == [0.25, 0.75]
    assert total_response([1.0, 1.0], devices=1, exponent=0.5) == pytest.approx(1 + 3**0.5)


@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_an_exponent_without_an_optimum_of_this_form_is_refused(exponent):
    with pytest.raises(InputError, match="between 0 and 1"):
        hesrpt(exponent)


def test_a_job_holds_no_more_devices_than_it_can_use():
    narrow = trace([job(0, work=6.0, curve=PowerLaw(exponent=0.5, most=2))])
    outcomes = shared(narrow, hesrpt(0.5), 8)
    assert list(outcomes.ended) == pytest.approx([6.0 / 2**0.5])
    assert list(outcomes.attained) == pytest.approx([2 * 6.0 / 2**0.5])
