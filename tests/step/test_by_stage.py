from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.mixed_studies import SPACE, kind, llama_workload, two
from tests.small import QUICK_HOST

from foretrain.plan.mixed import stage_tables
from foretrain.plan.plan import Plan, Schedule, Sends
from foretrain.plan.table import table_of
from foretrain.step.by_stage import outlook, stage_seconds, staged, stretch_memory, stretches
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.step.simulated_step import simulate
from foretrain.step.timeline import closed_form
from foretrain.study.coefficients import DEFAULT

WIDE = replace(SPACE, sharding=None, schedule=tuple(Schedule), sends=tuple(Sends))
PIPELINE = Plan(data=2, tensor=2, pipeline=3, micro_batch=1, cut=(1, 2, 3))


def priced(both, plans):
    return staged(both, plans, outlook(both, plans).layers)


def tables(workload, mixed, space=WIDE, *, most=40):
    """Some of the plans by stage."""
    for table in stage_tables(workload, mixed, space):
        yield table.take(np.arange(0, len(table), 1 + len(table) // most))


@pytest.mark.parametrize("nodes", [(1, 1), (1, 2), (2, 1)])
def test_two_groups_of_one_kind_are_the_cluster_with_both(nodes):
    workload, mixed = llama_workload(), two(kind(nodes[0]), kind(nodes[1]))
    both = stretches(workload, mixed, DEFAULT)
    whole = setting(workload, kind(sum(nodes)), DEFAULT)
    for table in tables(workload, mixed, most=6):
        found = priced(both, table)
        memory = np.maximum(*stretch_memory(both, found))
        for row in range(len(table)):
            plan = found.plans.plan(row)
            alone = price_plan(whole, plan, played=False)
            times = priced(both, table_of([plan])).times()
            assert closed_form(times) == pytest.approx(alone.closed_form, rel=1e-12)
            assert memory[row] == alone.memory.total


def test_closed_form_and_simulation_agree():
    """As well as on one kind: to 2 % but for a few interleaved ones whose sends block."""
    workload, errors = llama_workload(), []
    for share, nodes in ((0.3, (1, 1)), (0.45, (1, 2)), (0.8, (2, 1))):
        mixed = two(kind(nodes[0]), kind(nodes[1], share=share))
        for each in (mixed, mixed.swapped):
            both = stretches(workload, each, DEFAULT)
            for table in tables(workload, mixed, most=10):
                found = priced(both, table)
                seconds = stage_seconds(both, found)
                rows = range(len(table))
                played = [simulate(found.times(row)).seconds for row in rows]
                errors += [abs(seconds[row] / played[row] - 1) for row in rows]
    assert np.mean(errors) < 0.002
    assert np.quantile(errors, 0.98) < 0.02
    assert max(errors) < 0.05


def test_row_of_a_table_equals_the_plan_priced_alone():
    workload, mixed = llama_workload(), two(kind(1), kind(2, share=0.4))
    both = stretches(workload, mixed, DEFAULT)
    for table in tables(workload, mixed, most=6):
        together = stage_seconds(both, priced(both, table))
        for row in range(len(table)):
            alone = priced(both, table.take(np.array([row])))
            assert stage_seconds(both, alone)[0] == together[row]


@few(5)
@given(share=st.floats(0.1, 0.9), more=st.floats(1.0, 2.0))
def test_faster_second_kind_never_hurts_by_the_same_cut(share, more):
    workload, plans = llama_workload(), table_of([PIPELINE])
    seconds = [
        stage_seconds(both, priced(both, plans))[0]
        for each in (share, share * more)
        for both in [stretches(workload, two(kind(1), kind(2, share=each)), DEFAULT)]
    ]
    assert seconds[1] <= seconds[0] * (1 + 1e-12)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("swapped", [False, True])
def test_cut_has_the_quickest_slowest_stage_of_all_cuts(share, swapped):
    mixed = two(kind(1), kind(2, share=share))
    both = stretches(llama_workload(), mixed.swapped if swapped else mixed, QUICK_HOST)
    layers = both[0].setting.workload.model.cuttable_layers

    def slowest(cut):
        times = priced(both, table_of([replace(PIPELINE, cut=cut)])).times()
        return max(stage.forward + stage.backward for stage in times.stages)

    chosen = priced(both, table_of([replace(PIPELINE, cut="balanced")])).plans.plan(0).cut
    every = [
        (first, second - first, layers - second)
        for first, second in combinations(range(1, layers), 2)
    ]
    assert sum(chosen) == layers
    # Layers are told apart to a 64th, so that a cut may be a little slower than the best.
    assert slowest(chosen) <= 1.03 * min(map(slowest, every))


def test_faster_kind_gets_more_layers():
    both = stretches(llama_workload(), two(kind(1), kind(1, share=0.3)), DEFAULT)
    plan = Plan(data=2, tensor=2, pipeline=2, cut="balanced")
    first, second = priced(both, table_of([plan])).plans.plan(0).cut
    assert first > second


@pytest.mark.parametrize("swapped", [False, True])
def test_no_cut_is_quicker_than_the_bound(swapped):
    mixed = two(kind(1), kind(2, share=0.4))
    workload = llama_workload()
    both = stretches(workload, mixed.swapped if swapped else mixed, DEFAULT)
    for table in tables(workload, mixed):
        least = outlook(both, table).seconds
        assert (least <= stage_seconds(both, priced(both, table)) * (1 + 1e-12)).all()


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("memory", [1e9, 1.5e9, 2e9])
def test_what_fits_by_no_cut_does_not_fit_by_the_chosen_one(swapped, memory):
    small, smaller = kind(1), kind(2, share=0.4)
    small = replace(small, device=replace(small.device, memory=memory))
    smaller = replace(smaller, device=replace(smaller.device, memory=0.8 * memory))
    mixed, workload = two(small, smaller), llama_workload()
    both = stretches(workload, mixed.swapped if swapped else mixed, DEFAULT)
    refused = 0
    for table in tables(workload, mixed, most=200):
        first, second = stretch_memory(both, priced(both, table))
        room = [each.setting.cluster.device.memory for each in both]
        fits = (first <= room[0]) & (second <= room[1])
        possible = outlook(both, table).fits
        assert not (fits & ~possible).any()
        refused += int((~possible).sum())
    assert refused


def test_memory_is_that_of_the_stages_on_each_kind():
    workload = llama_workload()
    both = stretches(workload, two(kind(1), kind(2, share=0.4)), DEFAULT)
    found = priced(both, table_of([PIPELINE]))
    stages = price_plan(both[0].setting, PIPELINE, played=False).memory.stages
    assert found.turn[0] == 1
    first, second = stretch_memory(both, found)
    assert first[0] == stages[0].total
    assert second[0] == max(stage.total for stage in stages[1:])


@pytest.mark.parametrize(
    ("plan", "turn"),
    [
        (Plan(context=2, pipeline=6, cut=(1,) * 6), 2),  # four devices, two to a stage
        (Plan(context=2, tensor=2, pipeline=3, cut=(2, 2, 2)), 1),  # four to a stage
        (Plan(data=2, pipeline=6, cut=(1,) * 6), 2),
        (Plan(pipeline=6, cut=(1,) * 6), 4),
    ],
    ids=str,
)
def test_stages_of_the_first_kind_are_its_devices_over_those_of_a_stage(plan, turn):
    both = stretches(llama_workload(), two(kind(1), kind(2, share=0.4)), DEFAULT)
    assert priced(both, table_of([plan])).turn[0] == turn


def test_slow_link_between_the_kinds_slows_the_sends():
    workload, plans = llama_workload(), table_of([PIPELINE])
    first, second = kind(1), kind(2)
    thin = replace(first.levels[1].link, bandwidth=1e8, capacity=None)
    sends = [
        priced(stretches(workload, mixed, DEFAULT), plans).passing.send
        for mixed in (two(first, second), two(first, second, link=thin))
    ]
    assert sends[1] > 10 * sends[0]
