"""Every algorithm against a few numbers worked out by hand.

`ONE` is a switch of 1/4 s and 2 bytes/s; `TWO` has nodes with 1/4 s and 8 bytes/s inside, 1/2 s and
1 byte/s for each device outside. Start-up is not counted here.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.collective_groups import ONE, TWO, inside, wire

from foretrain.cluster.device import Topology
from foretrain.step.collectives import ALGORITHMS
from foretrain.step.collectives.group import group
from foretrain.step.collectives.network import Network
from foretrain.step.strategies.strategy import Pattern

REDUCE, GATHER = ALGORITHMS[Pattern.ALL_REDUCE], ALGORITHMS[Pattern.ALL_GATHER]
ALL_TO_ALL, BROADCAST = ALGORITHMS[Pattern.ALL_TO_ALL], ALGORITHMS[Pattern.BROADCAST]
ADDING = replace(ONE, wires=(wire(0.25, 2.0, adding=1.5),))


def seconds(algorithm, *members, net=ONE, size=16.0):
    line = algorithm(group(inside(*members), net))
    return float(line.fixed[0] + line.per_byte[0] * size)


def test_ring_passes_on_seven_of_eight_parts_twice():
    # 2 x 7 steps of 1/4 s; 2 x 7/8 of 16 bytes at 2 bytes/s.
    assert seconds(REDUCE["ring"], 8) == 2 * 7 * (0.25 + 16 / (8 * 2))
    assert seconds(GATHER["ring"], 8) == 7 * (0.25 + 16 / (8 * 2))


def test_broadcast_around_a_ring_is_a_pipeline_of_seven_hops():
    assert seconds(BROADCAST["ring"], 8) == 7 * 0.25 + 16 / 2


def test_ring_over_two_levels_runs_at_the_pace_of_the_slower_one():
    # Eight members, four to a node: four rings leave it side by side, min(8, 4 x 1) bytes/s. Of
    # the eight hops around, two are between nodes; the part that waits longest meets both.
    assert seconds(REDUCE["ring"], 4, 8, net=TWO) == 2 * (5 * 0.25 + 2 * 0.5 + 7 * 16 / (8 * 4))


def test_ring_with_one_member_to_a_node_has_one_link():
    assert seconds(REDUCE["ring"], 1, 2, net=TWO) == 2 * 1 * (0.5 + 16 / (2 * 1))


def test_group_inside_a_node_does_not_feel_the_links_between_nodes():
    assert seconds(REDUCE["ring"], 4, 4, net=TWO) == 2 * 3 * (0.25 + 16 / (4 * 8))


def test_tree_goes_up_and_down_three_levels_for_eight_members():
    assert seconds(REDUCE["tree"], 8) == 2 * (3 * 0.25 + 16 / 2)
    assert seconds(BROADCAST["tree"], 8) == 3 * 0.25 + 16 / 2


@pytest.mark.parametrize(("members", "depth"), [(2, 1), (3, 2), (4, 2), (5, 3), (64, 6), (65, 7)])
def test_tree_is_as_deep_as_the_logarithm_rounded_up(members, depth):
    assert seconds(REDUCE["tree"], members, size=0.0) == 2 * depth * 0.25


def test_tree_on_a_ring_hops_as_far_as_there_is_and_a_chain_to_its_neighbour():
    # Around a ring of eight: three levels of a tree, each as far as four links; seven links in a
    # row. A chain has the whole 2 bytes/s; two units a tree apart share half of the ring's half.
    around = replace(ONE.wires[0], kind=Topology.RING, members=8)
    tree, chain = (
        replace(ONE, wires=(replace(around, chained=chained),)) for chained in (False, True)
    )
    assert seconds(REDUCE["tree"], 8, net=tree, size=0.0) == 2 * 3 * 4 * 0.25
    assert seconds(REDUCE["tree"], 8, net=chain, size=0.0) == 2 * 7 * 0.25
    assert seconds(BROADCAST["tree"], 8, net=chain) == 7 * 0.25 + 16 / 2
    assert seconds(BROADCAST["tree"], 8, net=tree) == 3 * 4 * 0.25 + 16 / (2 * 0.5)


def test_tree_crosses_the_slow_links_only_between_nodes():
    # Two hops inside a node of four, one outside; four members share the way out.
    assert seconds(BROADCAST["tree"], 4, 8, net=TWO) == 2 * 0.25 + 0.5 + 16 / 4


def test_hierarchical_all_reduce_leaves_a_quarter_of_the_bytes_for_the_outer_level():
    scatter_and_gather = 2 * 3 * (0.25 + 16 / (4 * 8))
    outside = 2 * 1 * (0.5 + (16 / 4) / (2 * 1))
    found = seconds(REDUCE["hierarchical"], 4, 8, net=TWO)
    assert found == scatter_and_gather + outside == 4.5 + 5.0
    assert seconds(GATHER["hierarchical"], 4, 8, net=TWO) == 4.75


def test_three_levels_each_move_what_the_inner_ones_leave():
    net = Network(wires=(wire(0.0, 8.0), wire(0.0, 4.0), wire(0.0, 1.0)), start=0.0)
    # 2 x (1/2 of 16 bytes at 8, 1/2 of 8 bytes at 4, 1/2 of 4 bytes at 1 byte/s).
    assert seconds(REDUCE["hierarchical"], 2, 4, 8, net=net) == 2 * (1 + 1 + 2)


def test_hierarchical_all_to_all_sends_one_message_to_each_other_node():
    # Three partners inside get a quarter each; then half of the bytes to the other node.
    found = seconds(ALL_TO_ALL["hierarchical"], 4, 8, net=TWO)
    assert found == 3 * (0.25 + 4 / 8) + 1 * (0.5 + 8 / 1)


def test_pairwise_all_to_all_takes_a_step_for_each_partner():
    assert seconds(ALL_TO_ALL["pairwise"], 8) == 7 * (0.25 + 2 / 2)
    # Three partners inside, four outside.
    assert seconds(ALL_TO_ALL["pairwise"], 4, 8, net=TWO) == 3 * (0.25 + 2 / 8) + 4 * (0.5 + 2 / 1)


def test_direct_all_to_all_waits_for_the_busiest_link_only():
    assert seconds(ALL_TO_ALL["direct"], 8) == 0.25 + 7 * 2 / 2
    # Four of eight parts leave the node, at 1 byte/s; inside is done long before.
    assert seconds(ALL_TO_ALL["direct"], 4, 8, net=TWO) == 0.5 + 4 * 2 / 1


def test_direct_all_to_all_stacks_what_passes_outer_levels():
    # Of eight parts seven leave a device, six a node of two, four a rack of two nodes: what goes
    # to another rack passes the port of the node, too.
    net = Network(wires=(wire(0.0, 8.0), wire(0.0, 1.0), wire(0.0, 1.0)), start=0.0)
    assert seconds(ALL_TO_ALL["direct"], 2, 4, 8, net=net) == 6 * 2 / 1


def test_direct_all_reduce_takes_two_hops_or_eight_times_the_bytes():
    assert seconds(GATHER["direct"], 8) == 0.25 + 7 * 2 / 2
    assert seconds(REDUCE["direct"], 8) == 2 * (0.25 + 7 * 2 / 2)
    assert seconds(REDUCE["direct-at-once"], 8) == 0.25 + 7 * 16 / 2


def test_recursive_doubling_takes_three_rounds_of_everything_for_eight_members():
    assert seconds(REDUCE["doubling"], 8) == 3 * (0.25 + 16 / 2)


@pytest.mark.parametrize(("members", "rounds"), [(2, 1), (3, 3), (4, 2), (5, 4), (6, 4), (9, 5)])
def test_members_beyond_a_power_of_two_join_recursive_doubling_before_and_after(members, rounds):
    assert seconds(REDUCE["doubling"], members, size=0.0) == rounds * 0.25


def test_halving_and_doubling_moves_as_little_as_a_ring_in_fewer_steps():
    assert seconds(REDUCE["halving-doubling"], 8) == 2 * (3 * 0.25 + 7 / 8 * 16 / 2)
    assert seconds(GATHER["doubling"], 8) == 3 * 0.25 + 7 / 8 * 16 / 2
    assert seconds(BROADCAST["halving-doubling"], 8) == 2 * (3 * 0.25 + 7 / 8 * 16 / 2)
    # Outside, one member of each node first: half of a quarter of the bytes at 1 byte/s.
    assert seconds(GATHER["doubling"], 4, 8, net=TWO) == 0.5 + 2 / 1 + 2 * 0.25 + 3 / 4 * 16 / 8


def test_doubling_all_to_all_passes_on_half_of_the_bytes_in_every_round():
    assert seconds(ALL_TO_ALL["doubling"], 8) == 3 * (0.25 + 8 / 2)


def test_switch_that_adds_up_takes_every_byte_once():
    assert seconds(REDUCE["in-network"], 8, net=ADDING) == 2 * 0.25 + 16 / 1.5
    assert seconds(GATHER["in-network"], 8, net=ADDING) == 0.25 + 7 / 8 * 16 / 1.5
    assert seconds(BROADCAST["in-network"], 8, net=ADDING) == 0.25 + 16 / 1.5


def test_switches_that_add_up_inside_nodes_work_beside_trees_between_them():
    inner, outer = TWO.wires
    net = replace(TWO, wires=(replace(inner, adding=8.0), outer))
    # 16 bytes into the switch at 8; each node adds up half: all 16 leave once, by four.
    found = seconds(REDUCE["in-network-tree"], 4, 8, net=net)
    assert found == 2 * 0.25 + 2 * 0.5 + max(16 / 8, 16 / 4)


def test_rings_between_nodes_join_no_switches_that_add_up_inside_them():
    inner, outer = TWO.wires
    net = replace(TWO, wires=(replace(inner, adding=8.0), outer))
    assert seconds(REDUCE["in-network"], 4, 8, net=net) == np.inf
    assert seconds(REDUCE["in-network"], 4, 4, net=net) == 2 * 0.25 + 16 / 8


@pytest.mark.parametrize("algorithm", ["in-network", "in-network-tree"])
def test_members_of_one_node_wait_for_no_switch_beyond_it_that_adds_up(algorithm):
    inner, outer = TWO.wires
    both = replace(TWO, wires=(replace(inner, adding=8.0), replace(outer, adding=1.0)))
    assert seconds(REDUCE[algorithm], 4, 4, net=both) == 2 * 0.25 + 16 / 8


def test_trees_between_nodes_take_fewer_hops_than_rings():
    inner, outer = TWO.wires
    net = replace(TWO, wires=(replace(inner, adding=8.0), outer))
    # Sixteen nodes: four hops up, four down; everything up and down, by four devices a node.
    found = seconds(REDUCE["in-network-tree"], 4, 64, net=net)
    assert found == 2 * 0.25 + 2 * 4 * 0.5 + max(16 / 8, 2 * 16 / 4)


def test_switches_that_add_up_between_nodes_take_what_a_ring_inside_has_divided():
    inner, outer = TWO.wires
    net = replace(TWO, wires=(inner, replace(outer, adding=1.0)))
    found = seconds(REDUCE["in-network"], 4, 8, net=net)
    assert found == 2 * 3 * 0.25 + 2 * 0.5 + max(2 * 3 / 4 * 16 / 8, 16 / 4 / 1)


def test_nobody_adds_up_where_no_switch_on_the_way_can():
    inner, outer = TWO.wires
    net = replace(TWO, wires=(inner, replace(outer, adding=1.0)))
    assert seconds(REDUCE["in-network"], 4, 4, net=net) == np.inf
    assert seconds(REDUCE["in-network"], 4, 8, net=TWO) == np.inf


def test_parts_are_handed_out_by_switches_only_where_those_of_every_level_on_the_way_add_up():
    inner, outer = TWO.wires
    adding_inside, adding_outside = replace(inner, adding=8.0), replace(outer, adding=0.5)
    both = replace(TWO, wires=(adding_inside, adding_outside))
    # Three of four parts at 8 bytes/s inside; outside four members share half at 1/2 byte/s each.
    assert seconds(GATHER["in-network"], 4, 8, net=both) == 0.25 + 0.5 + max(12 / 8, 2 / 0.5)
    assert seconds(BROADCAST["in-network"], 4, 8, net=both) == 0.25 + 0.5 + max(16 / 8, 4 / 0.5)
    for wires in ((adding_inside, outer), (inner, adding_outside)):
        net = replace(TWO, wires=wires)
        assert seconds(GATHER["in-network"], 4, 8, net=net) == np.inf
        assert seconds(BROADCAST["in-network"], 4, 8, net=net) == np.inf


@pytest.mark.parametrize("pattern", [Pattern.ALL_REDUCE, Pattern.ALL_GATHER, Pattern.BROADCAST])
def test_one_member_to_a_node_gets_nothing_from_switches_inside_nodes(pattern):
    inner, outer = TWO.wires
    net = replace(TWO, wires=(replace(inner, adding=8.0), outer))
    assert seconds(ALGORITHMS[pattern]["in-network"], 1, 2, net=net) == np.inf
