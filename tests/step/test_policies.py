"""What every policy promises: sharding and offloading save memory, an even load is the quickest."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_models import expert_models
from tests.random_nouns import questions
from tests.small import cluster, mixture
from tests.step.prices import parts, seconds

from foretrain.plan.choices import divisors
from foretrain.plan.plan import Offload, Plan, Recompute, Schedule, Sharding
from foretrain.plan.table import table_of
from foretrain.step.held import STEPS, hold
from foretrain.step.layers import layer_compute
from foretrain.step.memory import heaviest_total, stage_memory
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.workload import Workload

ROUNDING = 1e-12


def first_stages(setting, plans):
    return stage_memory(setting, hold(setting, table_of(plans)), run=0)


def states(setting, plans):
    """Weights, gradients and optimizer of the first stage."""
    found = first_stages(setting, plans)
    return found.weights + found.gradients + found.optimizer


@few(25)
@given(question=questions())
def test_sharding_more_never_needs_more_memory_for_states(question):
    setting, [plan] = question
    held = states(setting, [replace(plan, sharding=kind, reshard=True) for kind in Sharding])
    assert (np.diff(held) <= ROUNDING * held[0]).all()


@few(25)
@given(question=questions())
def test_larger_shards_never_need_more_memory_for_states(question):
    setting, [plan] = question
    replicas = plan.data * plan.context
    shards = [each for each in range(2, replicas + 1) if replicas % each == 0] or [0]
    held = states(setting, [replace(plan, shard=shard) for shard in shards])
    assert (np.diff(held) <= ROUNDING * held[0]).all()


@few(25)
@given(question=questions())
def test_parameters_that_are_kept_between_passes_never_need_less_memory(question):
    setting, [plan] = question
    dropped, kept = states(setting, [replace(plan, reshard=reshard) for reshard in (True, False)])
    assert dropped <= kept


@few(25)
@given(question=questions())
def test_offloading_never_needs_more_memory_for_what_it_takes_away(question):
    setting, [plan] = question
    kinds = (Offload.NONE, Offload.OPTIMIZER, Offload.ACTIVATIONS, Offload.BOTH)
    found = first_stages(setting, [replace(plan, offload=kind) for kind in kinds])
    assert (found.optimizer[[1, 3]] == 0).all()
    assert (found.optimizer[[0, 2]] == found.optimizer[0]).all()
    assert (found.gradients <= found.gradients[0] * (1 + ROUNDING)).all()
    assert (found.activations[2:] <= found.activations[0]).all()
    assert found.activations[1] == found.activations[0]
    assert (found.total <= found.total[0] * (1 + ROUNDING)).all()


@few(25)
@given(question=questions(cuts=("even", "uneven")))
def test_full_recomputation_of_more_layers_never_keeps_more(question):
    setting, [plan] = question
    layers = setting.workload.model.cuttable_layers
    some = [
        replace(plan, recompute=Recompute.FULL, recompute_layers=count)
        for count in range(1, layers + 1)
    ]
    none = replace(plan, recompute=Recompute.NONE, recompute_layers=0)
    everything = replace(some[-1], recompute_layers=0)
    kept = first_stages(setting, [none, *some, everything]).activations
    assert (np.diff(kept) <= ROUNDING * kept[0]).all()
    assert kept[-1] == pytest.approx(kept[-2], rel=1e-9)


@few(25)
@given(question=questions(cuts=("even", "uneven")))
def test_activations_of_more_layers_on_the_host_leave_no_more_on_a_device(question):
    setting, [plan] = question
    layers = setting.workload.model.cuttable_layers
    some = [
        replace(plan, offload=Offload.ACTIVATIONS, offload_layers=count)
        for count in range(1, layers + 1)
    ]
    none = replace(plan, offload=Offload.NONE, offload_layers=0)
    everything = replace(some[-1], offload_layers=0)
    kept = first_stages(setting, [none, *some, everything]).activations
    assert (np.diff(kept) <= ROUNDING * kept[0]).all()
    assert kept[-1] == pytest.approx(kept[-2], rel=1e-9)


@few(25)
@given(question=questions(cuts=("even", "uneven")))
def test_gpipe_keeps_at_least_as_much_as_any_other_schedule(question):
    setting, [plan] = question
    assume(plan.interleaving == 1)
    gpipe, *others = first_stages(
        setting, [replace(plan, schedule=kind) for kind in (Schedule.GPIPE, *Schedule)]
    ).activations
    assert all(gpipe >= other for other in others)


@few(25)
@given(question=questions())
def test_context_axis_divides_what_is_kept(question):
    setting, [plan] = question
    plan = plan if not plan.grid else replace(plan, grid=(), context=1)
    many = replace(plan, data=plan.data * plan.context, context=1)
    whole, part = (hold(setting, table_of([each])).layers.kept for each in (many, plan))
    np.testing.assert_allclose(part * plan.context, whole, rtol=1e-12)


def with_imbalance(setting_, factor):
    """The same model whose busiest experts have so many times the tokens."""
    model = setting_.workload.model
    layers = tuple(
        replace(
            layer,
            operators=tuple(
                replace(each, imbalance=each.imbalance * factor) for each in layer.operators
            ),
        )
        for layer in model.layers
    )
    workload = replace(setting_.workload, model=replace(model, layers=layers))
    return setting(workload, setting_.cluster, setting_.coefficients)


@few(20)
@given(question=questions(of=expert_models(), cuts=("even", "uneven")), factor=st.floats(1, 8))
def test_busier_experts_only_slow_a_step_down(question, factor):
    before, [plan] = question
    after = with_imbalance(before, factor)
    assert seconds(after, plan)[0] >= seconds(before, plan)[0] * (1 - ROUNDING)
    if plan.expert == 1:
        assert seconds(after, plan)[0] == seconds(before, plan)[0]


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_experts_are_exchanged_as_often_as_worked_by_hand(degree):
    # Two of four experts per token, 256 tokens of 512 values, two bytes each: there and back in
    # both passes of three layers. Nothing else crosses the expert axis of whole experts.
    here = setting(
        Workload(model=mixture(), global_batch=4), cluster(nodes=1, node_devices=4), DEFAULT
    )
    found = parts(here, Plan(data=4, expert=degree))["expert"]
    link = here.cluster.levels[0].link
    sent = 256 * 512 * 2 * 2 * (degree - 1) / degree
    least = 3 * 4 * sent / link.bandwidth
    assert found == 0 if degree == 1 else found >= least


@few(20)
@given(question=questions(cuts=("balanced",)), data=st.data())
def test_balanced_cut_is_no_slower_than_an_even_one(question, data):
    """Up to the steps in which layers are told apart, with one chunk per stage."""
    setting, [plan] = question
    layers = setting.workload.model.cuttable_layers
    stages = data.draw(st.sampled_from(divisors(layers)))
    plan = replace(plan, pipeline=stages, interleaving=1)
    balanced, even = (slowest(setting, replace(plan, cut=cut)) for cut in ("balanced", "even"))
    longest = layer_compute(setting, table_of([plan])).max()
    assert balanced <= even * (1 + ROUNDING) + (layers + 2) * longest / STEPS


def slowest(setting, plan):
    """Seconds that the slowest stage computes."""
    held = hold(setting, table_of([plan]))
    each = layer_compute(setting, held.plans)[:, 0]
    return max(float((run[:, 0] * each).sum()) for run in held.cuts.layers)


@few(20)
@given(question=questions())
def test_heaviest_stage_counts_whatever_the_cut(question):
    setting, [plan] = question
    held = hold(setting, table_of([plan]))
    stages = [
        stage_memory(setting, held, run=run).total[0]
        for run in held.runs
        if held.stages(run)[0] > 0
    ]
    assert heaviest_total(setting, held)[0] == max(stages)


def test_no_layer_is_gathered_beside_parameters_that_are_kept_between_passes():
    where = cluster(nodes=1, node_devices=8)
    known = setting(Workload(model=mixture(), global_batch=64), where, DEFAULT)
    plan = Plan(data=8, sharding=Sharding.PARAMETERS)
    found = first_stages(known, [plan, replace(plan, reshard=False)])
    gradients = first_stages(known, [replace(plan, sharding=Sharding.GRADIENTS)])
    assert found.buffers[1] == gradients.buffers[0] < found.buffers[0]
