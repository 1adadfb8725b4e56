"""Comparisons: a way whose parts add up, nothing between a question and itself, shared errors."""

from dataclasses import replace
from functools import cache

import pytest

from foretrain.launch.kineto import OperatorClass, profiled
from foretrain.plan.plan import Plan
from foretrain.plan.study import Space
from foretrain.search.explain.compare import closed, compare
from foretrain.search.explain.compared import Departure, MeasuredStep
from foretrain.search.explain.departures import PinnedPlan, aspects
from foretrain.step.estimate import estimate
from foretrain.study.study import study_from

BASE = {
    "workload": {
        "model": "llama-3-8b",
        "sequence": 4096,
        "global_batch": 64,
        "precision": "bf16",
        "optimizer": "adamw",
    },
    "cluster": {"name": "dgx-h100", "nodes": 2},
    "plan": {"tensor": 4, "pipeline": 2, "micro_batch": 1},
}


def asked(**sections):
    document = {name: {**body, **sections.get(name, {})} for name, body in BASE.items()}
    beside = {name: body for name, body in sections.items() if name not in BASE}
    return study_from({**document, **beside}, "study")


ONE = asked()
OTHERS = {
    "plan": asked(plan={"tensor": 2, "pipeline": 2, "micro_batch": 2, "sharding": "optimizer"}),
    "nodes": asked(cluster={"nodes": 4}),
    "devices": asked(cluster={"name": "dgx-a100"}),
    "batch": asked(workload={"global_batch": 128}),
    "sequence": asked(workload={"sequence": 8192}),
    "model": asked(
        workload={"model": "mixtral-8x7b"}, plan={"expert": 4, "sequence_parallel": True}
    ),
    "trainer": asked(trainer={"name": "megatron-bridge"}),
    "price": asked(cluster={"price": "9.5 USD/h"}),
    "all": asked(
        workload={"model": "qwen2.5-32b", "precision": "fp8", "global_batch": 96},
        cluster={"nodes": 8},
        plan={"tensor": 8, "pipeline": 4, "recompute": "full", "sharding": "optimizer"},
    ),
}


