"""Dispatch: a member that holds several experts of a token gets it once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.collective_groups import ONE, TWO, inside
from tests.examples import few

from foretrain.step.collectives import exchanges
from foretrain.step.collectives.exchanges import distinct_share
from foretrain.step.collectives.group import group
from foretrain.workload.parts.feed_forward import RouterLimit

units = st.integers(1, 1024)
copies = st.integers(1, 32)


def share(count, chosen):
    return float(distinct_share(np.array([float(count)]), chosen)[0])


def seconds(algorithm, *members, net, chosen, size=64.0):
    line = algorithm(group(inside(*members), net, copies=chosen))
    return float(line.fixed[0] + line.per_byte[0] * size)


@few(50)
@given(count=units, chosen=copies)
def test_distinct_units_are_one_at_least_and_no_more_than_there_are(count, chosen):
    distinct = chosen * share(count, chosen)
    assert 1 - 1e-9 <= distinct <= min(count, chosen) * (1 + 1e-9)


def test_eight_experts_on_eight_nodes_lie_on_five_and_a_quarter():
    # deepseek2024v3, section 3.2.2, limits a token to 4 of them for that reason.
    assert 8 * share(8, 8) == pytest.approx(5.251, abs=1e-3)


@pytest.mark.parametrize("algorithm", [exchanges.direct, exchanges.forwarded])
def test_more_receivers_of_as_many_copies_never_take_longer(algorithm):
    times = [seconds(algorithm, 4, 32, net=TWO, chosen=chosen) for chosen in (1, 2, 8, 22)]
    assert times == sorted(times, reverse=True)


def test_single_receivers_take_what_an_all_to_all_does():
    # Seven eighths of 64 bytes at 2 bytes/s, all at once.
    assert seconds(exchanges.direct, 8, net=ONE, chosen=1) == 0.25 + 7 / 8 * 64 / 2
    assert exchanges.direct(group(inside(8), ONE)).per_byte == pytest.approx(
        exchanges.pairwise_all_to_all(group(inside(8), ONE)).per_byte
    )


def test_forwarding_sends_once_to_a_node_while_others_are_handed_on_inside():
    # Two nodes of four and two receivers. A token goes to 3/2 nodes on average, half of the time
    # another one, at 1 byte/s; to 15/8 members, three of four beside one's own, at 8 bytes/s.
    outside, within = 32 * 3 / 2 / 2, 32 * 15 / 8 * 3 / 4 / 8
    chained = replace(TWO, wires=(replace(TWO.wires[0], chained=True), TWO.wires[1]))
    assert seconds(exchanges.forwarded, 4, 8, net=chained, chosen=2) == 0.75 + outside
    # On links of one kind nothing overlaps.
    assert seconds(exchanges.forwarded, 4, 8, net=TWO, chosen=2) == 0.75 + outside + within


def test_eight_experts_in_four_of_eight_nodes_lie_on_three_and_a_half():
    # deepseek2024v3, section 3.2.2: 4 (1 - (3/4)^8) of them.
    limit = RouterLimit(groups=8, most=4)
    nodes, devices, few = (np.array([each]) for each in (8.0, 64.0, 2.0))
    assert 8 * distinct_share(nodes, 8, limit)[0] == pytest.approx(3.5995, abs=1e-4)
    # Devices of these nodes: 32 (1 - (31/32)^8). Two halves: one is missed by 4 groups in 1 of 16.
    assert 8 * distinct_share(devices, 8, limit)[0] == pytest.approx(7.1776, abs=1e-4)
    assert 8 * distinct_share(few, 8, limit)[0] == pytest.approx(15 / 8, rel=0.01)


@few(50)
@given(count=units, chosen=copies, groups=st.sampled_from([1, 2, 4, 8]), most=st.integers(1, 8))
def test_limited_routers_reach_no_more_than_others(count, chosen, groups, most):
    limit = RouterLimit(groups=groups, most=min(most, groups))
    reached = distinct_share(np.array([float(count)]), chosen, limit)[0]
    assert 1 - 1e-9 <= chosen * reached <= chosen * share(count, chosen) * (1 + 1e-9)
