"""Which level each group's bytes cross, by hand: two nodes of two devices.

One level passes 1 byte/s and the other as many as it is given, so that seconds are the bytes that
cross the one. Members of an axis stand next to one another, from the innermost axis outwards
(narayanan2021, section 3.2; megatron-core: tensor, context, data, pipeline).
"""

from functools import cache
from itertools import permutations

import pytest
from tests.by_hand import meters
from tests.by_hand.clock import priced
from tests.by_hand.networks import network

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Level
from foretrain.plan.plan import AXES, ContextExchange, Plan, Sharding
from foretrain.step.setting import setting
from foretrain.step.step import step_times

INSIDE, BETWEEN = "inside nodes", "between nodes"

PRODUCTS = 36 * (48 + 24 + 24) + 48 * 36 + 3 * 36 * 52  # weights of a block's products
WHOLE = 88 * 36 + 2 * (PRODUCTS + 2 * 36) + 88 * 36 + 36  # table, two blocks, logits, their norm
HALF = 88 * 18 + 2 * (PRODUCTS / 2 + 2 * 36) + 88 * 18 + 36  # norms are whole on both members
FIRST = 88 * 36 + PRODUCTS + 2 * 36  # of two stages
STREAM = 2 * 24 * 36  # bytes between two layers
KEYS = 2 * 24 * (24 + 24)


@cache
def asked(level, *, layers=2, routed=False, port=None):
    """Bytes take time on one level alone; `port`: bytes/s of all that leaves a node."""
    inside, between = (1.0 if level == each else meters.QUICK for each in (INSIDE, BETWEEN))
    cluster = Cluster(
        name="two nodes",
        device=meters.device(),
        levels=(
            Level(name="node", members=2, link=meters.link(wire=inside)),
            Level(name="fabric", members=2, link=meters.link(wire=between, capacity=port)),
        ),
    )
    return setting(network(layers=layers, routed=routed), cluster, meters.IDEAL)


def taken(plan, level, **changes):
    """Bytes that the first stage exchanges over a level: in both passes, and once per step."""
    known = asked(level, **changes)
    times = step_times(known, priced(known, plan))
    first = times.stages[0]
    return {
        "passes": first.forward + first.backward,
        "gradients": first.gradients,
        "parameters": first.parameters,
        "send": times.send if plan.pipeline > 1 else 0.0,
    }


def amounts(**others):
    return {"passes": 0.0, "gradients": 0.0, "parameters": 0.0, "send": 0.0} | others


# Of two members one half of every message comes from the other; an all-reduce is a reduce-scatter
# and an all-gather (patarasuk2009, equation 4). What an axis of two exchanges beside another one:
PAIRS = {
    # Four sums for each of two blocks, one of the embedding, one of the head (shoeybi2019, 3); the
    # context axis divides tokens; the first of two stages has a block and the embedding.
    ("tensor", "context"): amounts(passes=10 * STREAM / 2 * 2 * 1 / 2),
    ("tensor", "data"): amounts(passes=10 * STREAM * 2 * 1 / 2),
    ("tensor", "pipeline"): amounts(passes=5 * STREAM * 2 * 1 / 2),
    # Keys and values once forward, and backward again with their gradients (liu2023, section 3);
    # members hold the same parameters (rajbhandari2020, section 2.1).
    ("context", "tensor"): amounts(passes=2 * 3 * KEYS / 2 * 1 / 2, gradients=4 * HALF * 2 * 1 / 2),
    ("context", "pipeline"): amounts(passes=3 * KEYS * 1 / 2, gradients=4 * FIRST * 2 * 1 / 2),
    ("data", "tensor"): amounts(gradients=4 * HALF * 2 * 1 / 2),
    ("data", "pipeline"): amounts(gradients=4 * FIRST * 2 * 1 / 2),
    # narayanan2021, section 4.1: each member sends its part.
    ("pipeline", "tensor"): amounts(send=STREAM / 2),
    ("pipeline", "context"): amounts(send=STREAM / 2),
    ("pipeline", "data"): amounts(send=STREAM),
}
REPLICAS = [("context", "data"), ("data", "context")]
"""Both hold the same parameters, so that they are one group: on both levels."""


