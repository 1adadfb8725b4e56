"""Degrees that are left out: every legal plan is one that may be meant, and counts by its speed."""

from dataclasses import replace
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measured.runs import GPT, case, layout

from foretrain.evidence.fit_runs import observed
from foretrain.evidence.predict import CATALOGUE, predict
from foretrain.measured.case import case_of
from foretrain.measured.degrees import quantile, weights
from foretrain.measured.run import Place, RunLayout, TrainedNetwork
from foretrain.plan.legality import problems
from foretrain.study.coefficients import DEFAULT

OPEN = replace(
    GPT,
    network=replace(GPT.network, layers=24, hidden=2048, heads=16, kv_heads=16, feed_forward=8192),
    place=replace(GPT.place, devices=16),
    layout=RunLayout(micro_batch=1.0, recompute="full", attention="flash"),
)
seconds = st.lists(st.floats(0.1, 100.0), min_size=1, max_size=20)


def axes(each):
    return each.plan.tensor, each.plan.pipeline, each.plan.data


def every(run):
    first = case_of(run, CATALOGUE)
    return [replace(first, others=()), *first.others]


def test_every_legal_way_to_divide_the_devices_may_be_meant():
    """1, 2, 4 or 8 in a node; stages of the rest that divide it; replicas of what is left."""
    found = {axes(each) for each in every(OPEN)}
    by_hand = {
        (tensor, pipeline, 16 // (tensor * pipeline))
        for tensor in (1, 2, 4, 8)
        for pipeline in (1, 2, 4, 8, 16)
        if tensor * pipeline <= 16
    }
    assert found == by_hand
    assert all(prod(each) == 16 for each in found)
    assert all(not problems(each.workload, each.cluster, each.plan) for each in every(OPEN))


def test_what_is_stated_is_kept():
    stated = replace(OPEN, layout=replace(OPEN.layout, tensor=4))
    assert {axes(each)[0] for each in every(stated)} == {4}
    assert {axes(each) for each in every(stated)} == {(4, 1, 4), (4, 2, 2), (4, 4, 1)}


def test_accumulation_and_micro_batch_tell_the_replicas():
    """64 samples in 8 micro-batches of 2 are 4 replicas."""
    known = replace(OPEN.layout, accumulation=8, micro_batch=2.0)
    assert {axes(each)[2] for each in every(replace(OPEN, layout=known))} == {4}


def test_the_row_says_what_it_leaves_out_and_what_is_taken():
    found = predict(OPEN, DEFAULT, played=False)
    assert "degrees of the data and tensor and pipeline axes not stated" in found.assumed
    assert "the middle of" in found.remark
    assert "plans that fit and may be meant" in found.remark


def test_the_interval_is_wider_than_that_of_the_plan_alone():
    found = predict(OPEN, DEFAULT, played=False)
    plan = found.plan
    alone = predict(
        replace(
            OPEN,
            layout=replace(OPEN.layout, tensor=plan.tensor, pipeline=plan.pipeline, data=plan.data),
        ),
        DEFAULT,
        played=False,
    )
    assert alone.value == pytest.approx(found.value)
    assert found.high / found.low > alone.high / alone.low


def test_stated_degrees_leave_one_plan():
    assert every(GPT)[1:] == []
    assert len(every(layout(tensor=None))) == 1


def test_one_device_needs_no_degrees():
    alone = replace(
        OPEN,
        network=TrainedNetwork(name="bert-base", sequence=128),
        place=Place(device="A100 SXM 80GB", devices=1),
    )
    found = case(alone)
    assert axes(found) == (1, 1, 1)
    assert not any("axis" in words and "degree" in words for words in found.assumed)


@given(seconds)
def test_weights_add_up_and_the_quickest_counts_most(times):
    counted = weights(times)
    assert sum(counted) == pytest.approx(1.0)
    assert max(counted) == counted[times.index(min(times))]


def test_a_plan_twice_as_slow_counts_one_over_two_to_the_power():
    one, other = weights([1.0, 2.0], power=3.0)
    assert one / other == pytest.approx(8.0)


@given(seconds, st.floats(0.01, 0.99))
def test_quantiles_are_plans_in_the_order_of_their_seconds(times, share):
    low, high = quantile(times, share / 2), quantile(times, share)
    assert times[low] <= times[high]
    assert min(times) <= times[low]


def test_the_middle_of_equal_plans_is_the_one_in_the_middle():
    assert quantile([3.0, 1.0, 2.0], 0.5, power=0.0) == 2


def test_the_middle_scales_with_every_plan():
    times = [1.0, 1.1, 1.3, 4.0]
    assert quantile(times, 0.5) == quantile([7 * each for each in times], 0.5)


def test_a_run_without_its_degrees_teaches_nothing():
    assert observed(replace(OPEN, measured=1.0)) is None
    stated = replace(OPEN.layout, tensor=8, pipeline=2, data=1)
    assert observed(replace(OPEN, measured=1.0, layout=stated)) is not None
