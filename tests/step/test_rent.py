"""Rent: what may be rented is told in a line, and of the best plan which cluster to take."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from tests import builders

from foretrain.cluster.offer import Offer, part
from foretrain.plan.study import Limit
from foretrain.search.report import ranking
from foretrain.search.report.search import search_report
from foretrain.show.terminal import drawn
from foretrain.show.terminal import page as page_of
from foretrain.step import facts

DGX = builders.study().cluster
SMALL = replace(part(DGX, 32), name="small", price=None)
OFFERS = (Offer(cluster=DGX, nodes=(16, 32, 64)), Offer(cluster=SMALL, nodes=tuple(range(8, 33))))
STUDY = builders.study(offers=OFFERS)
BEST = builders.ranked(0)


def result():
    best, other, *_ = builders.search_result().plans
    first = replace(best, cluster="small", nodes=16)
    return builders.search_result(best=first, plans=(first, replace(other, nodes=32)))


def test_choice_names_every_cluster_with_its_numbers_of_nodes():
    assert facts.choice(OFFERS) == "16, 32 or 64 nodes of dgx-h100; 8 to 32 nodes of small"


def test_offers_of_one_name_are_told_together():
    halves = (Offer(cluster=DGX, nodes=(64,)), Offer(cluster=part(DGX, 48), nodes=(48,)))
    assert facts.choice(halves) == "48 or 64 nodes of dgx-h100"


def test_many_clusters_are_counted():
    many = [Offer(cluster=replace(DGX, name=f"c{each}"), nodes=(64,)) for each in range(7)]
    assert facts.choice(many) == "64 nodes of c0, c1, c2, c3 or 3 other clusters"


def test_home_of_a_plan_is_the_cluster_that_it_rents():
    assert facts.home(STUDY, replace(BEST, nodes=16)).cluster == part(DGX, 16)
    assert facts.home(STUDY, replace(BEST, cluster="small", nodes=16)).cluster == part(SMALL, 16)
    assert facts.home(builders.study(), BEST) == builders.study()


def test_best_plan_tells_what_to_rent_and_what_an_hour_costs():
    [fact] = facts.to_rent(STUDY, BEST)
    assert (fact.label, fact.text) == ("Rent", "64 nodes of dgx-h100")
    assert fact.more == "512 x h100-sxm-80gb, 74.5 GiB each; 1.28 kUSD/h"


def test_study_without_a_choice_tells_its_cluster_alone():
    assert facts.to_rent(builders.study(), BEST) == ()
    assert facts.question(builders.study())[-1].text == "64 nodes of dgx-h100"


def test_limits_on_memory_and_power_are_told():
    limit = Limit(memory=70 * 2.0**30, power=2e6)
    [fact] = [each for each in facts.purpose(replace(STUDY, limit=limit)) if each.label == "Limits"]
    assert fact.text == "70 GiB per device, 2 MW"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_terminal_tells_what_may_be_rented_what_to_rent_and_where_each_plan_runs(width):
    console = Console(file=StringIO(), width=width)
    console.print(drawn(search_report(STUDY, result())))
    text = " ".join(console.file.getvalue().split())
    assert "To rent 16, 32 or 64 nodes of dgx-h100; 8 to 32 nodes of small" in text
    assert "Rent 16 nodes of small (128 x h100-sxm-80gb" in text
    assert "cluster" in text


def test_page_tells_what_to_rent_and_which_sizes_are_worth_it():
    page = page_of(search_report(STUDY, result()), builders.provenance())
    assert "16 nodes of small" in page
    assert "on 128 h100-sxm-80gb" in page
    assert 'id="sizes"' in page
    assert 'id="sizes"' not in page_of(
        search_report(builders.study(), builders.search_result()), builders.provenance()
    )


def test_ranking_has_columns_for_what_differs():
    names = [column.name for column in ranking.ranking(result().plans).columns]
    assert names[:3] == ["#", "cluster", "nodes"]
    assert "cluster" not in [column.name for column in ranking.ranking((BEST, BEST)).columns]


def test_front_tells_where_its_plans_run_even_where_those_shown_run_alike():
    points = builders.search_result().pareto
    front = (*points, replace(points[-1], devices=256))
    shown = ranking.pareto(front, most=len(points))
    assert shown.most == len(points)
    assert [column.name for column in shown.columns][:3] == ["#", "devices", "tp"]
