"""What the hosts of a cluster can do for an ensemble."""

from dataclasses import replace

import pytest

from foretrain.ensemble.shared_input import COPY, cores_for, exchange_of, loaders_of
from foretrain.errors import InputError
from foretrain.study.catalogue import cluster

CLUSTER = cluster("dgx-a100", nodes=4)


@pytest.mark.parametrize(("devices", "cores"), [(8, 120), (32, 120), (4, 60), (1, 15)])
def test_devices_come_with_their_share_of_a_node_and_keep_a_core_each(devices, cores):
    assert cores_for(CLUSTER, devices).count == cores


def test_a_host_whose_cores_are_all_busy_feeds_nobody():
    small = replace(CLUSTER, host=replace(CLUSTER.host, cores=8))
    with pytest.raises(InputError, match="none is left to prepare samples"):
        cores_for(small, 8)


def test_nodes_exchange_through_one_adapter():
    exchange = exchange_of(CLUSTER, 32)
    assert (exchange.bandwidth, exchange.latency) == (25e9, 14e-6)
    assert exchange.byte_time == COPY


def test_a_single_node_has_no_link_to_wait_for():
    exchange = exchange_of(CLUSTER, 8)
    assert (exchange.bandwidth, exchange.latency) == (float("inf"), 0.0)


def test_a_private_loader_copies_twice_and_a_shared_slot_is_copied_once():
    loaders = loaders_of(prepare=0.009, sample_bytes=1e6)
    assert loaders.hand == 2 * loaders.deliver == pytest.approx(2e6 * 8 / 42e9)
    assert loaders.store == 0.009
