"""Collectives: hand-worked transfers on one level and on two, and what every algorithm keeps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.random_nouns import clusters

from foretrain.cost.coefficients import DEFAULT
from foretrain.cost.collective import Network, Wire, cheapest, exchange, network, send
from foretrain.files.catalogue import cluster

GB = 1e9


def seconds(line, size):
    return float(line.fixed[0] + line.per_byte[0] * size)


def wire(latency, bandwidth):
    return Wire(latency=latency, alone=bandwidth, share=bandwidth)


def inside(*members):
    return [np.array([float(count)]) for count in members]


def ring_all_reduce(members, net):
    return exchange(members, net).reduce[0]


def tree_all_reduce(members, net):
    return exchange(members, net).reduce[1]


def hierarchical_all_reduce(members, net):
    return exchange(members, net).reduce[2]


def all_reduce(members, net):
    return exchange(members, net).reduce


def all_gather(members, net):
    return exchange(members, net).gather


# Eight devices, 1/4 s a hop, 2 bytes/s; half a second until the first message.
ONE = Network(wires=(wire(0.25, 2.0),), start=0.5)
# Nodes of four: 1/4 s and 8 bytes/s inside; 1/2 s and 1 byte/s for each device outside.
TWO = Network(wires=(wire(0.25, 8.0), wire(0.5, 1.0)), start=0.0)


def test_ring_passes_on_seven_of_eight_parts_twice():
    # 2 x 7 steps of 1/4 s; 2 x 7/8 of 16 bytes at 2 bytes/s.
    assert seconds(ring_all_reduce(inside(8), ONE), 16.0) == 0.5 + 2 * 7 * (0.25 + 16 / (8 * 2))


def test_tree_goes_up_and_down_three_levels_for_eight_members():
    assert seconds(tree_all_reduce(inside(8), ONE), 16.0) == 0.5 + 2 * (3 * 0.25 + 16 / 2)


@pytest.mark.parametrize(("members", "depth"), [(2, 1), (3, 2), (4, 2), (5, 3), (64, 6), (65, 7)])
def test_tree_is_as_deep_as_the_logarithm_rounded_up(members, depth):
    assert seconds(tree_all_reduce(inside(members), ONE), 0.0) == 0.5 + 2 * depth * 0.25


def test_gather_goes_around_the_ring_once():
    flat = all_gather(inside(8), ONE)[0]
    assert seconds(flat, 16.0) == 0.5 + 7 * (0.25 + 16 / (8 * 2))


def test_ring_over_two_levels_runs_at_the_pace_of_the_slower_one():
    # Eight members, four to a node: four rings leave it side by side, min(8, 4 x 1) bytes/s.
    assert seconds(ring_all_reduce(inside(4, 8), TWO), 16.0) == 2 * 7 * (0.5 + 16 / (8 * 4))


def test_ring_with_one_member_to_a_node_has_one_link():
    assert seconds(ring_all_reduce(inside(1, 2), TWO), 16.0) == 2 * 1 * (0.5 + 16 / (2 * 1))


def test_group_inside_a_node_does_not_feel_the_links_between_nodes():
    assert seconds(ring_all_reduce(inside(4, 4), TWO), 16.0) == 2 * 3 * (0.25 + 16 / (4 * 8))


def test_hierarchical_all_reduce_leaves_a_quarter_of_the_bytes_for_the_outer_level():
    scatter_and_gather = 2 * 3 * (0.25 + 16 / (4 * 8))
    outside = 2 * 1 * (0.5 + (16 / 4) / (2 * 1))
    found = seconds(hierarchical_all_reduce(inside(4, 8), TWO), 16.0)
    assert found == scatter_and_gather + outside == 4.5 + 5.0


def test_hierarchical_gather_goes_the_way_once():
    assert seconds(all_gather(inside(4, 8), TWO)[1], 16.0) == 4.75


def test_three_levels_each_move_what_the_inner_ones_leave():
    net = Network(wires=(wire(0.0, 8.0), wire(0.0, 4.0), wire(0.0, 1.0)), start=0.0)
    # 2 x (1/2 of 16 bytes at 8, 1/2 of 8 bytes at 4, 1/2 of 4 bytes at 1 byte/s).
    assert seconds(hierarchical_all_reduce(inside(2, 4, 8), net), 16.0) == 2 * (1 + 1 + 2)


def test_two_nodes_of_eight_take_what_the_documentation_says():
    net = Network(wires=(wire(0.0, 300 * GB), wire(0.0, 25 * GB)), start=0.0)
    group = inside(8, 16)
    assert seconds(hierarchical_all_reduce(group, net), GB) == pytest.approx(10.833e-3, rel=1e-4)
    assert seconds(ring_all_reduce(group, net), GB) == pytest.approx(9.375e-3, rel=1e-12)
    assert cheapest(np.array([GB]), all_reduce(group, net))[0] == pytest.approx(9.375e-3)


def test_small_messages_take_the_tree_and_large_ones_the_ring():
    lines = all_reduce(inside(8), ONE)
    assert cheapest(np.array([0.0]), lines)[0] == seconds(tree_all_reduce(inside(8), ONE), 0.0)
    assert cheapest(np.array([1e6]), lines)[0] == seconds(ring_all_reduce(inside(8), ONE), 1e6)


def test_message_between_stages_takes_the_slowest_hop_that_it_may_meet():
    assert seconds(send(inside(4, 4), TWO), 16.0) == 0.25 + 16 / 8
    assert seconds(send(inside(4, 8), TWO), 16.0) == 0.5 + 16 / 1
    assert seconds(send(inside(1, 2), TWO), 16.0) == 0.5 + 16 / 1


def test_last_of_the_stages_inside_a_node_has_the_way_out_for_itself():
    # Nodes of eight behind one port of 8 bytes/s that any device may fill.
    port = Network(wires=(wire(0.0, 100.0), Wire(latency=0.0, alone=8.0, share=1.0)), start=0.0)
    # One stage, two stages, four, eight in a node: 8, 4, 2, 1 of its devices send out of it.
    for within, reached in ((1, 1.0), (2, 2.0), (4, 4.0), (8, 8.0), (16, 8.0)):
        assert seconds(send(inside(within, 32), port), 16.0) == 16 / reached


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
    assert outer.alone == DEFAULT.infiniband * 12.5 * GB
    assert outer.share == DEFAULT.infiniband * 50 * GB / 8 == outer.alone / 2
    assert inner.share == inner.alone == DEFAULT.nvlink * 150 * GB


def test_adapter_for_every_device_leaves_each_its_bandwidth():
    outer = network(cluster("dgx-a100", nodes=2), DEFAULT).wires[1]
    assert outer.share == outer.alone == DEFAULT.infiniband * 25 * GB


def test_capacity_above_what_the_devices_send_is_no_gain():
    small = cluster("dgx-1-v100", nodes=2)
    node, fabric = small.levels
    wide = replace(fabric, link=replace(fabric.link, capacity=1e15))
    outer = network(replace(small, levels=(node, wide)), DEFAULT).wires[1]
    assert outer.share == outer.alone


@st.composite
def groups(draw):
    """A network and a group of it: members inside each level."""
    net = network(draw(clusters()), DEFAULT)
    members, below = [], 1
    for _ in net.wires:
        below *= draw(st.sampled_from([1, 1, 2, 3, 4, 8]))
        members.append(below)
    return inside(*members), net


@given(group=groups(), size=st.floats(0, 1e12))
def test_no_algorithm_beats_the_bytes_that_must_leave_a_member(group, size):
    members, net = group
    count = members[-1][0]
    # Everybody receives what the others know: (n - 1) / n of the bytes, over the widest way out.
    widest = max(wire.share for wire in net.wires) * count
    for lines, passes in ((all_reduce(members, net), 2), (all_gather(members, net), 1)):
        least = passes * (count - 1) / count * size / widest
        assert cheapest(np.array([size]), lines)[0] >= least * (1 - 1e-12)


@given(group=groups(), size=st.floats(0, 1e12))
def test_all_reduce_is_a_scatter_and_a_gather_or_quicker(group, size):
    members, net = group
    message = np.array([size])
    both = 2 * cheapest(message, all_gather(members, net))
    assert cheapest(message, all_reduce(members, net))[0] <= both[0] * (1 + 1e-12)


@given(cluster=clusters(), size=st.floats(0, 1e12))
def test_member_that_is_alone_sends_nothing(cluster, size):
    net = network(cluster, DEFAULT)
    alone = inside(*[1] * len(net.wires))
    for lines in (all_reduce(alone, net), all_gather(alone, net), (send(alone, net),)):
        assert [seconds(line, size) for line in lines] == [0.0] * len(lines)


@given(group=groups(), size=st.floats(0, 1e12))
def test_more_bytes_never_take_less_time(group, size):
    members, net = group
    for lines in (all_reduce(members, net), all_gather(members, net), (send(members, net),)):
        once, twice = (cheapest(np.array([bytes]), lines)[0] for bytes in (size, 2 * size))
        assert once <= twice <= 2 * once * (1 + 1e-12)
