"""What collectives reach on the levels of a cluster, and the slowest hop of a ring."""

from dataclasses import replace

import pytest

from foretrain.cluster.device import Topology
from foretrain.step.collectives.network import network, span
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT

GB = 1e9


@pytest.mark.parametrize(
    ("devices", "latency", "bandwidth"),
    [
        (1, 9e-6, 50 * GB),
        (4, 9e-6, 50 * GB),
        (5, 30.31e-6, 12.5 * GB),
        (68, 30.31e-6, 12.5 * GB),
        (69, 30.49e-6, 12.5 * GB),
        (136, 30.49e-6, 12.5 * GB),
        (137, 30.98e-6, 12.5 * GB),
        (4352, 30.98e-6, 12.5 * GB),
    ],
)
def test_rings_on_abci_have_the_slowest_hops_of_its_oracle(devices, latency, bandwidth):
    found = span(cluster("abci", nodes=1088), devices)
    assert found.latency == pytest.approx(latency, rel=1e-12)
    assert found.bandwidth == pytest.approx(bandwidth, rel=1e-12)


def test_link_of_one_direction_at_a_time_halves_what_passes():
    both = cluster("dgx-a100", nodes=2)
    node, fabric = both.levels
    one = replace(fabric, link=replace(fabric.link, duplex=False))
    halved = network(replace(both, levels=(node, one)), DEFAULT).wires[1]
    full = network(both, DEFAULT).wires[1]
    assert (halved.alone, halved.share) == (full.alone / 2, full.share / 2)


def test_four_adapters_serve_eight_devices_of_a_dgx_1():
    # 100 Gb/s each, 400 Gb/s out of a node, 8 devices: 50 Gb/s or 6.25 GB/s a device.
    inner, outer = network(cluster("dgx-1-v100", nodes=2), DEFAULT).wires
    assert outer.alone == DEFAULT.links.infiniband * 12.5 * GB
    assert outer.share == DEFAULT.links.infiniband * 50 * GB / 8 == outer.alone / 2
    assert inner.share == inner.alone == DEFAULT.links.nvlink * 150 * GB
    assert (inner.kind, inner.members) == (Topology.CUBE_MESH, 8)


def test_adapter_for_every_device_leaves_each_its_bandwidth():
    outer = network(cluster("dgx-a100", nodes=2), DEFAULT).wires[1]
    assert outer.share == outer.alone == DEFAULT.links.infiniband * 25 * GB


def test_capacity_above_what_the_devices_send_is_no_gain():
    small = cluster("dgx-1-v100", nodes=2)
    node, fabric = small.levels
    wide = replace(fabric, link=replace(fabric.link, capacity=1e15))
    outer = network(replace(small, levels=(node, wide)), DEFAULT).wires[1]
    assert outer.share == outer.alone


def test_what_leaves_a_rack_has_left_its_node_by_the_same_adapters():
    # ABCI: two adapters for four devices; the levels above could take more if they were wider.
    nodes = cluster("abci", nodes=1088)
    wide = [replace(level, link=replace(level.link, capacity=None)) for level in nodes.levels[2:]]
    wires = network(replace(nodes, levels=(*nodes.levels[:2], *wide)), DEFAULT).wires
    assert {wire.share for wire in wires[1:]} == {DEFAULT.links.infiniband * 25 * GB / 4}


def test_racks_of_abci_share_a_third_of_what_their_nodes_send():
    wires = network(cluster("abci", nodes=1088), DEFAULT).wires
    assert wires[3].share == pytest.approx(wires[2].share / 3, rel=1e-3)


def test_switches_that_add_up_reach_a_share_of_what_rings_do():
    adding = network(cluster("dgx-h100", nodes=2), DEFAULT).wires[0]
    assert adding.adding == DEFAULT.links.in_network * adding.share
    assert network(cluster("dgx-a100", nodes=2), DEFAULT).wires[0].adding == 0.0


def with_inner(known, **changes):
    """Wires of a cluster whose innermost link is changed."""
    inner, *others = known.levels
    changed = replace(inner, link=replace(inner.link, **changes))
    return network(replace(known, levels=(changed, *others)), DEFAULT).wires


@pytest.mark.parametrize("contention", [1.5, 4.0])
def test_switches_that_add_up_slow_down_by_as_much_as_groups_contend(contention):
    known = cluster("dgx-h100", nodes=2)
    alone, crowded = (with_inner(known, contention=each)[0] for each in (None, contention))
    assert crowded.adding == pytest.approx(alone.adding / contention)
    assert crowded.share == alone.share


def test_switches_that_add_up_take_a_hop_of_their_own_and_others_none():
    adding, fabric = network(cluster("dgx-h100", nodes=2), DEFAULT).wires
    assert adding.into_switch == DEFAULT.protocols.switch_hop > 0
    assert fabric.into_switch == 0.0
