"""The Pareto front: every point stands where its plan does."""

from dataclasses import replace

from tests import builders

from foretrain.cluster.offer import Offer
from foretrain.search.report.charts import pareto_plot


def test_every_point_of_the_plot_lies_in_it():
    plot = pareto_plot(builders.study(), builders.search_result())
    for mark in (*plot.front, *plot.best):
        assert 0 <= mark.x <= 100
        assert 0 <= mark.y <= 100
    assert len(plot.front) == 6


def test_numbers_of_points_do_not_cover_each_other():
    result = builders.search_result()
    twice = tuple(point for point in result.pareto for _ in range(2))
    plot = pareto_plot(builders.study(), replace(result, pareto=twice))
    assert plot.numbered == {1, 3, 5, 7, 9, 11}


def test_a_single_plan_can_be_drawn():
    result = builders.search_result(keep=1)
    alone = replace(result, pareto=result.pareto[:1])
    plot = pareto_plot(builders.study(), alone)
    assert len(plot.front) == len(plot.best) == 1


def with_devices(*devices, **changes):
    """The front's plans on fewer and fewer devices, each half as dear as the one before."""
    points = builders.search_result().pareto
    return builders.search_result(
        pareto=tuple(
            replace(point, devices=number, cost_per_step=1.0 / 2**place, **changes)
            for place, (point, number) in enumerate(zip(points, devices, strict=False))
        )
    )


def test_plans_on_the_same_devices_have_two_objectives():
    plot = pareto_plot(builders.study(), builders.search_result())
    assert plot.third is None
    assert {mark.shade for mark in plot.front} == {0}


def test_cost_is_the_third_objective_where_devices_are_free():
    plot = pareto_plot(builders.study(), with_devices(512, 256, 128))
    assert plot.third.name == "cost per step"
    assert plot.third.scale.texts == ("0.25 USD", "0.5 USD", "1 USD")
    assert [mark.shade for mark in plot.front] == [2, 1, 0]


def test_devices_are_the_third_objective_where_a_price_is_missing():
    result = with_devices(512, 256, 128)
    free = tuple(replace(point, cost_per_step=None) for point in result.pareto)
    plot = pareto_plot(builders.study(), replace(result, pareto=free))
    assert plot.third.name == "devices"
    assert [mark.shade for mark in plot.front] == [2, 1, 0]


def test_points_say_on_what_they_run_where_there_is_a_choice():
    told = pareto_plot(builders.study(), with_devices(512, 256)).front[1].text
    assert "0.5 USD per step, 256 devices of dgx-h100: tp8" in told
    assert "devices" not in pareto_plot(builders.study(), builders.search_result()).front[1].text


def test_every_kind_of_device_has_its_line():
    study = builders.study()
    small = replace(study.cluster.device, name="h100-40gb", memory=40e9)
    other = replace(study.cluster, name="other", device=small)
    offers = tuple(Offer(cluster=each, nodes=(64,)) for each in (study.cluster, other))
    lines = pareto_plot(replace(study, offers=offers), builders.search_result()).capacities
    assert [line.label for line in lines] == ["h100-40gb", "h100-sxm-80gb"]
    assert lines[0].y > lines[1].y
    (alone,) = pareto_plot(study, builders.search_result()).capacities
    assert alone.label == ""
