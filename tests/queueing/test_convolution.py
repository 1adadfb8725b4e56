"""Several stations of varying pace: the whole Markov chain solved state by state, and laws."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.queueing.birth_death import shared_pace
from foretrain.queueing.closed import (
    ClosedNetwork,
    asymptotic_bounds,
    balanced_job_bounds,
    mean_values,
    residual_mean_values,
)

demands = st.floats(0.01, 10.0)
paces = st.lists(st.floats(0.2, 1.0), max_size=4).map(
    lambda shares: (1.0, *(number * share for number, share in enumerate(shares, start=2)))
)
stations = st.lists(st.tuples(demands, paces), min_size=1, max_size=3)


def network_of(think, stations):
    named = {str(place): station for place, station in enumerate(stations)}
    return ClosedNetwork(
        think=think,
        demands={name: demand for name, (demand, _) in named.items()},
        paces={name: pace for name, (_, pace) in named.items()},
    )


def by_its_states(network, customers):
    """Throughput and queues from the stationary distribution of all states, station after station.

    Exponential everywhere; place 0 is thinking.
    """
    names = list(network.demands)
    states = [
        state
        for state in product(range(customers + 1), repeat=len(names) + 1)
        if sum(state) == customers
    ]
    index = {state: place for place, state in enumerate(states)}

    def rate(place, there):
        if place == 0:
            return there / network.think
        pace = network.paces.get(names[place - 1], (1.0,))
        return pace[min(there, len(pace)) - 1] / network.demands[names[place - 1]]

    flows = np.zeros((len(states), len(states)))
    for state in states:
        for place, there in enumerate(state):
            if there:
                after = list(state)
                after[place] -= 1
                after[(place + 1) % len(state)] += 1
                flows[index[state], index[tuple(after)]] += rate(place, there)
    generator = flows - np.diag(flows.sum(axis=1))
    system = np.vstack([generator.T, np.ones(len(states))])
    chances = np.linalg.lstsq(system, np.eye(len(states) + 1)[-1], rcond=None)[0]
    cycles = sum(
        c * rate(0, state[0]) for c, state in zip(chances, states, strict=True) if state[0]
    )
    return cycles, chances @ np.array(states)[:, 1:]


@settings(max_examples=25)
@given(think=demands, stations=stations, customers=st.integers(1, 5))
def test_means_are_those_of_the_whole_markov_chain(think, stations, customers):
    network = network_of(think, stations)
    throughput, queues = by_its_states(network, customers)
    found = mean_values(network, customers)
    assert found.throughput[-1] == pytest.approx(throughput, rel=1e-8)
    np.testing.assert_allclose([q[-1] for q in found.queues.values()], queues, rtol=1e-7)


@given(think=st.one_of(st.just(0.0), demands), each=st.lists(demands, min_size=1, max_size=4))
def test_stations_of_one_pace_are_those_of_mean_value_analysis(think, each):
    network = network_of(think, [(demand, (1.0,)) for demand in each])
    plain = ClosedNetwork(think=think, demands=network.demands)
    found, exact = mean_values(network, 40), mean_values(plain, 40)
    np.testing.assert_allclose(found.throughput, exact.throughput, rtol=1e-9)
    for name in network.demands:
        np.testing.assert_allclose(found.queues[name], exact.queues[name], rtol=1e-9)


@given(think=demands, stations=stations)
def test_asymptotic_bounds_hold_whatever_the_paces(think, stations):
    network, numbers = network_of(think, stations), np.arange(1.0, 21.0)
    exact, bounds = mean_values(network, 20).throughput, asymptotic_bounds(network, numbers)
    assert (bounds.low <= exact * (1 + 1e-9)).all()
    assert (exact <= bounds.high * (1 + 1e-9)).all()


@given(think=demands, stations=stations)
def test_customers_think_or_are_at_some_station(think, stations):
    found = mean_values(network_of(think, stations), 20)
    there = np.sum(list(found.queues.values()), axis=0)
    np.testing.assert_allclose(found.throughput * think + there, np.arange(1, 21), rtol=1e-9)


def test_a_thousand_customers_keep_their_digits():
    """Weights span thousands of decimal powers; a server of one pace tells what is right."""
    demands = {"up": 0.05, "down": 0.05, "update": 0.01}
    cores = ClosedNetwork(think=60.0, demands=demands, paces={"up": (1.0,)})
    found = mean_values(cores, 1024).throughput
    exact = mean_values(ClosedNetwork(think=60.0, demands=demands), 1024).throughput
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_four_cores_move_the_knee_fourfold_until_the_link_makes_it():
    one = ClosedNetwork(think=1.0, demands={"link": 0.01, "cores": 0.2})
    four = ClosedNetwork(think=1.0, demands=one.demands, paces={"cores": shared_pace(4)})
    many = ClosedNetwork(think=1.0, demands=one.demands, paces={"cores": shared_pace(64)})
    assert four.knee == pytest.approx(4.0 * one.knee)
    assert [each.bottleneck for each in (one, four, many)] == ["cores", "cores", "link"]
    assert mean_values(four, 400).utilisations["cores"][-1] == pytest.approx(1.0)


def test_what_knows_one_pace_only_says_so():
    network = network_of(1.0, [(0.1, (1.0, 2.0))])
    with pytest.raises(InputError, match="one pace only"):
        balanced_job_bounds(network, np.ones(1))
    with pytest.raises(InputError, match="one pace only"):
        residual_mean_values(network, 2, variations={})
    with pytest.raises(InputError, match=r"paces: unknown station 'gpu'\. Known: cpu"):
        ClosedNetwork(think=1.0, demands={"cpu": 1.0}, paces={"gpu": (1.0,)})
    with pytest.raises(InputError, match="pace of cpu with 2 customers"):
        ClosedNetwork(think=1.0, demands={"cpu": 1.0}, paces={"cpu": (1.0, 2.5)})
    with pytest.raises(InputError, match="at least 1 customer, got 0"):
        mean_values(network, 0)
