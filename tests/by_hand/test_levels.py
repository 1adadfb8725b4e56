"""Which links a plan's groups use, by hand: levels, sharing, orders, and latencies.

Two nodes of two devices; 8 bytes a second inside, 1 outside, for each device. A block's sums, or a
replica's gradients, then tell by their seconds where they have been.
"""

from dataclasses import replace

import pytest
from tests.by_hand import meters
from tests.by_hand.networks import network
from tests.by_hand.written import FIRST, HALVES, LAST, WHOLE

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Level, Technology
from foretrain.plan.plan import ContextExchange, Plan, Sharding
from foretrain.step.setting import setting

SUMS = (1 + 2 * 4 + 1) * 2 * 1 / 2 * 2 * 24 * 36  # bytes of tensor 2, as in `written`


def nodes(*, inside=8.0, outside=1.0, latencies=(0.0, 0.0), members=(2, 2), **fabric):
    technology = Technology.INFINIBAND
    outer = meters.link(wire=outside, latency=latencies[1], technology=technology, **fabric)
    return Cluster(
        name="by hand",
        device=meters.device(),
        levels=(
            Level(
                name="node",
                members=members[0],
                link=meters.link(wire=inside, latency=latencies[0]),
            ),
            Level(name="fabric", members=members[1], link=outer),
        ),
    )


def on(cluster, plan, **coefficients):
    known = setting(network(), cluster, meters.IDEAL.changed(coefficients))
    return meters.measured(known, [plan])[0]


TENSOR_INSIDE = Plan(tensor=2, data=2)
TENSOR_OUTSIDE = replace(TENSOR_INSIDE, order=("data", "tensor", "context", "pipeline"))


def test_axis_that_stands_first_is_inside_a_node():
    # narayanan2021, section 3: neighbours are members of the first axis.
    [found] = on(nodes(), TENSOR_INSIDE)
    assert found["tensor"] == pytest.approx(SUMS / 8)
    assert found["gradients"] == pytest.approx(2 * 1 / 2 * 4 * HALVES / 1)


def test_other_order_has_the_other_axis_inside():
    [found] = on(nodes(), TENSOR_OUTSIDE)
    assert found["tensor"] == pytest.approx(SUMS / 1)
    assert found["gradients"] == pytest.approx(2 * 1 / 2 * 4 * HALVES / 8)


def test_devices_of_a_node_share_what_may_leave_it():
    # One card for both devices, whose groups leave at the same moment.
    [found] = on(nodes(capacity=1.0), TENSOR_INSIDE)
    assert found["gradients"] == pytest.approx(2 * 1 / 2 * 4 * HALVES / (1 / 2))


def test_link_that_carries_one_direction_at_a_time_is_half_as_quick():
    [found] = on(nodes(duplex=False), TENSOR_INSIDE)
    assert found["gradients"] == pytest.approx(2 * 1 / 2 * 4 * HALVES / (1 / 2))


def test_ring_over_both_levels_leaves_a_node_with_both_devices_side_by_side():
    # patarasuk2009: 2 x 3/4 of the bytes pass each node's border, two rings at 1 byte/s; level by
    # level (jia2018) 2 x 1/2 inside at 8, then 2 x 1/2 of the half that is left at 1: less.
    [found] = on(nodes(), Plan(data=4))
    ring, by_level = 2 * 3 / 4 / 2, 2 * (1 / 2 / 8 + 1 / 2 / 2 / 1)
    assert by_level < ring
    assert found["gradients"] == pytest.approx(by_level * 4 * WHOLE)


def test_shards_inside_nodes_add_up_their_parts_between_them():
    # zhao2023, section 3.2.2.
    plan = Plan(data=4, sharding=Sharding.PARAMETERS, shard=2)
    [found] = on(nodes(), plan)
    assert found["gathered"] == pytest.approx(2 * 1 / 2 * 2 * WHOLE / 8)
    assert found["reduced"] == pytest.approx(1 / 2 * 4 * WHOLE / 8)
    assert found["gradients"] == pytest.approx(2 * 1 / 2 * 4 * WHOLE / 2 / 1)


def test_message_to_the_next_stage_takes_the_slowest_hop_and_waits_for_it():
    stages = Plan(tensor=2, pipeline=2)
    first, last = on(nodes(latencies=(3.0, 5.0)), stages)
    assert first["send"] == last["send"] == pytest.approx(5 + 2 * 24 * 36 / 2 / 1)
    inside = replace(stages, order=("pipeline", "tensor", "context", "data"))
    assert on(nodes(latencies=(3.0, 5.0)), inside)[0]["send"] == pytest.approx(
        3 + 2 * 24 * 36 / 2 / 8
    )


def test_sender_has_the_shares_of_neighbours_that_do_not_send():
    # Two stages in each of two nodes with a card of a byte a second: of the two devices of a node
    # only the last one's message leaves it, and has the card to itself.
    here = nodes(capacity=1.0, latencies=(3.0, 5.0))
    deep = setting(network(layers=4), here, meters.IDEAL)
    [stages] = meters.measured(deep, [Plan(pipeline=4)])
    assert stages[0]["send"] == pytest.approx(5 + 2 * 24 * 36 / 1)
    # Where both members of a tensor axis send, each has half.
    [found, _] = on(nodes(capacity=1.0), Plan(tensor=2, pipeline=2))
    assert found["send"] == pytest.approx(2 * 24 * 36 / 2 / (1 / 2))


def test_hops_of_a_sum_are_there_and_back():
    quick = nodes(inside=meters.QUICK, outside=meters.QUICK, latencies=(3.0, 5.0))
    [found] = on(quick, TENSOR_INSIDE)
    # Ten sums, each two hops of 3 s (patarasuk2009); gradients two of 5 s.
    assert found["tensor"] == pytest.approx(10 * 2 * 3)
    assert found["gradients"] == pytest.approx(2 * 5)


def test_hops_of_a_ring_of_keys_are_one_for_each_other_member():
    quick = nodes(inside=meters.QUICK, outside=meters.QUICK, latencies=(3.0, 5.0), members=(4, 1))
    [found] = on(quick, Plan(context=4, exchange=ContextExchange.RING))
    # liu2023: three hops round; backward as often with the gradients beside. Two blocks.
    assert found["context"] == pytest.approx(2 * (1 + 2) * 3 * 3)


def test_collective_starts_once_whatever_it_moves():
    quick = nodes(inside=meters.QUICK, outside=meters.QUICK)
    [found] = on(quick, TENSOR_INSIDE, **{"links.start": 7.0})
    assert (found["tensor"], found["gradients"]) == (pytest.approx(10 * 7), pytest.approx(7))


def test_links_reach_a_share_of_their_bandwidth_by_what_they_are_made_of():
    shares = {"links.nvlink": 1 / 2, "links.infiniband": 1 / 4}
    [found] = on(nodes(), TENSOR_INSIDE, **shares)
    assert found["tensor"] == pytest.approx(SUMS / (8 / 2))
    assert found["gradients"] == pytest.approx(2 * 1 / 2 * 4 * HALVES / (1 / 4))


def test_stages_reduce_gradients_each_among_its_own_replicas():
    first, last = on(nodes(), Plan(data=2, pipeline=2))
    assert first["gradients"] == pytest.approx(2 * 1 / 2 * 4 * FIRST / 8)
    assert last["gradients"] == pytest.approx(2 * 1 / 2 * 4 * LAST / 8)
