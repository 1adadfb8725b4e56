from math import inf

import pytest
from validation.ensemble import RECORDED, points
from validation.record import recorded
from validation.titan import FIRST, NETWORKS, contention, curves, fitted, measured, power

from foretrain.ensemble.pipelines import ALL_SHARED, DUPLICATE


def test_sixteen_cores_are_worth_what_the_paper_says():
    assert contention() == pytest.approx(0.0443, abs=1e-4)


def test_the_run_on_one_node_comes_out_as_it_went_in():
    alone = fitted(FIRST).estimate(DUPLICATE, 1)
    node, demand = measured()["single_node"], measured()["networks"][FIRST]["demand"]
    assert alone.rate / demand == pytest.approx(node["device_of_peak"], rel=0.02)
    assert alone.busy_cores / 16 == pytest.approx(node["cpu_busy"], rel=0.02)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_network_has_two_constants_of_its_own(network):
    of = fitted(network)
    assert of.prepare == fitted(FIRST).prepare
    assert of.estimate(ALL_SHARED, 4).exchanging == pytest.approx(2.5 * of.passing)
    page = RECORDED.page.read_text("utf-8")
    assert f"| {of.k:.1f} | {1e3 * of.passing:.2f} ms |" in page


def test_every_point_is_shown():
    lines = [line for curve in curves(fitted(FIRST)) for line in points(curve)]
    peaks, heads = 77, 12
    assert len(lines) == heads + peaks + 11 + 6
    assert sum("%" in line for line in lines) == len(lines) - heads


def test_power_of_the_network_that_gives_the_watts_is_nearly_that_which_was_read():
    assert max(map(abs, power(fitted(FIRST)).errors)) < 1e-6


def test_no_bar_is_missed():
    assert not [name for name, row in recorded(RECORDED.path).items() if row["verdict"] == "MISSED"]
    assert max(row["figure"] for row in recorded(RECORDED.path).values()) < inf