@pytest.mark.parametrize(("inner", "outer"), PAIRS)
def test_inner_axis_crosses_links_in_nodes_and_outer_axis_those_between_them(inner, outer):
    rest = (axis for axis in AXES if axis not in (inner, outer))
    plan = Plan(**{inner: 2, outer: 2}, order=(inner, outer, *rest))
    found = taken(plan, INSIDE), taken(plan, BETWEEN)
    expected = PAIRS[inner, outer], PAIRS[outer, inner]
    for seen, by_hand in zip(found, expected, strict=True):
        assert seen == pytest.approx(by_hand, rel=1e-12, abs=1e-9)


def test_every_pair_of_axes_is_written_out():
    assert {*PAIRS, *REPLICAS} == {*permutations(AXES, 2)}


@pytest.mark.parametrize(("inner", "outer"), REPLICAS)
def test_members_of_both_kinds_of_replicas_add_up_gradients_level_by_level(inner, outer):
    """jia2018: half of the bytes inside, half of the half that is left between; there and back."""
    plan = Plan(data=2, context=2, order=(inner, outer, "tensor", "pipeline"))
    keys = 2 * 3 * KEYS * 1 / 2
    assert taken(plan, INSIDE) == pytest.approx(
        amounts(passes=keys * (inner == "context"), gradients=4 * WHOLE * 2 * 1 / 2),
        rel=1e-12,
        abs=1e-9,
    )
    assert taken(plan, BETWEEN) == pytest.approx(
        amounts(passes=keys * (outer == "context"), gradients=4 * WHOLE / 2 * 2 * 1 / 2),
        rel=1e-12,
        abs=1e-9,
    )


