"""Policies that look at sizes: theorems that tie the formulas to each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from validation.scheduling.sized import (
    exponential,
    hyperexponential,
    las_levels_response,
    las_response,
    srtf_response,
)

from foretrain.queueing.fork_join import general_response, shared_response

loads = st.floats(0.02, 0.95)
variations = st.floats(1.0, 30.0)


@given(load=loads, mean=st.floats(1e-2, 1e5))
def test_nobody_who_knows_no_sizes_can_do_better_with_memoryless_jobs(load, mean):
    shared = shared_response(load / mean, mean=mean)
    got = las_response(load / mean, service=exponential(mean))
    assert got == pytest.approx(shared, rel=1e-9)


@given(load=loads, variation=variations)
def test_shortest_remaining_is_best_and_attained_beats_sharing_where_long_jobs_stay_long(
    load, variation
):
    service = hyperexponential(1.0, variation=variation)
    shortest, attained = srtf_response(load, service=service), las_response(load, service=service)
    assert 1.0 < shortest <= attained <= shared_response(load, mean=1.0) * (1 + 1e-9)


@given(load=loads, variation=variations)
def test_one_level_is_first_come_first_served(load, variation):
    service = hyperexponential(1.0, variation=variation)
    queue = general_response(load, mean=1.0, square=service.square)
    assert las_levels_response(load, service=service, levels=()) == pytest.approx(queue, rel=1e-9)


def test_many_levels_are_foreground_and_background():
    service = hyperexponential(1.0, variation=8.0)
    levels = [0.002 * 1.01**place for place in range(1200)]
    fine = las_levels_response(0.7, service=service, levels=levels)
    assert fine == pytest.approx(las_response(0.7, service=service), rel=1e-5)


@given(load=loads, factor=st.floats(1e-3, 1e3))
def test_times_that_are_longer_by_a_factor_make_responses_longer_by_it(load, factor):
    for response in (srtf_response, las_response):
        short = response(load, service=hyperexponential(1.0, variation=4.0))
        long = response(load / factor, service=hyperexponential(factor, variation=4.0))
        assert long == pytest.approx(factor * short, rel=1e-9)


def test_shortest_remaining_time_is_the_double_integral_of_schrage_and_miller():
    """The formula as it is printed, both integrals by the trapezoidal rule."""
    service, load = hyperexponential(1.0, variation=3.0), 0.8
    size = np.concatenate([np.linspace(0.0, 5.0, 100_001), np.linspace(5.0, 80.0, 100_001)[1:]])
    idle = 1.0 - load * service.mean_up_to(size)
    second = service.square_up_to(size) + size * size * service.above(size)
    steps = 0.5 * (1.0 / idle[1:] + 1.0 / idle[:-1]) * np.diff(size)
    residence = np.concatenate([[0.0], np.cumsum(steps)])
    response = load * second / (2.0 * idle * idle) + residence
    printed = float(np.trapezoid(response * service.density(size), size))
    assert srtf_response(load, service=service) == pytest.approx(printed, rel=1e-6)
