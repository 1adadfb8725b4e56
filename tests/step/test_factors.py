"""Factors: what a formula does not declare does not move it."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_nouns import questions
from tests.step.prices import parts, seconds

from foretrain.plan.plan import AXES, CUTS, SAID, Offload, Recompute, Schedule, Sends, Sharding
from foretrain.plan.table import distinct, table_of
from foretrain.step.collective import exchange
from foretrain.step.held import hold
from foretrain.step.layers import (
    COMPUTE_READS,
    READS,
    LayerMemory,
    LayerTimes,
    layer_memory,
    layer_times,
)
from foretrain.step.memory import heaviest_total
from foretrain.step.step import factors
from foretrain.step.strategies.strategy import Axis

OTHERS = {
    "data": st.integers(1, 64),
    "pipeline": st.integers(1, 64),
    "interleaving": st.integers(1, 8),
    "sharding": st.sampled_from(Sharding),
    "shard": st.integers(0, 64),
    "reshard": st.booleans(),
    "offload": st.sampled_from(Offload),
    "offload_layers": st.integers(0, 8),
    "schedule": st.sampled_from(Schedule),
    "sends": st.sampled_from(Sends),
    "cut": st.sampled_from([*CUTS, (1, 2)]),
    "order": st.permutations(AXES).map(tuple),
}
FIXED = ("even", "uneven")
"""Cuts that do not follow from how long layers compute."""


def nearest(setting, plans):
    """All members of every axis inside the innermost level, whatever the plans say."""
    axes = {Axis.TENSOR: plans.tensor}
    if setting.workload.model.attends:
        axes[Axis.CONTEXT] = plans.context
    if setting.workload.model.experts:
        axes |= {Axis.EXPERT: plans.expert, Axis.EXPERT_TENSOR: plans.expert_tensor}
    levels = len(setting.cluster.levels)
    return {axis: exchange([each] * levels, setting.network) for axis, each in axes.items()}


def assert_equal(one, other, kind):
    for field in fields(kind):
        np.testing.assert_array_equal(
            getattr(one, field.name), getattr(other, field.name), err_msg=field.name
        )


def test_every_field_of_a_plan_is_read_or_perturbed():
    assert {*READS, *OTHERS} == set(SAID)


@few(40)
@given(question=questions(), others=st.fixed_dictionaries(OTHERS))
def test_layers_read_no_field_that_they_do_not_declare(question, others):
    setting, [plan] = question
    table = table_of([plan])
    groups = nearest(setting, table)
    memory, times = layer_memory(setting, table), layer_times(setting, table, groups=groups)
    for name, other in others.items():
        changed = table_of([replace(plan, **{name: other})])
        assert_equal(memory, layer_memory(setting, changed), LayerMemory)
        assert_equal(times, layer_times(setting, changed, groups=groups), LayerTimes)


@few(20)
@given(question=questions(), kind=st.sampled_from(Recompute), layers=st.integers(0, 3))
def test_compute_reads_no_field_that_it_does_not_declare(question, kind, layers):
    assert set(READS) - set(COMPUTE_READS) == {"recompute", "recompute_layers"}
    setting, [plan] = question
    other = replace(plan, recompute=kind, recompute_layers=layers)
    groups = nearest(setting, table_of([plan]))
    one, two = (layer_times(setting, table_of([p]), groups=groups) for p in (plan, other))
    np.testing.assert_array_equal(one.forward, two.forward)
    np.testing.assert_array_equal(one.backward, two.backward)


@pytest.mark.parametrize("name", ["order", "sends"])
@few(20)
@given(question=questions(cuts=FIXED), data=st.data())
def test_memory_depends_neither_on_placement_nor_on_sends(name, question, data):
    setting, [plan] = question
    other = replace(plan, **{name: data.draw(OTHERS[name])})
    one, two = heaviest_total(setting, hold(setting, table_of([plan, other])))
    assert one == two


@few(20)
@given(question=questions(), sends=st.sampled_from(Sends))
def test_sends_move_waiting_and_the_reduction_it_hides_alone(question, sends):
    setting, [plan] = question
    one, other = parts(setting, plan), parts(setting, replace(plan, sends=sends))
    moved = {name for name in one if one[name] != other[name]}
    assert moved <= {"pipeline", "gradients", "other"}


@few(20)
@given(question=questions())
def test_sharding_the_optimizer_moves_what_follows_the_passes_alone(question):
    setting, [plan] = question
    kinds = (Sharding.NONE, Sharding.OPTIMIZER)
    one, other = (parts(setting, replace(plan, sharding=kind)) for kind in kinds)
    moved = {name for name in one if one[name] != other[name]}
    assert moved <= {"gradients", "parameters", "update", "offload", "bubble", "pipeline", "other"}


@few(20)
@given(question=questions(least=2, most=10, cuts=FIXED))
def test_plans_that_differ_in_nothing_share_one_combination(question):
    setting, plans = question
    held = hold(setting, table_of(plans))
    found = factors(setting, held)
    read = {tuple(getattr(plan, name) for name in READS) for plan in plans}
    cut = {(plan.pipeline, plan.interleaving, plan.cut) for plan in plans}
    assert held.layers.weights.shape[-1] == len(read)
    assert held.cuts.layers.shape[-1] <= len(cut)
    assert found.passes.times.forward.shape[-1] >= len(read)


@given(
    table=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.tuples(*[st.integers(0, 3000)] * width), min_size=1, max_size=30)
    )
)
def test_distinct_rows_and_their_places_give_back_every_column(table):
    columns = list(np.array(table, float).T)
    rows, index = distinct(columns)
    assert len(rows) == len(set(table))
    for column in columns:
        np.testing.assert_array_equal(column[rows][index], column)


@few(20)
@given(question=questions())
def test_groups_that_lie_on_the_same_levels_take_the_same_time(question):
    setting, [plan] = question
    free = [axis for axis in AXES if getattr(plan, axis) == 1]
    if free:
        rest = tuple(axis for axis in plan.order if axis != free[0])
        inner, outer = replace(plan, order=(free[0], *rest)), replace(plan, order=(*rest, free[0]))
        first, last = seconds(setting, inner, outer)
        assert first == last