def test_tokens_are_exchanged_for_heads_over_the_level_of_their_axis():
    """jacobs2023, section 3: of queries, keys, values and outputs a member has and sends half."""
    swapped = 2 * 2 * 2 * 24 * (48 + 24 + 24 + 48) / 2 * 1 / 2  # two blocks, there and back
    for order, level, other in (
        (("context", "tensor", "data", "pipeline"), INSIDE, BETWEEN),
        (("tensor", "context", "data", "pipeline"), BETWEEN, INSIDE),
    ):
        plan = Plan(tensor=2, context=2, exchange=ContextExchange.ALL_TO_ALL, order=order)
        sums = 10 * STREAM / 2 * 2 * 1 / 2
        halves = 4 * HALF * 2 * 1 / 2
        expected = amounts(passes=swapped / 2, gradients=halves)
        assert taken(plan, level) == pytest.approx(expected, rel=1e-12, abs=1e-9)
        assert taken(plan, other) == pytest.approx(amounts(passes=sums), rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("sharding", [Sharding.OPTIMIZER, Sharding.GRADIENTS, Sharding.PARAMETERS])
def test_shards_of_two_stay_in_a_node_and_their_owners_meet_between_nodes(sharding):
    """zhao2023, section 3.2.2: reduce-scatter and all-gather in a shard; owners add up halves."""
    plan = Plan(data=4, sharding=sharding, shard=2)
    weights, gradients = 2 * WHOLE * 1 / 2, 4 * WHOLE * 1 / 2
    inside = {
        Sharding.OPTIMIZER: amounts(gradients=gradients, parameters=weights),
        Sharding.GRADIENTS: amounts(passes=gradients, parameters=weights),
        Sharding.PARAMETERS: amounts(passes=2 * weights + gradients),
    }[sharding]
    assert taken(plan, INSIDE) == pytest.approx(inside, rel=1e-12, abs=1e-9)
    between = amounts(gradients=4 * WHOLE / 2 * 2 * 1 / 2)
    assert taken(plan, BETWEEN) == pytest.approx(between, rel=1e-12, abs=1e-9)


# Experts: four of 3 x 36 x 20 weights; a block has a shared one of 3 x 36 x 28 and a router.
EXPERT = 3 * 36 * 20
SHARED = 36 * (48 + 24 + 24) + 48 * 36 + 3 * 36 * 28 + 2 * 36 + 36 * 4
COMMON = 88 * 36 + 2 * SHARED + 88 * 36 + 36


def test_experts_on_two_neighbours_are_reached_inside_nodes_and_alike_between_them():
    """lepikhin2020, section 3.2: tokens there and back, both ways; nvidia-moe: innermost axis.

    Two draws of two members reach 2 (1 - 1/4) = 3/2 of them, of which half is oneself; the busiest
    has 5/4 of the mean. Two members hold the same two experts.
    """
    plan = Plan(data=4, expert=2)
    sent = 2 * 4 * STREAM * 1.25 * 3 / 2 * 1 / 2
    common = 4 * COMMON
    # Common gradients: half inside, half of what is left between; there and back.
    assert taken(plan, INSIDE, routed=True) == pytest.approx(
        amounts(passes=sent, gradients=common * 2 * 1 / 2), rel=1e-12, abs=1e-9
    )
    held = 4 * 2 * 2 * EXPERT  # of two blocks two experts each
    assert taken(plan, BETWEEN, routed=True) == pytest.approx(
        amounts(gradients=common / 2 * 2 * 1 / 2 + held * 2 * 1 / 2), rel=1e-12, abs=1e-9
    )


def test_members_that_share_an_expert_are_neighbours_and_those_that_share_all_are_not():
    """nvidia-moe (folding): two tensor members hold half of each expert; two replicas, half of
    the experts, which are reached between nodes."""
    plan = Plan(data=2, tensor=2, expert=2, expert_tensor=2, sequence_parallel=True)
    common = (88 * 36 + 2 * (SHARED - 2 * 36 - 36 * 4) + 88 * 36) / 2 + 2 * (2 * 36 + 36 * 4) + 36
    tokens = STREAM / 2  # of a tensor member
    sent = 2 * 4 * tokens * 1.25 * 3 / 2 * 1 / 2
    between = taken(plan, BETWEEN, routed=True)
    assert between["passes"] == pytest.approx(sent, rel=1e-12)
    assert between["gradients"] == pytest.approx(4 * common * 2 * 1 / 2, rel=1e-12)
    # Common sums: as without experts. Of experts: what came to both is gathered before and
    # scattered after, in both passes: 2 x 5/4 of the tokens of each (korthikanti2022, 4.2.2).
    sums = 10 * STREAM * 2 * 1 / 2
    came = 2 * 4 * 2 * 1.25 * STREAM * 1 / 2
    inside = taken(plan, INSIDE, routed=True)
    assert inside["passes"] == pytest.approx(sums + came, rel=1e-12)
    assert inside["gradients"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("plan", "part"),
    [
        (Plan(data=2, tensor=2), "gradients"),
        (Plan(context=2, tensor=2), "passes"),
        (Plan(pipeline=2, tensor=2), "send"),
        (Plan(data=4, sharding=Sharding.OPTIMIZER, shard=2), "gradients"),
    ],
    ids=str,
)
def test_devices_of_a_node_share_its_port(plan, part):
    """Their groups communicate at once: of 1 byte/s each of two devices has a half."""
    alone, together = (taken(plan, BETWEEN, port=port)[part] for port in (None, 1.0))
    assert together == pytest.approx(2 * alone, rel=1e-12) != 0.0


def test_of_two_stages_on_a_node_one_has_the_port_for_itself():
    plan = Plan(pipeline=4, cut=(1, 1, 1, 1))
    known = asked(BETWEEN, layers=4, port=1.0)
    assert step_times(known, priced(known, plan)).send == pytest.approx(STREAM, rel=1e-12)
