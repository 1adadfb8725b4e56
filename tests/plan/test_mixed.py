"""Plans on two kinds of devices: every legal one once, and none that crosses kinds elsewhere."""

from dataclasses import replace
from itertools import product
from math import gcd

import pytest
from tests.mixed_studies import SPACE, kind, llama_workload, two
from tests.small import mixture

from foretrain.plan.enumeration import plan_tables
from foretrain.plan.legality import problems
from foretrain.plan.mixed import ORDERS, replica_tables, stage_tables
from foretrain.plan.plan import AXES, GroupedBy, Recompute, Sharding
from foretrain.plan.study import Space
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

MIXED = two(kind(1), kind(2, share=0.5))
WIDE = replace(SPACE, sharding=None, shard=None)


def plans(tables):
    return [table.plan(row) for table in tables for row in range(len(table))]


def test_every_replica_lies_on_one_kind():
    found = plans(replica_tables(llama_workload(), MIXED, WIDE))
    assert found
    for plan in found:
        assert plan.devices == MIXED.devices
        each = plan.devices // plan.data
        assert all(cluster.devices % each == 0 for cluster in MIXED.kinds)
        assert plan.order[-1] == "data" or plan.pipeline == 1


def test_every_stage_lies_on_one_kind():
    found = plans(stage_tables(llama_workload(), MIXED, WIDE))
    assert found
    for plan in found:
        assert plan.devices == MIXED.devices
        stage = plan.devices // plan.pipeline
        assert all(cluster.devices % stage == 0 for cluster in MIXED.kinds)
        assert plan.order == ORDERS[GroupedBy.STAGE]


@pytest.mark.parametrize("tables", [replica_tables, stage_tables])
def test_every_plan_comes_once(tables):
    found = [str(plan) for plan in plans(tables(llama_workload(), MIXED, WIDE))]
    assert len(set(found)) == len(found)


def test_shards_that_meet_in_every_pass_are_of_one_kind_or_of_all():
    found = plans(replica_tables(llama_workload(), MIXED, WIDE))
    shards = {plan.shard for plan in found if plan.sharding >= Sharding.GRADIENTS}
    assert shards == {0, 2, 4}
    for plan in found:
        if plan.shard:
            on = gcd(*(cluster.devices for cluster in MIXED.kinds)) * plan.data // plan.devices
            assert on % plan.shard == 0


def test_experts_are_spread_over_one_kind():
    workload = Workload(model=mixture(), global_batch=24)
    space = Space(micro_batch=(1,), recompute=None, cut=("balanced",))
    for plan in plans(replica_tables(workload, MIXED, space)):
        among = plan.tensor * plan.context * plan.data // 3
        assert among % (plan.expert * plan.expert_tensor) == 0


def ways_to_shard(plan):
    """One copy of the parameters in every way, be it legal or not."""
    replicas = plan.data * plan.context
    for sharding, shard, reshard in product(Sharding, range(replicas + 1), (True, False)):
        named = reshard or sharding is Sharding.PARAMETERS
        if named and (sharding or not shard):
            yield replace(plan, sharding=sharding, shard=shard, reshard=reshard)


@pytest.mark.parametrize("more", [2, 3])
@pytest.mark.parametrize("experts", [False, True])
def test_replicas_share_in_every_legal_way_that_stays_on_one_kind(experts, more):
    """Plans of as many devices as both kinds are multiples of, with so many times the replicas."""
    mixed = two(kind(1), kind(more - 1, share=0.5))
    model = mixture() if experts else llama_workload().model
    workload = Workload(model=model, global_batch=48)
    space = Space(
        micro_batch=(1, 2),
        interleaving=(1,),
        recompute=(Recompute.NONE,),
        attention=(Attention.FLASH,),
        reshard=(True, False),
    )
    alone = kind(mixed.devices, node_devices=1)
    plain = replace(space, sharding=(Sharding.NONE,))
    few = plans(plan_tables(workload, mixed.first, plain, devices=(4,)))
    legal = {
        replace(each, order=AXES)
        for plan in few
        for each in ways_to_shard(replace(plan, data=more * plan.data))
        if not each.shard or plan.data * plan.context % each.shard == 0
        if not problems(workload, alone, each)
    }
    found = [replace(plan, order=AXES) for plan in plans(replica_tables(workload, mixed, space))]
    assert len(found) == len(set(found)) > 100
    assert set(found) == legal


def test_degree_of_the_data_axis_counts_the_replicas_of_both_kinds():
    space = replace(WIDE, data=(6,))
    assert {plan.data for plan in plans(replica_tables(llama_workload(), MIXED, space))} == {6}
    assert not plans(replica_tables(llama_workload(), MIXED, replace(WIDE, data=(4,))))


def test_listed_orders_are_tried_where_they_keep_a_kind_together():
    outer = ("tensor", "pipeline", "context", "data")
    space = replace(WIDE, order=(AXES, outer))
    replicas = plans(replica_tables(llama_workload(), MIXED, space))
    assert {plan.order for plan in replicas} == {outer}
    assert {plan.order for plan in plans(stage_tables(llama_workload(), MIXED, space))} == {AXES}


def test_listed_cuts_are_kept():
    space = replace(WIDE, cut=((1, 2, 3),), pipeline=(3,), interleaving=(1,))
    found = plans(stage_tables(llama_workload(), MIXED, space))
    assert {plan.cut for plan in found} == {(1, 2, 3)}
