"""Memory that is used again within a step: loss, layers, gradients and update one after another."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.plan.plan import Plan, Recompute
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.memory import stage_memory
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.trainers.software import Software
from foretrain.workload.gradients import CODECS
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Optimizer, Workload

MODEL = build("llama-2-7b", sequence=512)
PURE = Workload(
    model=MODEL,
    global_batch=1,
    optimizer=Optimizer.ADAMW_16BIT,
    gradients=CODECS["bf16"],
    master_copy=False,
)
PHASED = Software(phased=True)
PLAN = Plan(recompute=Recompute.FULL)
NODE = cluster("dgx-a100", 1)
batches = st.sampled_from([1, 2, 8, 32])


def needs(software, *, plan=PLAN, workload=PURE):
    """What the allocator hands out."""
    devices = replace(NODE, levels=tuple(replace(it, members=1) for it in NODE.levels))
    asked = setting(workload, devices, DEFAULT, software=software)
    return float(stage_memory(asked, hold(asked, table_of([plan])), run=0).allocated[0])


def batch(samples, micro=None):
    return {
        "plan": replace(PLAN, micro_batch=micro or samples),
        "workload": replace(PURE, global_batch=samples),
    }


def test_a_small_batch_needs_ten_bytes_a_parameter_in_the_update():
    """Weights, gradients, two moments, and a copy of one of them, of two bytes each."""
    assert needs(PHASED) == pytest.approx(10 * MODEL.parameters, rel=1e-9)


def test_a_fused_update_needs_no_copy_of_a_moment():
    fused = needs(replace(PHASED, fused_update=True))
    assert fused == pytest.approx(8 * MODEL.parameters, rel=1e-9)


def test_layers_that_are_updated_at_once_never_have_all_gradients():
    stepwise = needs(replace(PHASED, stepwise=True))
    assert 6 * MODEL.parameters < stepwise < 7 * MODEL.parameters


@given(batches)
def test_phases_need_no_more_than_all_at_once_and_the_copy(samples):
    phased, plain = (needs(each, **batch(samples)) for each in (PHASED, Software()))
    assert phased <= plain + 2 * MODEL.parameters + 1


@given(batches)
def test_a_leaner_update_never_needs_more(samples):
    usual = needs(PHASED, **batch(samples))
    fused = needs(replace(PHASED, fused_update=True), **batch(samples))
    stepwise = needs(replace(PHASED, stepwise=True), **batch(samples))
    assert stepwise <= fused <= usual


def test_gradients_of_several_micro_batches_stay_beside_activations():
    """Two bytes a parameter more, where the passes are the peak."""
    one, several = needs(PHASED, **batch(256)), needs(PHASED, **batch(512, micro=256))
    assert several == pytest.approx(one + 2 * MODEL.parameters, rel=1e-9)


def test_more_samples_never_need_less():
    found = [round(needs(PHASED, **batch(samples))) for samples in (1, 4, 16, 64, 256)]
    assert found == sorted(found)
    assert found[0] < found[-1]
