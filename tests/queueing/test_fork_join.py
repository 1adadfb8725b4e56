"""Fork and join: bounds, exact cases, and a Markov chain of two servers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.queueing.closed import ClosedNetwork, mean_values
from foretrain.queueing.fork_join import (
    exponential_response,
    fork_join_bounds,
    fork_join_means,
    fork_join_response,
    shared_by,
)
from foretrain.statistics import harmonic

loads = st.floats(0.0, 0.95)
counts = st.integers(1, 32)
seconds = st.floats(1e-6, 1e3)
NETWORK = ClosedNetwork(think=0.7, demands={"link": 0.05, "servers": 0.1})


@given(load=loads, servers=counts)
def test_response_lies_between_one_server_and_servers_that_know_nothing_of_one_another(
    load, servers
):
    low, high = fork_join_bounds(load, mean=1.0, servers=servers)
    found = fork_join_response(load, mean=1.0, servers=servers)
    assert low * (1 - 1e-12) <= found <= high * (1 + 1e-12)


@given(servers=counts)
def test_a_request_that_is_alone_waits_for_the_slowest_of_its_shards(servers):
    alone = fork_join_response(0.0, mean=2.0, servers=servers)
    assert alone == pytest.approx(2.0 * harmonic(servers), rel=1e-12)


@given(load=loads)
def test_one_server_is_an_ordinary_queue(load):
    found = fork_join_response(load, mean=1.0, servers=1)
    assert found == exponential_response(load, mean=1.0, servers=1)


def two_servers(load, most=120):
    """Mean response of two servers by their chain: who arrives sees (i, j) before its two shards.

    With i and j shards before and among its own, the later of two Erlang times has a mean that
    follows from whichever server ends first.
    """
    size = most + 1
    chances = np.zeros((size, size))
    chances[0, 0] = 1.0
    place = np.arange(size * size).reshape(size, size)
    from scipy.sparse import lil_matrix
    from scipy.sparse.linalg import spsolve

    flows = lil_matrix((size * size, size * size))
    for left in range(size):
        for right in range(size):
            here = place[left, right]
            for rate, to in (
                (load, (left + 1, right + 1)),
                (1.0, (left - 1, right)),
                (1.0, (left, right - 1)),
            ):
                if 0 <= to[0] < size and 0 <= to[1] < size:
                    flows[place[to], here] += rate
                    flows[here, here] -= rate
    flows[0, :] = 1.0
    right_side = np.zeros(size * size)
    right_side[0] = 1.0
    chances = spsolve(flows.tocsr(), right_side).reshape(size, size)
    later = np.zeros((size + 1, size + 1))
    later[0, :] = later[:, 0] = np.arange(size + 1)
    for left in range(1, size + 1):
        for right in range(1, size + 1):
            later[left, right] = 0.5 + 0.5 * (later[left - 1, right] + later[left, right - 1])
    return float((chances * later[1:, 1:]).sum())


@pytest.mark.parametrize("load", [0.2, 0.6])
def test_two_servers_are_exact(load):
    found = fork_join_response(load, mean=1.0, servers=2)
    assert found == pytest.approx(two_servers(load, most=60), rel=1e-6)


def test_four_servers_at_half_load_are_those_of_the_published_scaling():
    """By hand: two servers take 11.5/8 x 2 s; H4/H2 is 25/18, of which 2/11 of -7/18 goes off."""
    found = fork_join_response(0.5, mean=1.0, servers=4)
    assert found == pytest.approx((25 / 18 - 7 / 18 * 2 / 11) * 2.875, rel=1e-12)


@given(servers=counts)
def test_one_customer_waits_for_the_slowest_of_its_shards_only(servers):
    found = fork_join_means(NETWORK, 1, shards={"servers": servers})
    assert found.response[0] == pytest.approx(0.05 + 0.1 * harmonic(servers), rel=1e-12)


def test_one_shard_is_mean_value_analysis():
    found = fork_join_means(NETWORK, 40, shards={"servers": 1})
    np.testing.assert_array_equal(found.throughput, mean_values(NETWORK, 40).throughput)


@given(servers=st.integers(2, 32))
def test_shards_cost_throughput_but_not_capacity(servers):
    sharded = fork_join_means(NETWORK, 400, shards={"servers": servers}).throughput
    exact = mean_values(NETWORK, 400).throughput
    assert (sharded < exact * (1 + 1e-12)).all()
    assert sharded[-1] == pytest.approx(NETWORK.capacity, rel=0.02)


@given(servers=st.integers(2, 16), customers=st.integers(1, 40))
def test_closed_response_lies_between_one_server_and_its_harmonic_multiple(servers, customers):
    network = ClosedNetwork(think=0.7, demands={"servers": 0.1})
    sharded = fork_join_means(network, customers, shards={"servers": servers}).response[-1]
    one = mean_values(network, customers).response[-1]
    assert one <= sharded * (1 + 1e-12)
    assert sharded <= harmonic(servers) * one * (1 + 1e-12)


def test_shards_of_nothing_are_refused():
    with pytest.raises(InputError, match="unknown station 'cpu'"):
        fork_join_means(NETWORK, 2, shards={"cpu": 2})
    with pytest.raises(InputError, match="at least 1, got 0 at servers"):
        fork_join_means(NETWORK, 2, shards={"servers": 0})
    paced = ClosedNetwork(think=1.0, demands={"cpu": 1.0}, paces={"cpu": (1.0, 2.0)})
    with pytest.raises(InputError, match="one pace only"):
        fork_join_means(paced, 2, shards={"cpu": 2})
    with pytest.raises(InputError, match="loads from 0 to below 1"):
        fork_join_response(1.0, mean=1.0, servers=2)


@given(
    times=st.tuples(seconds, seconds),
    numbers=st.tuples(counts, counts),
    cores=counts,
    grouped=st.booleans(),
)
def test_processes_that_share_cores_are_done_between_the_least_and_twice_that(
    times, numbers, cores, grouped
):
    (one, other), (few, many) = times, numbers
    found = shared_by((one, few), (other, many), cores=cores, grouped=grouped)
    turned = shared_by((other, many), (one, few), cores=cores, grouped=grouped)
    assert found == pytest.approx(turned)
    least = max(one, other, (few * one + many * other) / cores)
    assert least <= found * (1 + 1e-9)
    assert found <= 2 * least * (1 + 1e-9)
    apart = shared_by((one, few), (other, many), cores=few + many, grouped=grouped)
    assert apart == pytest.approx(max(one, other))
    assert shared_by((one, 0), (other, many), cores=many) == other


def test_one_worker_beside_eight_readers_waits_for_its_share_unless_it_is_a_group():
    kinds = (1.0, 1), (0.1, 8)
    # two cores for nine until the readers are done, then the worker goes on alone
    assert shared_by(*kinds, cores=2) == pytest.approx(0.45 + 0.9)
    assert shared_by(*kinds, cores=2, grouped=True) == pytest.approx(1.0)
    # on one core nothing is lost: all of the work is done one way or the other
    assert shared_by(*kinds, cores=1) == pytest.approx(1.8)
    assert shared_by(*kinds, cores=1, grouped=True) == pytest.approx(1.8)