@cache
def answer_to(name):
    return compare(ONE, OTHERS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_what_each_difference_costs_adds_up_to_the_difference_to_the_last_bit(name):
    answer = answer_to(name)
    here, there = answer.first.estimate, answer.second.estimate
    time = cost = memory = 0.0
    for each in answer.departures:
        time, memory = time + each.time, memory + each.memory
        cost += each.cost or 0.0
    assert time == answer.time == there.step_time - here.step_time
    assert memory == answer.memory == there.memory.total - here.memory.total
    assert cost == answer.cost == there.cost_per_step - here.cost_per_step


@pytest.mark.parametrize("name", OTHERS)
def test_the_two_are_what_estimates_say(name):
    assert answer_to(name).first.estimate.step_time == estimate(ONE).step_time
    second = answer_to(name).second.estimate
    assert second.step_time == pytest.approx(estimate(OTHERS[name]).step_time, rel=1e-3)


@pytest.mark.parametrize("study", [ONE, OTHERS["trainer"], replace(ONE, space=Space())])
def test_between_a_question_and_itself_there_is_nothing(study):
    answer = compare(study, study)
    assert answer.departures == ()
    assert answer.parts == ()
    assert (answer.time, answer.time_low, answer.time_high) == (0.0, 0.0, 0.0)
    assert (answer.ratio, answer.ratio_low, answer.ratio_high) == (1.0, 1.0, 1.0)
    assert (answer.cost, answer.memory) == (0.0, 0.0)


@pytest.mark.parametrize("name", OTHERS)
def test_the_way_back_costs_the_opposite(name):
    back = compare(OTHERS[name], ONE)
    assert back.time == -answer_to(name).time
    assert back.ratio == pytest.approx(1.0 / answer_to(name).ratio)


def test_every_difference_is_named_by_the_key_of_a_study():
    told = " ".join(each.what for each in answer_to("all").departures)
    for key in ("workload.model", "workload.precision", "cluster.nodes", "plan.recompute"):
        assert key in told


def test_differences_that_need_each_other_are_made_together():
    [first] = [each for each in answer_to("plan").departures if "plan.tensor" in each.what]
    assert "plan.data" in first.what


def test_a_price_costs_money_and_no_time():
    [only] = answer_to("price").departures
    assert only.what == "cluster.price"
    assert only.time == 0.0
    assert only.cost > 0.0


def test_errors_that_plans_share_cancel():
    """The interval of a difference is narrower than that of two predictions of strangers."""
    kin, strangers = answer_to("plan"), answer_to("devices")
    assert kin.ratio_high / kin.ratio_low < strangers.ratio_high / strangers.ratio_low
    here, there = kin.first.estimate, kin.second.estimate
    apart = there.step_time_high / here.step_time_low / (there.step_time_low / here.step_time_high)
    assert kin.ratio_high / kin.ratio_low < apart


@pytest.mark.parametrize("name", OTHERS)
def test_the_interval_holds_the_difference(name):
    answer = answer_to(name)
    assert answer.time_low <= answer.time <= answer.time_high
    assert answer.ratio_low <= answer.ratio <= answer.ratio_high


@pytest.mark.parametrize("name", OTHERS)
def test_parts_that_differ_add_up_to_the_difference(name):
    answer = answer_to(name)
    more = sum(each.second - each.first for each in answer.parts)
    assert more == pytest.approx(answer.time, rel=1e-9, abs=1e-12)


def test_what_rounding_leaves_is_told_apart():
    ways = tuple(
        Departure(what="x", before="", after="", time=time, cost=None, memory=0.0)
        for time in (0.1, 0.2)
    )
    found = closed(ways, time=0.3, cost=None, memory=0.0)
    assert found[-1].what == "rounding"
    assert sum(each.time for each in found) == 0.3
    assert closed((), time=0.0, cost=None, memory=0.0) == ()


def test_every_field_of_a_plan_that_differs_is_an_aspect():
    one = PinnedPlan(study=ONE, plan=Plan(data=2, tensor=4, pipeline=2))
    other = PinnedPlan(study=ONE, plan=Plan(data=4, tensor=2, pipeline=2, micro_batch=2))
    assert [each.what for each in aspects(one, other)] == [
        "plan.data",
        "plan.tensor",
        "plan.micro_batch",
    ]


def measured(study, step_time, **more):
    return MeasuredStep(study=study, step_time=step_time, of="a log", **more)


@pytest.mark.parametrize("name", ["plan", "all", "price"])
def test_a_measured_step_adds_what_the_prediction_misses(name):
    there = OTHERS[name]
    answer = compare(ONE, measured(there, 7.5))
    assert answer.time == 7.5 - answer.first.estimate.step_time
    time = cost = 0.0
    for each in answer.departures:
        time, cost = time + each.time, cost + (each.cost or 0.0)
    assert time == answer.time
    assert cost == answer.cost
    missed = next(it for it in answer.departures if it.what == "measured")
    assert missed.time == pytest.approx(7.5 - answer.second.estimate.step_time, rel=1e-12)
    back = compare(measured(there, 7.5), ONE)
    assert back.time == pytest.approx(-answer.time, rel=1e-12)
    assert sum(it.time for it in back.departures) == pytest.approx(back.time, rel=1e-9)


def test_only_what_is_predicted_has_an_interval():
    predicted = answer_to("devices").first.estimate
    answer = compare(ONE, measured(ONE, predicted.step_time))
    assert [it.what for it in answer.departures] == ["measured"]
    assert answer.time == 0.0
    assert answer.ratio_high / answer.ratio_low == pytest.approx(
        predicted.step_time_high / predicted.step_time_low, rel=1e-9
    )
    both = compare(measured(ONE, 2.0), measured(OTHERS["plan"], 3.0))
    assert (both.ratio_low, both.ratio, both.ratio_high) == (1.5, 1.5, 1.5)


def test_what_a_row_says_beyond_its_study_is_a_difference_of_its_own():
    answer = compare(ONE, measured(OTHERS["plan"], 3.0, expected=2.5))
    told = {it.what: it for it in answer.departures}
    assert told["measured"].time == pytest.approx(0.5)
    beyond = 2.5 - answer.second.estimate.step_time
    assert told["what else the row says"].time == pytest.approx(beyond)


def test_classes_of_operators_add_up_to_the_predicted_and_to_the_measured_step():
    kernels = [("gemm", 0.0, 0.4), ("flash_fwd", 0.4, 0.5), ("ncclAllReduce", 0.5, 0.9)]
    events = [
        {"ph": "X", "cat": "kernel", "name": name, "ts": 1e6 * start, "dur": 1e6 * (end - start)}
        for name, start, end in kernels
    ]
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 1e6}
    seen = profiled({"traceEvents": [step, *events]})
    answer = compare(ONE, measured(ONE, seen.step_time, profile=seen))
    found = answer.operators
    assert sum(it.measured for it in found) == pytest.approx(1.0)
    assert sum(it.predicted for it in found) == pytest.approx(
        answer.second.estimate.step_time, rel=1e-9
    )
    kinds = {it.kind: it for it in found}
    assert kinds[OperatorClass.EXCHANGES].measured == pytest.approx(0.4)
    assert kinds[OperatorClass.PRODUCTS].predicted > kinds[OperatorClass.ATTENTION].predicted > 0
