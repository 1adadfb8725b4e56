"""Remedies: every change that is suggested is legal, fits and does not touch the rest."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_nouns import questions
from tests.small import gpt_study, loose, with_memory

from foretrain.plan.legality import problems
from foretrain.plan.plan import SAID, Offload, Plan, Recompute, Sharding
from foretrain.search.explain.limits import remedies
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

FAMILIES = {
    frozenset({"recompute", "recompute_layers"}),
    frozenset({"data", "pipeline", "interleaving"}),
    frozenset({"data", "tensor", "expert_tensor"}),
    frozenset({"data", "context"}),
}
"""Fields that change together; every other field changes alone."""
GPT = gpt_study()
PLAN = Plan(tensor=2, data=4, pipeline=2, micro_batch=4)


def cramped(known, plan, share):
    """The same cluster, whose devices have a share of the memory that the plan needs."""
    needed = price_plan(known, plan, played=False).memory.total
    device = replace(known.cluster.device, memory=share * needed)
    return setting(known.workload, replace(known.cluster, device=device), known.coefficients)


def together(changed):
    return len(changed) == 1 or any(changed <= family for family in FAMILIES)


@few(30)
@given(questions(), st.floats(0.3, 0.99))
def test_every_remedy_is_legal_and_fits(question, share):
    known, [plan] = question
    tight = cramped(known, plan, share)
    for found in remedies(tight, plan, loose()):
        assert not problems(known.workload, found.cluster, found.plan)
        there = setting(known.workload, found.cluster, known.coefficients)
        assert price_plan(there, found.plan, played=False).fits


@few(30)
@given(questions(), st.floats(0.3, 0.99))
def test_every_remedy_changes_one_thing(question, share):
    known, [plan] = question
    tight = cramped(known, plan, share)
    for found in remedies(tight, plan, loose()):
        changed = frozenset(
            name for name in SAID if getattr(plan, name) != getattr(found.plan, name)
        )
        assert together(changed)


def test_limit_on_memory_is_kept_like_the_memory_of_a_device():
    known = setting(GPT.workload, GPT.cluster, DEFAULT)
    needed = price_plan(known, PLAN, played=False).memory.total
    for found in remedies(known, PLAN, loose(memory=0.8 * needed)):
        there = setting(GPT.workload, found.cluster, DEFAULT)
        assert price_plan(there, found.plan, played=False).memory.total <= 0.8 * needed


def test_limit_on_devices_keeps_a_plan_from_growing():
    study = with_memory(GPT, 1e9)
    known = setting(study.workload, study.cluster, DEFAULT)
    wider = remedies(known, PLAN, loose())
    assert any(found.plan.devices > PLAN.devices for found in wider) or not wider
    assert all(found.plan.devices == 16 for found in remedies(known, PLAN, loose(devices=16)))


def test_usual_ways_out_are_found():
    known = setting(GPT.workload, GPT.cluster, DEFAULT)
    tight = cramped(known, PLAN, 0.9)
    found = {each.plan for each in remedies(tight, PLAN, loose())}
    assert replace(PLAN, micro_batch=2) in found
    assert replace(PLAN, sharding=Sharding.OPTIMIZER) in found
    assert {each.offload for each in found} == {Offload.NONE}
    assert any(each.devices == 32 for each in found)


def test_scores_of_plain_attention_may_be_computed_twice_or_never_kept():
    known = setting(GPT.workload, GPT.cluster, DEFAULT)
    plain = replace(PLAN, attention=Attention.PLAIN)
    found = {each.plan for each in remedies(cramped(known, plain, 0.9), plain, loose())}
    assert replace(plain, recompute=Recompute.SELECTIVE) in found
    assert PLAN in found


def test_a_grid_of_devices_over_pictures_is_not_asked_to_hold_more_of_them():
    """A context axis of eight would not fit the grid of four: no such plan can even be written."""
    workload = Workload(model=build("resnet-50", image=224), global_batch=512)
    plan = Plan(data=2, context=4, grid=(2, 2), micro_batch=8)
    known = cramped(setting(workload, GPT.cluster, DEFAULT), plan, 0.9)
    assert {each.plan.context for each in remedies(known, plan, loose())} <= {4}
