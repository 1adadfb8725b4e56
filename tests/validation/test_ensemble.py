from dataclasses import replace
from math import inf

import pytest
from tests.validation.published import numbers
from validation.ensemble import RECORDED, points
from validation.parts.record import recorded
from validation.parts.titan import (
    FIRST,
    NETWORKS,
    contention,
    curves,
    fitted,
    measured,
    power,
    watts_of,
)

from foretrain.ensemble.across_nodes import ALL_SHARED, DUPLICATE

SHORT = {"all-shared": "AS", "single-broadcast": "SB", "multi-broadcast": "MB"}


def peaks(cores):
    """The points of our table as the list of published numbers writes them."""
    for row in measured()["peak"]:
        if row["cores"] == cores:
            mark = f"{SHORT[row['pipeline']]} {row.get('preparers', '')}".strip()
            yield from ((mark, *point) for point in zip(row["nodes"], row["rate"], strict=True))


def published_peaks():
    """The points of 16 cores, one by one."""
    table = numbers()["ensemble-peak-16-cores"]
    for nodes, *rates in table.rows:
        yield from (
            (mark, nodes, rate) for mark, rate in zip(table.columns[1:], rates, strict=True) if rate
        )


def by_network(values):
    return [values[network] for network in NETWORKS]


def test_figures_are_those_that_the_paper_published():
    known, ours = numbers(), measured()
    assert set(peaks(16)) == set(published_peaks())
    assert set(peaks(4)) == set(known["ensemble-peak-4-cores"].rows)
    cores = list(zip(*known["ensemble-core-limits"].rows, strict=True))[1:]
    assert cores == list(zip(*by_network(ours["core_limit"]), strict=True))
    for published, row in (
        ("ensemble-processor-reduction", ours["cpu_reduction"]),
        ("ensemble-processor-multi-broadcast", ours["cpu_over_all_shared"]),
    ):
        names = NETWORKS if "alexnet" in row else ["multi_broadcast"]
        columns = [row["nodes"], *(row[name] for name in names)]
        assert known[published].rows == tuple(zip(*columns, strict=True))
    low, high = known["ensemble-processor-single-broadcast"].rows[0]
    assert set(ours["cpu_over_all_shared"]["single_broadcast"]) == {(low + high) / 2}


def test_what_the_model_is_given_is_what_the_paper_published():
    known, ours = numbers(), measured()
    demand = [(each["batch"], each["demand"]) for each in by_network(ours["networks"])]
    assert demand == [row[1:] for row in known["ensemble-demand"].rows]
    alone, node = known["ensemble-utilisation"], ours["single_node"]
    assert node["cpu_busy"] == alone["processors"] / 100
    assert node["device_of_peak"] == alone["GPU"] / 100
    slower = [tuple(by_network(ours["one_core"][kind])) for kind in ("duplicate", "all_shared")]
    assert slower == [row[1:] for row in known["ensemble-one-core"].rows]


def test_watts_are_those_that_the_paper_published():
    known, ours = numbers(), measured()["power"]
    for place, kind in ((1, "duplicate"), (2, "all_shared")):
        kilowatts = [row[place] for row in known["ensemble-power"].rows]
        assert [watts / 1000 for watts in by_network(ours[kind])] == kilowatts
    cabinet = known["ensemble-cabinet"]
    assert (ours["idle"] / 1000, ours["nodes"]) == (cabinet["idle kW"], cabinet["used"])
    assert ours["cap"] / 1000 == cabinet["cap kW"]


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


def test_a_reading_at_the_cap_says_nothing_of_cores_but_is_reached_without_being_given():
    most = (measured()["power"]["cap"] - measured()["power"]["idle"]) / 80
    watts = watts_of([fitted(each) for each in NETWORKS if each != FIRST])
    ours = power(fitted(FIRST)).ours
    assert ours[0] == most < replace(watts, most=inf).drawn(0.96 * 16, 0.66)
    assert watts == watts_of([fitted(each) for each in reversed(NETWORKS) if each != FIRST])


@pytest.mark.parametrize("network", NETWORKS)
def test_power_that_sharing_saves_is_predicted_by_networks_that_were_read_beside(network):
    watts = power(fitted(network))
    ours, paper = (1 - shared / alone for alone, shared in (watts.ours, watts.paper))
    assert ours == pytest.approx(paper, rel=0.05)


def test_the_step_at_fifty_nodes_is_not_in_what_is_exchanged():
    """Broadcasts over all-shared go on as before, so all that share or the duplicate changed."""
    over, saved = measured()["cpu_over_all_shared"], measured()["cpu_reduction"]
    for kind in ("multi_broadcast", "single_broadcast"):
        before, after = over[kind][-2:]
        assert 0.94 < after / before <= 1.0
    assert saved["alexnet"][-1] / saved["alexnet"][-2] < 0.8
    for other in ("inception", "vgg"):
        assert saved[other][-1] / saved[other][-2] > 0.98


def test_the_page_tells_how_well_constants_carry_over():
    found = recorded(RECORDED.path)
    rates, speed_ups = (
        found[f"not scored: {what}, fitted to 16 cores only"]["figure"]
        for what in ("rates with 4 cores", "rate with few cores")
    )
    page = " ".join(RECORDED.page.read_text("utf-8").split())
    assert f"4 cores come out {rates:.1%}".replace("%", " %") in page
    assert f"few cores {speed_ups:.1%}".replace("%", " %") in page


def test_no_bar_is_missed():
    assert not [name for name, row in recorded(RECORDED.path).items() if row["verdict"] == "MISSED"]
    assert max(row["figure"] for row in recorded(RECORDED.path).values()) < inf
