from dataclasses import replace
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.mixed_studies import SPACE, kind, llama_workload, two
from tests.small import QUICK_HOST

from foretrain.plan.mixed import lockstep, replica_tables
from foretrain.plan.plan import Schedule, Sharding
from foretrain.plan.study import Space
from foretrain.plan.table import table_of
from foretrain.step.by_replica import of_share, replica_memory, replica_settings, shares, ways
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT

WIDE = replace(SPACE, sharding=None, shard=None, schedule=tuple(Schedule), micro_batch=(1, 2))
MOST = 24


def plans_of(workload, mixed, space=WIDE):
    """Some of the plans by replica that can share the batch."""
    devices = tuple(cluster.devices for cluster in mixed.kinds)
    for table in replica_tables(workload, mixed, space):
        rows = np.flatnonzero(ways(workload, table, devices=devices).last >= 0)
        if len(rows):
            yield table.take(rows[:: 1 + len(rows) // MOST]), devices


def seconds_alone(own, plan, micro_batches):
    """The step of one kind with so many micro-batches of a replica, by the existing estimate."""
    whole = of_share(own, micro_batches * plan.data * plan.micro_batch)
    return price_plan(whole, plan, played=False).step_time


@few(3)
@given(
    nodes=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    share=st.floats(0.2, 1.0),
    batch=st.sampled_from([24, 60]),
)
def test_best_share_is_the_best_of_all(nodes, share, batch):
    workload, mixed = llama_workload(batch), two(kind(nodes[0]), kind(nodes[1], share=share))
    settings = replica_settings(workload, mixed, DEFAULT)
    for table, devices in plans_of(workload, mixed):
        found = shares(settings, table, devices=devices)
        for row in range(0, len(table), 1 + len(table) // 2):
            plan = table.plan(row)
            every = list(every_share(plan, batch, devices))
            best = min(
                max(seconds_alone(s, plan, m) for s, m in zip(settings, pair, strict=True))
                for pair in every
            )
            chosen = tuple(int(many[row]) for many in found.micro_batches)
            assert chosen in every
            assert max(each[row] for each in found.seconds) == pytest.approx(best, rel=1e-9)


def every_share(plan, batch, devices):
    """Micro-batches of a replica of both kinds, by counting."""
    one, two = (each * plan.data // sum(devices) for each in devices)
    unit = plan.pipeline if plan.interleaving > 1 else 1
    together = plan.sharding >= Sharding.GRADIENTS and plan.shard == 0
    for many in range(unit, batch + 1, unit):
        rest = batch / plan.micro_batch - one * many
        if rest > 0 and rest % (two * unit) == 0 and (not together or rest / two == many):
            yield many, int(rest // two)


def test_every_plan_that_counting_finds_a_share_for_is_kept():
    workload, mixed = llama_workload(36), two(kind(1), kind(2, share=0.4))
    devices = 4, 8
    for table in replica_tables(workload, mixed, WIDE):
        last = ways(workload, table, devices=devices).last
        for row in range(0, len(table), 1 + len(table) // MOST):
            known = list(every_share(table.plan(row), 36, devices))
            assert len(known) == max(0, last[row] + 1)


@few(4)
@given(nodes=st.tuples(st.integers(1, 3), st.integers(1, 3)), share=st.floats(0.1, 1.0))
def test_shares_add_up_to_the_batch(nodes, share):
    workload, mixed = llama_workload(), two(kind(nodes[0]), kind(nodes[1], share=share))
    settings = replica_settings(workload, mixed, DEFAULT)
    for table, (one, other) in plans_of(workload, mixed):
        first, second = shares(settings, table, devices=(one, other)).micro_batches
        replicas = table.data / (one + other)
        samples = table.micro_batch * replicas * (one * first + other * second)
        np.testing.assert_array_equal(samples, workload.global_batch)
        assert (np.minimum(first, second) >= 1).all()
        assert (first == second)[lockstep(table)].all()


@pytest.mark.parametrize("nodes", [(1, 1), (1, 2), (2, 2)])
def test_two_groups_of_one_kind_are_the_cluster_with_both(nodes):
    """Where each replica gets as much, the step and its memory are those of one kind."""
    workload, mixed = llama_workload(), two(kind(nodes[0]), kind(nodes[1]))
    settings = replica_settings(workload, mixed, DEFAULT)
    whole = setting(workload, kind(sum(nodes)), DEFAULT)
    seen = 0
    for table, devices in plans_of(workload, mixed):
        found = shares(settings, table, devices=devices)
        memory = replica_memory(settings[0], table, found.micro_batches[0])
        for row in np.flatnonzero(found.micro_batches[0] == found.micro_batches[1])[:8]:
            alone = price_plan(whole, table.plan(int(row)), played=False)
            assert max(each[row] for each in found.seconds) == pytest.approx(alone.step_time)
            assert memory[row] == alone.memory.total
            seen += 1
    assert seen > 20


def test_equal_kinds_never_take_longer_than_equal_shares():
    workload, mixed = llama_workload(), two(kind(2), kind(2))
    settings = replica_settings(workload, mixed, DEFAULT)
    for table, devices in plans_of(workload, mixed):
        found = np.maximum(*shares(settings, table, devices=devices).seconds)
        many = workload.global_batch / (table.data * table.micro_batch)
        # Where stages are interleaved, only whole rounds of micro-batches are a share.
        even = many % np.where(table.interleaving > 1, table.pipeline, 1) == 0
        for row in np.flatnonzero(even)[:6]:
            alone = seconds_alone(settings[0], table.plan(int(row)), int(many[row]))
            assert found[row] <= alone * (1 + 1e-9)


@few(4)
@given(share=st.floats(0.1, 0.9), more=st.floats(1.0, 1.1))
def test_faster_second_kind_never_hurts(share, more):
    workload = llama_workload()
    slow, fast = two(kind(1), kind(2, share=share)), two(kind(1), kind(2, share=share * more))
    pairs = zip(plans_of(workload, slow), plans_of(workload, fast), strict=True)
    settings = [replica_settings(workload, mixed, DEFAULT) for mixed in (slow, fast)]
    for (table, devices), _ in pairs:
        before, after = (np.maximum(*shares(s, table, devices=devices).seconds) for s in settings)
        assert (after <= before * (1 + 1e-12)).all()


def test_faster_kind_gets_the_larger_share():
    workload, mixed = llama_workload(240), two(kind(1), kind(1, share=0.5))
    space = replace(SPACE, micro_batch=(1,), tensor=(1,), pipeline=(1,))
    [(table, devices)] = list(plans_of(workload, mixed, replace(space, sharding=(Sharding.NONE,))))
    first, second = shares(
        replica_settings(workload, mixed, QUICK_HOST), table, devices=devices
    ).micro_batches
    assert (first + second == 60).all()
    assert (first > second).all()


def test_replicas_of_either_kind_use_its_own_links_and_meet_over_the_slower():
    fast, slow = kind(1), kind(1, share=0.5)
    links = [replace(level, link=replace(level.link, bandwidth=1e9)) for level in slow.levels]
    mixed = two(fast, replace(slow, levels=tuple(links)))
    own = replica_settings(llama_workload(), mixed, DEFAULT)[0]
    assert own.network == setting(own.workload, kind(2), DEFAULT).network
    assert own.between.wires[1].alone < own.network.wires[1].alone


def test_lockstep_is_asked_of_those_who_meet_in_every_pass():
    mixed = two(kind(1), kind(1, share=0.5))
    space = Space(tensor=(1,), context=(1,), pipeline=(1,), micro_batch=(1,))
    for table in replica_tables(llama_workload(), mixed, space):
        for row in range(len(table)):
            plan = table.plan(row)
            assert plan.data % gcd(*(c.devices for c in mixed.kinds)) == 0
            together = plan.sharding >= Sharding.GRADIENTS and not plan.shard
            assert lockstep(table_of([plan]))[0] == together
            assert not plan.shard or 4 % plan.shard == 0
