"""First come first served: limits, laws and a textbook's numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.queueing.fork_join import (
    exponential_response,
    general_response,
    shared_response,
    waits,
)

loads = st.floats(0.01, 0.97)
servers = st.integers(1, 60)


@given(load=loads)
def test_on_one_server_a_job_waits_as_often_as_the_server_is_busy(load):
    assert waits(load, servers=1) == pytest.approx(load, rel=1e-12)


@given(load=loads, count=servers)
def test_more_servers_at_the_same_load_make_waiting_rarer(load, count):
    assert waits(load * (count + 1), servers=count + 1) < waits(load * count, servers=count)


@pytest.mark.parametrize(
    ("offered", "count", "probability"),
    [(1.0, 2, 1 / 3), (2.0, 3, 4 / 9), (3.0, 4, 27 / 53), (9.0, 10, 0.668732)],
)
def test_probability_of_waiting_is_that_of_erlangs_formula(offered, count, probability):
    """The first three by hand from the sum of its definition; ten servers by the same sum."""
    assert waits(offered, servers=count) == pytest.approx(probability, rel=1e-6)


@given(load=loads)
def test_exponential_times_on_one_server_are_a_case_of_general_ones(load):
    exponential = exponential_response(load / 3.0, mean=3.0, servers=1)
    assert exponential == pytest.approx(general_response(load / 3.0, mean=3.0, square=18.0))


@given(load=loads)
def test_equal_times_wait_half_as_long_as_exponential_ones(load):
    equal = general_response(load, mean=1.0, square=1.0) - 1.0
    assert equal == pytest.approx(0.5 * (general_response(load, mean=1.0, square=2.0) - 1.0))


@given(load=loads, count=servers, factor=st.floats(1e-3, 1e3))
def test_times_that_are_longer_by_a_factor_make_responses_longer_by_it(load, count, factor):
    short = exponential_response(load * count, mean=1.0, servers=count)
    long = exponential_response(load * count / factor, mean=factor, servers=count)
    assert long == pytest.approx(factor * short, rel=1e-9)


@pytest.mark.parametrize("load", [1.0, 1.5, float("nan")])
def test_a_queue_that_grows_for_ever_is_refused(load):
    with pytest.raises(InputError, match="loads from 0 to below 1"):
        general_response(load, mean=1.0, square=2.0)


@given(load=loads)
def test_jobs_that_share_wait_as_long_as_exponential_ones_in_turn(load):
    shared = shared_response(load / 3.0, mean=3.0)
    assert shared == pytest.approx(exponential_response(load / 3.0, mean=3.0, servers=1), rel=1e-12)


def test_one_server_at_a_load_of_four_fifths_takes_five_service_times():
    """M/M/1: 1 / (1 - 0.8), and with equal times 1 + 0.8 / (2 x 0.2) by the textbook."""
    assert exponential_response(0.8, mean=1.0, servers=1) == pytest.approx(5.0, rel=1e-12)
    assert general_response(0.8, mean=1.0, square=1.0) == pytest.approx(3.0, rel=1e-12)
    with pytest.raises(InputError, match="loads from 0 to below 1"):
        shared_response(1.0, mean=1.0)
