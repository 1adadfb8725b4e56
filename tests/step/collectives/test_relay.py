"""Relays: a message in pieces, and as a whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.collective_groups import TWO, groups, inside, wire
from tests.examples import few

from foretrain.step.collectives import in_network, rings
from foretrain.step.collectives.group import group, relayed
from foretrain.step.collectives.network import Network

RELAYS = {
    "tree": rings.tree_all_reduce,
    "tree down": rings.tree_broadcast,
    "ring": rings.ring_broadcast,
    "switches": in_network.all_reduce,
    "switches and trees": in_network.all_reduce_over_trees,
}


def least(way, members, size):
    """Seconds by the better of both lines."""
    lines = [algorithm(members) for algorithm in relayed("any", way).values()]
    return min(float(line.fixed[0] + line.per_byte[0] * size) for line in lines)


@few(40)
@given(
    of=groups(), name=st.sampled_from(sorted(RELAYS)), size=st.sampled_from([1.0, 1e6, 1e7, 1e9])
)
def test_a_piece_is_the_message_or_as_large_as_pieces_may_be(of, name, size):
    members = group(*of)
    way = RELAYS[name](members)
    if np.isfinite(way.hops[0]):
        piece = min(size, members.piece * way.at_once[0])
        seconds = way.hops + way.busiest * size + (way.way - way.busiest) * piece
        np.testing.assert_allclose(least(RELAYS[name], members, size), seconds[0], rtol=1e-9)


@few(40)
@given(of=groups(), name=st.sampled_from(sorted(RELAYS)))
def test_no_link_carries_more_than_all_links_on_the_way(of, name):
    way = RELAYS[name](group(*of))
    assert 0.0 <= way.busiest[0] <= way.way[0] * (1 + 1e-12)


def test_members_below_switches_that_add_up_each_hand_out_pieces_of_their_own():
    adding = wire(0.25, 8.0, adding=4.0)
    node = group(inside(8, 8), Network(wires=(adding, wire(0.5, 4.0)), start=0.0))
    nodes = group(inside(8, 16), Network(wires=(adding, wire(0.5, 4.0)), start=0.0))
    # Eight at a time, in chunks of a quarter of a slot; in whole slots where a tree joins nodes.
    assert in_network.all_reduce(node).at_once[0] == 2.0
    assert in_network.all_reduce_over_trees(nodes).at_once[0] == 8.0
    assert rings.tree_all_reduce(nodes).at_once[0] == 1.0


def test_two_below_such_switches_still_hand_out_a_piece():
    adding = wire(0.25, 8.0, adding=4.0)
    assert (
        in_network.all_reduce(group(inside(2), Network(wires=(adding,), start=0.0))).at_once[0] == 1
    )


def test_chain_of_four_fills_before_it_runs():
    chain = Network(wires=(wire(0.25, 2.0),), start=0.0, piece=4.0)
    links = group(inside(4), chain)
    # Three hops; a piece of 4 bytes over three links of 2 bytes/s, then 12 more over the last one.
    assert least(rings.ring_broadcast, links, 16.0) == 3 * 0.25 + 3 * 4 / 2 + 12 / 2
    # A message smaller than a piece goes over one link after the other.
    assert least(rings.ring_broadcast, links, 2.0) == 3 * 0.25 + 3 * 2 / 2


def test_trees_inside_nodes_are_chains():
    inner, outer = TWO.wires
    chained = Network(
        wires=(type(inner)(latency=0.25, alone=8.0, share=8.0, chained=True), outer), start=0.0
    )
    # Three hops along a node of four and one to the other node, up and down; all bytes pass each
    # device of the chain twice, and half of them the way out each way.
    members = group(inside(4, 8), chained)
    assert rings.tree_all_reduce(members).hops[0] == 2 * (3 * 0.25 + 0.5)
    assert rings.tree_all_reduce(members).way[0] == 2 * (3 / 8 + 0.5 / 4)
    assert rings.tree_all_reduce(members).busiest[0] == 2 / 8
