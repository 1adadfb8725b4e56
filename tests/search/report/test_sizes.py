"""Sizes: which numbers of nodes are worth renting, from the fastest to the cheapest."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests import builders

from foretrain.cluster.offer import Offer
from foretrain.search.report.search import claim, sizes, worth
from foretrain.search.result import ParetoPoint

DGX = builders.study().cluster
STUDY = builders.study(offers=(Offer(cluster=DGX, nodes=tuple(range(1, 65))),))

points = st.builds(
    ParetoPoint,
    plan=st.just(builders.plan()),
    step_time=st.floats(0.1, 100),
    memory=st.just(1e9),
    cost_per_step=st.none() | st.floats(0.1, 100),
    energy_per_step=st.none(),
    cluster=st.just("dgx-h100"),
    devices=st.integers(1, 64).map(lambda nodes: 8 * nodes),
)


def point(devices, step_time, cost):
    common = builders.search_result().pareto[0]
    return replace(common, devices=devices, step_time=step_time, cost_per_step=cost)


@given(front=st.lists(points, min_size=1, max_size=12))
def test_each_size_is_slower_than_the_one_before_and_costs_less(front):
    kept = worth(front)
    priced = all(each.cost_per_step is not None for each in front)
    spent = [each.cost_per_step if priced else each.devices * each.step_time for each in kept]
    assert [each.step_time for each in kept] == sorted(each.step_time for each in kept)
    assert spent == sorted(set(spent), reverse=True)
    assert kept[0].step_time == min(each.step_time for each in front)


def test_size_that_costs_more_than_a_faster_one_is_left_out():
    fast, slow, cheap = point(512, 1.0, 4.0), point(256, 2.0, 5.0), point(128, 3.0, 3.0)
    assert worth([slow, cheap, fast]) == (fast, cheap)


def test_size_is_told_by_its_fastest_plan():
    assert worth([point(512, 1.5, 2.0), point(512, 1.0, 4.0)]) == (point(512, 1.0, 4.0),)


def test_table_tells_time_and_cost_of_the_whole_training():
    front = (point(512, 10.0, 4.0), point(128, 30.0, 3.0))
    table = sizes(STUDY, builders.search_result(pareto=front))
    assert [column.name for column in table.columns][3:5] == ["time to train", "cost to train"]
    assert [row[:5] for row in table.rows] == [
        ("dgx-h100", "64", "512", "207 d", "7.15 MUSD"),
        ("dgx-h100", "16", "128", "621 d", "5.36 MUSD"),
    ]


def test_table_without_an_amount_of_training_tells_a_step():
    study = replace(STUDY, workload=replace(STUDY.workload, samples=None))
    table = sizes(study, builders.search_result(pareto=(point(512, 10.0, 4.0),)))
    assert table.rows[0][3:5] == ("10 s", "4 USD")


def test_of_many_sizes_the_ends_and_some_between_are_shown():
    front = tuple(point(8 * nodes, 65.0 - nodes, float(nodes)) for nodes in range(1, 65))
    table = sizes(STUDY, builders.search_result(pareto=front), most=5)
    assert [row[1] for row in table.rows] == ["64", "48", "32", "17", "1"]


def test_question_without_a_choice_has_no_sizes():
    assert sizes(builders.study(), builders.search_result()).rows == ()


def test_without_a_price_device_hours_count_and_no_cost_is_shown():
    result = builders.search_result(pareto=(point(512, 10.0, None), point(128, 30.0, None)))
    names = [column.name for column in sizes(STUDY, result).columns]
    assert "cost to train" not in names
    assert claim(result) == "2 sizes that no other beats in both time and device-hours"
    assert claim(builders.search_result()).endswith("in both time and cost")
