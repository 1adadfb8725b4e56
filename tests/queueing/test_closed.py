"""Closed networks: limits and laws, published values, and the exact single server."""

from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.queueing.birth_death import repair_throughput
from foretrain.queueing.closed import (
    ClosedNetwork,
    asymptotic_bounds,
    balanced_job_bounds,
    mean_values,
    residual_mean_values,
)

THREE = ClosedNetwork(think=0.2, demands={"down": 0.05, "up": 0.05, "update": 0.01})
MOST = 30
ALL = np.arange(1.0, MOST + 1.0)

demands = st.floats(1e-3, 1e3)
networks = st.builds(
    lambda think, each: ClosedNetwork(think=think, demands={str(k): d for k, d in enumerate(each)}),
    st.one_of(st.just(0.0), demands),
    st.lists(demands, min_size=1, max_size=5),
)


def server(service, think=1.0):
    return ClosedNetwork(think=think, demands={"server": service})


def test_throughput_is_that_of_the_published_check_values():
    found = mean_values(THREE, 16).throughput[[0, 1, 3, 7, 15]]
    assert [f"{each:.4f}" for each in found] == [
        "3.2258",
        "6.1265",
        "10.8207",
        "15.9365",
        "18.4314",
    ]
    assert THREE.capacity == pytest.approx(20.0, rel=1e-12)


@given(network=networks)
def test_one_customer_never_waits(network):
    alone = mean_values(network, 1)
    assert alone.throughput[0] == pytest.approx(1.0 / network.alone, rel=1e-12)
    assert alone.response[0] == pytest.approx(network.demand, rel=1e-9, abs=1e-9 * network.think)


@given(network=networks)
def test_every_customer_thinks_or_is_at_a_station(network):
    found = mean_values(network, MOST)
    waiting = np.sum(list(found.queues.values()), axis=0)
    np.testing.assert_allclose(found.throughput * network.think + waiting, ALL, rtol=1e-9)
    np.testing.assert_allclose(found.throughput * found.response, waiting, rtol=1e-6, atol=1e-9)


@given(network=networks)
def test_more_customers_never_lower_throughput_and_no_station_is_busier_than_always(network):
    found = mean_values(network, MOST)
    assert (np.diff(found.throughput) >= -1e-9 * found.throughput[:-1]).all()
    assert max(busy.max() for busy in found.utilisations.values()) <= 1.0 + 1e-9


@given(network=networks)
def test_throughput_lies_within_both_kinds_of_bounds_and_the_balanced_ones_are_tighter(network):
    exact = mean_values(network, MOST).throughput
    loose, tight = asymptotic_bounds(network, ALL), balanced_job_bounds(network, ALL)
    for bounds in (loose, tight):
        assert (bounds.low <= exact * (1 + 1e-9)).all()
        assert (exact <= bounds.high * (1 + 1e-9)).all()
    assert (loose.low <= tight.low * (1 + 1e-9)).all()
    assert (tight.high <= loose.high * (1 + 1e-9)).all()


@given(demand=demands, think=demands, count=st.integers(1, 6))
def test_bounds_of_a_balanced_network_that_does_not_think_meet(demand, think, count):
    network = ClosedNetwork(think=0.0, demands={str(place): demand for place in range(count)})
    bounds = balanced_job_bounds(network, ALL)
    np.testing.assert_allclose(bounds.low, bounds.high, rtol=1e-9)
    np.testing.assert_allclose(mean_values(network, MOST).throughput, bounds.low, rtol=1e-9)


@given(network=networks, factor=st.floats(1e-3, 1e3))
def test_times_that_are_longer_by_a_factor_divide_throughput_by_it(network, factor):
    longer = ClosedNetwork(
        think=network.think * factor,
        demands={name: demand * factor for name, demand in network.demands.items()},
    )
    found, base = mean_values(longer, MOST), mean_values(network, MOST)
    np.testing.assert_allclose(found.throughput * factor, base.throughput, rtol=1e-9)
    assert longer.knee == pytest.approx(network.knee, rel=1e-9)


def test_knee_is_where_the_asymptotes_cross_and_names_the_busiest_station():
    network = ClosedNetwork(think=0.3, demands={"up": 0.02, "update": 0.08})
    assert (network.knee, network.bottleneck) == (pytest.approx(5.0), "update")
    bounds = asymptotic_bounds(network, np.array([network.knee]))
    assert bounds.high[0] == pytest.approx(network.capacity)


