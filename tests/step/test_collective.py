"""A group takes the cheapest algorithm that its library knows; rows do not feel each other."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.collective_groups import TWO, groups, inside, sizes, wire
from tests.examples import few

from foretrain.step.collective import FLAGGED, exchange, send
from foretrain.step.collectives import ALGORITHMS, EVERY
from foretrain.step.collectives.group import group
from foretrain.step.collectives.network import LIBRARY, NCCL, Network, Wire, network
from foretrain.step.strategies.strategy import Pattern
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT

CLUSTERS = ("dgx-a100", "dgx-h100", "dgx-1-v100", "ethernet-100g", "abci")
patterns = st.sampled_from(Pattern)


def seconds(members, net, *, size, pattern):
    return exchange(members, net).seconds(np.array([size]), pattern)[0]


def by_name(members, net, *, size, pattern):
    """Seconds by each algorithm that the network knows, start-up and protocols included.

    Of sizes a column of seconds each.
    """
    times = {}
    for name, algorithm in ALGORITHMS[pattern].items():
        if name not in net.known:
            continue
        times[name] = took(algorithm, members, net, size=size)
        for protocol in net.protocols:
            if name in FLAGGED and carried(protocol, members, net):
                over = net.over(protocol, name)
                times[f"{name} {protocol.name}"] = took(algorithm, members, over, size=size)
    return times


def took(algorithm, members, net, *, size):
    line = algorithm(group(members, net))
    return net.start + line.fixed[0] + line.per_byte[0] * size


def carried(protocol, members, net):
    """Whether every level that the members meet over carries a protocol."""
    levels = zip([np.ones(1), *members[:-1]], members, net.wires, strict=True)
    return all(protocol.name in wire.carries for below, here, wire in levels if here > below)


@pytest.mark.parametrize("known", [NCCL, EVERY], ids=["nccl", "every"])
@pytest.mark.parametrize("pattern", Pattern)
@pytest.mark.parametrize("name", CLUSTERS)
def test_chosen_algorithm_takes_the_least_of_all_that_are_known(name, pattern, known):
    net = replace(network(cluster(name, nodes=64), DEFAULT), known=known)
    outer = [1] * (len(net.wires) - 2)
    for first, last in ((2, 2), (4, 4), (8, 8), (1, 64), (2, 6), (4, 32), (8, 24), (8, 512)):
        members = inside(first, *(first * count for count in outer), last)
        bytes_ = 2.0 ** np.arange(0, 40, 2)
        times = by_name(members, net, size=bytes_, pattern=pattern)
        for row, size in enumerate(bytes_):
            at = {each: column[row] for each, column in times.items()}
            found = exchange(members, net)
            chosen = str(found.choice(np.array([size]), pattern)[0])
            assert at[chosen] == min(at.values())
            assert found.seconds(np.array([size]), pattern)[0] == min(at.values())


@few(40)
@given(group=groups(), size=sizes, pattern=patterns)
def test_chosen_algorithm_takes_the_least_on_any_cluster(group, size, pattern):
    members, net = group
    if members[-1][0] > 1 and size:
        times = by_name(members, net, size=size, pattern=pattern)
        assert seconds(members, net, size=size, pattern=pattern) == min(times.values())


@few(40)
@given(group=groups(), size=sizes, pattern=patterns)
def test_library_that_knows_more_never_takes_longer(group, size, pattern):
    members, net = group
    fewer = replace(net, known=NCCL)
    more = seconds(members, replace(net, known=EVERY), size=size, pattern=pattern)
    assert more <= seconds(members, fewer, size=size, pattern=pattern)


@few(40)
@given(data=st.data(), pattern=patterns)
def test_row_of_a_table_equals_the_group_alone(data, pattern):
    members, net = data.draw(groups())
    others = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    table = [np.concatenate([[level[0] * times for times in others], level]) for level in members]
    bytes_ = np.array(data.draw(st.lists(sizes, min_size=len(table[0]), max_size=len(table[0]))))
    together = exchange(table, net)
    for row, size in enumerate(bytes_):
        alone = exchange([level[row : row + 1] for level in table], net)
        one = np.array([size])
        assert together.seconds(bytes_, pattern)[row] == alone.seconds(one, pattern)[0]
        assert together.choice(bytes_, pattern)[row] == alone.choice(one, pattern)[0]


@few(40)
@given(group=groups(), size=sizes, pattern=st.sampled_from([Pattern.ALL_GATHER, Pattern.BROADCAST]))
def test_switches_that_add_up_do_not_help_to_gather_over_a_level_without_them(group, size, pattern):
    members, net = group
    below = [np.ones(1), *members[:-1]]
    crossed = [
        wire for wire, under, here in zip(net.wires, below, members, strict=True) if here > under
    ]
    if not all(wire.adding for wire in crossed):
        plain = replace(net, wires=tuple(replace(wire, adding=0.0) for wire in net.wires))
        with_switches = seconds(members, net, size=size, pattern=pattern)
        assert with_switches == seconds(members, plain, size=size, pattern=pattern)


@few(60)
@given(
    adding=st.sampled_from([0.0, 0.75, 1.0]),
    narrower=st.sampled_from([2.0, 4.0, 8.0, 50.0]),
    nodes=st.sampled_from([2, 4, 8]),
    size=sizes,
    pattern=patterns,
)
def test_same_members_on_more_nodes_are_never_quicker(adding, narrower, nodes, size, pattern):
    # A hop between nodes takes as long as eight inside, so that no shorter chain makes up for it,
    # and adapters are narrower than links inside, or more of them would be a gain.
    inner = wire(3e-6, 360e9, adding=adding * 360e9)
    net = Network(wires=(inner, wire(2.4e-5, 360e9 / narrower)), start=8.4e-6)
    fewer = seconds(inside(16 // nodes, 8), net, size=size, pattern=pattern)
    more = seconds(inside(8 // nodes, 8), net, size=size, pattern=pattern)
    assert more >= fewer * (1 - 1e-12)


def test_gather_of_eight_h100_over_two_nodes_takes_as_long_as_the_way_out_of_them():
    net = replace(network(cluster("dgx-h100", nodes=2), DEFAULT), known=LIBRARY)
    bytes_ = np.array([268e6])
    found = exchange(inside(4, 8), net)
    assert found.choice(bytes_, Pattern.ALL_GATHER)[0] == "ring"
    # 7/8 of the bytes over four adapters of 46 GB/s; five hops of 3.4 us, two of 14; the start.
    seconds = 268e6 * 7 / 8 / (4 * 46e9) + 5 * 3.4e-6 + 2 * 14e-6 + 8.4e-6
    assert found.seconds(bytes_, Pattern.ALL_GATHER)[0] == pytest.approx(seconds, rel=1e-12)


def test_operators_share_the_groups_of_their_plans():
    found = exchange([np.array([1.0, 4.0]), np.array([8.0, 4.0])], TWO)
    bytes_ = np.array([[16.0, 32.0], [0.0, 8.0]])
    together = found.seconds(bytes_, Pattern.ALL_GATHER)
    for row, one in enumerate(bytes_):
        np.testing.assert_array_equal(together[row], found.seconds(one, Pattern.ALL_GATHER))
    assert found.choice(bytes_, Pattern.ALL_GATHER).shape == bytes_.shape


def test_rows_that_are_taken_keep_their_groups():
    found = exchange([np.array([1.0, 4.0]), np.array([8.0, 4.0])], TWO)
    bytes_ = np.array([16.0, 32.0])
    swapped = found.take(np.array([1, 0])).seconds(bytes_[::-1], Pattern.ALL_REDUCE)
    np.testing.assert_array_equal(swapped, found.seconds(bytes_, Pattern.ALL_REDUCE)[::-1])


@few(40)
@given(group=groups(), pattern=patterns)
def test_no_bytes_take_no_time(group, pattern):
    assert seconds(*group, size=0.0, pattern=pattern) == 0.0


@few(40)
@given(group=groups(), size=sizes, pattern=patterns)
def test_member_that_is_alone_sends_nothing(group, size, pattern):
    alone = inside(*[1] * len(group[0]))
    assert seconds(alone, group[1], size=size, pattern=pattern) == 0.0
    line = send(alone, group[1])
    assert (line.fixed[0], line.per_byte[0]) == (0.0, 0.0)


def test_small_messages_take_the_tree_and_large_ones_the_ring():
    net = Network(wires=(wire(0.25, 2.0),), start=0.5)
    few = exchange(inside(8), net).take(np.zeros(2, int))
    chosen = few.choice(np.array([1.0, 1e6]), Pattern.ALL_REDUCE)
    assert chosen.tolist() == ["tree", "ring"]
    small, large = few.seconds(np.array([1.0, 1e6]), Pattern.ALL_REDUCE)
    assert small == 0.5 + 2 * (3 * 0.25 + 1 / 2)
    assert large == 0.5 + 2 * 7 * 0.25 + 2 * 7 / (8 * 2) * 1e6


def test_two_nodes_of_eight_take_what_the_documentation_says():
    net = Network(wires=(wire(0.0, 300e9), wire(0.0, 25e9)), start=0.0)
    times = by_name(inside(8, 16), net, size=1e9, pattern=Pattern.ALL_REDUCE)
    assert times["hierarchical"] == pytest.approx(10.833e-3, rel=1e-4)
    assert times["ring"] == pytest.approx(9.375e-3, rel=1e-12)
    assert times["tree"] == pytest.approx(6.667e-3, rel=1e-4)
    found = seconds(inside(8, 16), net, size=1e9, pattern=Pattern.ALL_REDUCE)
    assert found == times["tree"]


def test_message_between_stages_takes_the_slowest_hop_that_it_may_meet():
    def took(*members):
        line = send(inside(*members), TWO)
        return float(line.fixed[0] + line.per_byte[0] * 16.0)

    assert took(4, 4) == 0.25 + 16 / 8
    assert took(4, 8) == 0.5 + 16 / 1
    assert took(1, 2) == 0.5 + 16 / 1


def test_last_of_the_stages_inside_a_node_has_the_way_out_for_itself():
    # Nodes of eight behind one port of 8 bytes/s that any device may fill.
    port = Network(wires=(wire(0.0, 100.0), Wire(latency=0.0, alone=8.0, share=1.0)), start=0.0)
    # One stage, two stages, four, eight in a node: 8, 4, 2, 1 of its devices send out of it.
    for within, reached in ((1, 1.0), (2, 2.0), (4, 4.0), (8, 8.0), (16, 8.0)):
        assert send(inside(within, 32), port).per_byte[0] == 1 / reached
