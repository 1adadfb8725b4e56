"""Explanations: parts that add up, gains that are differences of estimates, named evidence."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.examples import every

from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.plan import Plan, Recompute
from foretrain.plan.study import Maximise, Space
from foretrain.plan.table import table_of
from foretrain.search.explain.breakdown import added
from foretrain.search.explain.departures import pinned
from foretrain.search.explain.explain import explain
from foretrain.search.explain.levers import LeverKind, neighbours_of
from foretrain.search.explain.limits import BoundBy, slowest_stage
from foretrain.search.result import Verdict
from foretrain.step.estimate import estimate
from foretrain.step.held import hold
from foretrain.step.price import model_flop, price_plan
from foretrain.step.software import study_setting
from foretrain.step.work import peak
from foretrain.study.coefficients import DEFAULT
from foretrain.study.study import study_from

LLAMA = {"model": "llama-3-8b", "sequence": 4096, "precision": "bf16", "optimizer": "adamw"}
RESNET = {"model": "resnet-50", "image": 224, "precision": "fp32", "optimizer": "momentum"}
H100 = {"name": "dgx-h100"}


def asked(workload, batch, cluster, nodes, plan, **more):
    document = {
        "workload": {**workload, "global_batch": batch},
        "cluster": {**cluster, "nodes": nodes},
        "plan": plan,
        **more,
    }
    return study_from(document, "study")


ONES = {
    "dense": asked(LLAMA, 64, H100, 2, {"tensor": 4, "pipeline": 2, "micro_batch": 1}),
    "recomputed": asked(
        {**LLAMA, "model": "llama-3-70b"},
        64,
        H100,
        8,
        {"tensor": 8, "pipeline": 4, "micro_batch": 1, "recompute": "full"},
    ),
    "experts": asked(
        {**LLAMA, "model": "mixtral-8x7b"},
        64,
        H100,
        4,
        {"expert": 8, "pipeline": 2, "micro_batch": 1, "sharding": "optimizer"},
    ),
    "sharded": asked(LLAMA, 64, H100, 2, {"sharding": "parameters", "micro_batch": 1}),
    "pictures": asked(RESNET, 1024, {"name": "abci"}, 4, {"micro_batch": 64}),
    "trainer": asked(
        LLAMA,
        64,
        H100,
        2,
        {"tensor": 4, "micro_batch": 1},
        trainer={"name": "megatron-bridge"},
    ),
    "shared pictures": asked(
        RESNET, 256, {"name": "abci"}, 4, {"data": 4, "grid": [2, 2], "micro_batch": 64}
    ),
}


SOME = every(2, ONES, slow=1)


@cache
def answer_of(name):
    """What is explained of one; asked when a test needs it."""
    return explain(ONES[name])


@pytest.mark.parametrize("name", SOME)
def test_the_waterfall_adds_up_to_the_step_to_the_last_bit(name):
    answer, total = answer_of(name), 0.0
    for fall in answer.waterfall:
        total += fall.seconds
        assert total == fall.until
    assert total == answer.estimate.step_time


@pytest.mark.parametrize("name", SOME)
def test_every_part_of_the_waterfall_has_a_name_and_a_cause(name):
    names = [fall.name for fall in answer_of(name).waterfall]
    assert len({*names}) == len(names)
    assert all(fall.cause for fall in answer_of(name).waterfall)


def test_the_waterfall_begins_with_the_models_flop_at_the_peak_of_all_devices():
    study, answer = ONES["dense"], answer_of("dense")
    top = peak(study.cluster.device, study.workload.precision)
    ideal = 64 * model_flop(study.workload.model) / top / 16
    assert answer.waterfall[0].seconds == pytest.approx(ideal, rel=1e-12)
    assert answer.waterfall[0].share == pytest.approx(answer.estimate.mfu, rel=1e-12)


def test_what_rounding_leaves_is_a_part_of_its_own():
    falls = added([("a", 0.1, "x"), ("b", 0.2, "y")], 0.3)
    assert [fall.name for fall in falls] == ["a", "b", "rounding"]
    assert falls[-1].until == 0.3
    assert len(added([("a", 0.5, "x"), ("b", 0.25, "y")], 0.75)) == 2


@pytest.mark.parametrize("name", [each for each in ONES if each != "trainer"])
def test_the_kernels_of_all_operators_take_what_the_slowest_stage_computes(name):
    study, answer = ONES[name], answer_of(name)
    known = study_setting(study, study.cluster, DEFAULT)
    found = slowest_stage(known, answer.plan, step_time=answer.estimate.step_time)
    parts = answer.estimate.parts
    seconds = sum(each.device for each in found.operators)
    assert seconds == pytest.approx(parts.forward + parts.backward, rel=1e-12)


def test_products_wait_for_compute_and_norms_for_memory():
    bound = {each.operator: each.bound for each in answer_of("recomputed").operators}
    assert bound["feed-forward in"] is BoundBy.COMPUTE
    assert bound["activation"] is BoundBy.MEMORY


def test_experts_far_apart_wait_for_the_network():
    slow = asked(
        {**LLAMA, "model": "mixtral-8x7b"},
        64,
        {"name": "pcie-8x-a40"},
        2,
        {"expert": 8, "micro_batch": 1, "pipeline": 2, "order": ["pipeline", "tensor", "data"]},
    )
    bound = {each.operator: each.bound for each in explain(slow).operators}
    assert BoundBy.NETWORK in {bound["dispatch"], bound["combine"]}


def test_tiny_models_wait_for_their_host():
    tiny = asked(
        {"model": "gpt-2", "sequence": 128, "precision": "bf16", "optimizer": "adamw"},
        8,
        H100,
        1,
        {"micro_batch": 1},
    )
    assert any(each.bound is BoundBy.HOST for each in explain(tiny).operators)


@pytest.mark.parametrize("name", SOME)
def test_every_gain_of_a_lever_is_the_difference_of_two_estimates(name):
    answer = answer_of(name)
    here = answer.estimate
    for lever in answer.levers:
        there = estimate(lever.question)
        assert lever.time == here.step_time - there.step_time
        assert lever.memory == here.memory.total - there.memory.total
        assert lever.step_time == there.step_time
        if lever.cost is not None:
            assert lever.cost == here.cost_per_step - there.cost_per_step


@pytest.mark.parametrize("name", SOME)
def test_levers_lead_to_plans_that_fit_and_help(name):
    answer = answer_of(name)
    for lever in answer.levers:
        assert estimate(lever.question).fits
        safer = answer.estimate.memory.probability_fits < 0.95 <= lever.fits
        assert lever.time > 0 or lever.cost > 0 or safer
    times = [lever.time for lever in answer.levers]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("name", SOME)
def test_a_plan_lever_never_touches_the_workload(name):
    for lever in answer_of(name).levers:
        assert lever.question.workload == ONES[name].workload


def test_a_plan_that_may_not_fit_is_helped_to_fit():
    tight = asked(LLAMA, 64, H100, 1, {"tensor": 1, "micro_batch": 2, "sharding": "optimizer"})
    answer = explain(tight)
    assert answer.estimate.memory.probability_fits < 0.95
    assert any(lever.fits >= 0.95 for lever in answer.levers if lever.kind is LeverKind.PLAN)


def test_options_of_the_trainer_are_levers_too():
    slow = asked(
        LLAMA,
        64,
        H100,
        2,
        {"tensor": 4, "micro_batch": 1},
        trainer={"name": "megatron-bridge", "options": {"overlap_gradients": "off"}},
    )
    lines = [each.change for each in explain(slow).levers if each.kind is LeverKind.TRAINER]
    assert 'trainer.options.overlap_gradients = "on"' in lines


def test_a_tenth_more_of_every_resource_and_every_coefficient_is_in_the_table():
    answer = answer_of("dense")
    names = {each.name for each in answer.sensitivities}
    assert names >= set(DEFAULT.known)
    assert names >= {"cluster.device.peak", "node.bandwidth", "fabric.latency", "cluster.price"}
    assert len(names) == len(answer.sensitivities)


def test_a_sensitivity_is_the_difference_of_two_estimates():
    answer, study = answer_of("dense"), ONES["dense"]
    found = {each.name: each for each in answer.sensitivities}
    value = DEFAULT.value("links.nvlink")
    there = estimate(study, coefficients=DEFAULT.changed({"links.nvlink": 1.1 * value}))
    assert found["links.nvlink"].time == there.step_time - answer.estimate.step_time
    assert found["links.nvlink"].time < 0
    assert found["cluster.price"].cost == pytest.approx(0.1 * answer.estimate.cost_per_step)


@pytest.mark.parametrize("name", ["dense", "pictures"])
def test_coefficients_that_are_said_to_change_nothing_change_nothing(name):
    answer, study = answer_of(name), ONES[name]
    still = [it for it in answer.sensitivities if it.kind == "coefficient" and not it.time]
    assert len(still) > 50
    for each in still:
        there = estimate(study, coefficients=DEFAULT.changed({each.name: 1.1 * each.value}))
        assert each.refused or there.step_time == answer.estimate.step_time


def test_what_cannot_have_a_tenth_more_says_why():
    found = {each.name: each for each in answer_of("dense").sensitivities}
    assert "is no share" in found["matrix.asynchronous"].refused
    assert found["matrix.asynchronous"].time == 0.0
    assert not found["step.factor"].refused


def test_memory_is_told_at_its_fullest_moment():
    answer = answer_of("trainer")
    heaviest = answer.estimate.memory.heaviest
    assert answer.peak.stage == heaviest.stage
    assert answer.peak.fullest.total == heaviest.total
    assert answer.peak.fullest.total == max(each.total for each in answer.peak.moments)


@pytest.mark.parametrize("name", ["dense", "sharded", "experts"])
def test_what_a_layer_keeps_adds_up_to_what_is_kept_of_it(name):
    study, answer = ONES[name], answer_of(name)
    known = study_setting(study, study.cluster, DEFAULT)
    held = hold(known, table_of([answer.plan]))
    kept = held.layers.kept[:, held.layer[0]]
    total = sum(each.bytes for each in answer.peak.kept)
    assert np.isclose(kept, total, rtol=1e-9).any()
    assert sum(each.share for each in answer.peak.kept) == pytest.approx(1.0)


def test_where_all_is_computed_again_no_operator_keeps_anything():
    assert answer_of("recomputed").plan.recompute is Recompute.FULL
    assert answer_of("recomputed").peak.kept == ()


@pytest.mark.parametrize("name", SOME)
def test_each_finding_names_its_evidence(name):
    for found in answer_of(name).findings:
        assert found.id
        assert found.term
        assert any(each.isdigit() for each in found.evidence)


def test_findings_are_told_with_the_gain_of_two_estimates():
    answer = answer_of("dense")
    told = [each for each in answer.findings if each.remedy.startswith("plan.")]
    assert told
    [lever] = [
        each
        for each in answer.levers
        if {*each.change.split(", ")} == {*told[0].remedy.split(", ")}
    ] or [None]
    if lever is not None and told[0].term != "memory":
        assert told[0].gain == pytest.approx(lever.share)


def test_a_study_that_leaves_the_plan_open_is_asked_about_what_a_search_proposes():
    free = replace(ONES["dense"], space=Space())
    answer = explain(free)
    assert answer.proposed
    assert answer.estimate.step_time <= answer_of("dense").estimate.step_time
    assert not answer_of("dense").proposed


def test_why_not_is_told_of_the_plan_itself_and_of_what_is_named():
    answer = explain(ONES["dense"], why_not=["tp8"])
    own, other = answer.why_not
    assert own.asked == str(answer.plan)
    assert other.asked == "tp8"
    assert own.verdict in set(Verdict)
    assert answer_of("dense").why_not == ()


def test_pinned_studies_are_estimated_as_the_plan_alone():
    study = ONES["experts"]
    plan = estimate(study).plan
    known = study_setting(study, study.cluster, DEFAULT)
    assert estimate(pinned(study, plan, study.cluster)).step_time == (
        price_plan(known, plan).step_time
    )


def test_neighbours_differ_in_one_decision():
    plan = Plan(data=4, tensor=2, pipeline=2, micro_batch=2, expert_tensor=2)
    for each in neighbours_of(plan, experts=False):
        assert each.devices == plan.devices


def test_sizes_and_two_kinds_of_devices_are_refused_by_their_key():
    sized = replace(ONES["dense"], maximise=Maximise.SEQUENCE)
    with pytest.raises(InputError, match=r"search\.maximise"):
        explain(sized)


def test_a_study_of_which_no_plan_fits_says_what_would():
    huge = asked({**LLAMA, "model": "gpt-3-175b", "sequence": 2048}, 64, H100, 1, {})
    with pytest.raises(NoPlanFits):
        explain(huge)


def test_what_cannot_be_named_is_refused_before_any_work():
    with pytest.raises(InputError, match="why_not"):
        explain(ONES["dense"], why_not=["nonsense=3"])