@given(network=networks)
def test_halving_the_bottleneck_of_one_station_nearly_doubles_a_far_knee(network):
    name = network.bottleneck
    single = ClosedNetwork(think=100.0 * network.demand, demands={name: network.demands[name]})
    half = ClosedNetwork(think=single.think, demands={name: network.demands[name] / 2.0})
    assert half.knee / single.knee == pytest.approx(2.0, rel=0.01)


def test_nobody_waits_where_no_station_is_asked_for_anything():
    network = ClosedNetwork(think=0.5, demands={"server": 0.0})
    assert (network.bottleneck, network.knee) == (None, np.inf)
    np.testing.assert_allclose(mean_values(network, 4).throughput, [2.0, 4.0, 6.0, 8.0])
    with pytest.raises(InputError, match="here nobody waits"):
        balanced_job_bounds(network, ALL)


@given(network=networks)
def test_exponential_service_needs_no_residual(network):
    exact = mean_values(network, MOST)
    same = residual_mean_values(network, MOST, variations=dict.fromkeys(network.demands, 1.0))
    np.testing.assert_allclose(same.throughput, exact.throughput, rtol=1e-12)


@given(service=st.floats(0.01, 1.0))
def test_even_service_waits_less_and_uneven_service_more(service):
    even, uneven = (
        residual_mean_values(server(service), MOST, variations={"server": variation}).throughput
        for variation in (0.0, 3.0)
    )
    exact = mean_values(server(service), MOST).throughput
    assert (even >= exact * (1 - 1e-12)).all()
    assert (uneven <= exact * (1 + 1e-12)).all()


@given(network=networks, variation=st.floats(0.0, 5.0))
def test_every_customer_is_somewhere_with_general_service_too(network, variation):
    variations = dict.fromkeys(network.demands, variation)
    found = residual_mean_values(network, MOST, variations=variations)
    waiting = np.sum(list(found.queues.values()), axis=0)
    np.testing.assert_allclose(found.throughput * network.think + waiting, ALL, rtol=1e-9)
    assert (found.throughput <= network.capacity).all()


@pytest.mark.parametrize("variation", [0.0, 0.25, 0.5])
def test_residual_service_is_near_the_exact_single_server_but_at_the_knee(variation):
    """Up to the knee and from twice the knee on within 3 and 0.1 %, between within 6 %."""
    found = residual_mean_values(server(0.1), 40, variations={"server": variation}).throughput
    exact = [
        repair_throughput(customers, think=1.0, service=0.1, variation=variation)
        for customers in range(1, 41)
    ]
    off = np.abs(found / exact - 1.0)
    knee = server(0.1).knee
    assert off[: int(knee) - 1].max() < 0.03
    assert off[2 * int(knee) :].max() < 0.001
    assert off.max() < 0.06


def test_residual_service_beats_the_exponential_assumption_up_to_the_knee():
    exact = [
        repair_throughput(count, think=1.0, service=0.1, variation=0.0) for count in range(1, 10)
    ]
    found = residual_mean_values(server(0.1), 9, variations={"server": 0.0}).throughput
    plain = mean_values(server(0.1), 9).throughput
    assert np.abs(found / exact - 1).max() < 0.5 * np.abs(plain / exact - 1).max()


def test_a_thousand_customers_and_three_stations_take_about_a_millisecond():
    def seconds():
        began = process_time()
        mean_values(THREE, 1024)
        return process_time() - began

    assert min(seconds() for _ in range(20)) < 4e-3  # 1.2 ms on a quiet core


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: ClosedNetwork(think=-1.0, demands={}), "think must be at least 0 s, got -1"),
        (lambda: ClosedNetwork(think=1.0, demands={"up": -0.1}), r"got -0\.1 at up"),
        (lambda: ClosedNetwork(think=1.0, demands={"up": float("nan")}), "got nan at up"),
        (lambda: ClosedNetwork(think=0.0, demands={"up": 0.0}), "takes no time"),
        (lambda: mean_values(THREE, 0), "at least 1 customer, got 0"),
        (lambda: residual_mean_values(THREE, 2, variations={"cpu": 0.0}), "'cpu'. Known: down"),
        (lambda: residual_mean_values(THREE, 2, variations={"up": -1.0}), "got -1.0 at up"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(wrong, told):
    with pytest.raises(InputError, match=told):
        wrong()
