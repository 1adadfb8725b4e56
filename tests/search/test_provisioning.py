"""Renting: a search over clusters and numbers of nodes answers like one search for each of them."""

from dataclasses import replace
from functools import cache

import pytest
from tests.builders import H100
from tests.small import QUICK_HOST, cluster, gpt_study, loose

from foretrain.cluster.cluster import Power
from foretrain.cluster.offer import Offer, part
from foretrain.errors import InputError
from foretrain.plan.study import Objective
from foretrain.search.report.compare import after_search
from foretrain.search.report.search import worth
from foretrain.search.search import search
from foretrain.show.document import of_study
from foretrain.study.coefficients import DEFAULT
from foretrain.study.study import study_from

FAST = cluster(nodes=4, node_devices=4, power=Power(idle=2_000.0))
SLOW = replace(
    FAST,
    name="slow",
    device=replace(H100, name="half", peak=replace(H100.peak, bf16=H100.peak.bf16 / 2)),
    price=FAST.price / 3,
    node_power=FAST.node_power / 4,
)
OFFERS = (Offer(cluster=FAST, nodes=(1, 2, 3, 4)), Offer(cluster=SLOW, nodes=(2, 4)))
STUDY = gpt_study(cluster=FAST, offers=OFFERS)
SPENT = {
    Objective.TIME: lambda estimate: estimate.step_time,
    Objective.COST: lambda estimate: estimate.cost_per_step,
    Objective.ENERGY: lambda estimate: estimate.energy_per_step,
    Objective.MEMORY: lambda estimate: estimate.memory.total,
}


@cache
def alone(objective, coefficients=DEFAULT):
    """The best of each size, searched alone; three nodes have no legal plan here."""
    sizes = [(offer.cluster, nodes) for offer in OFFERS for nodes in offer.nodes if nodes != 3]
    return {
        (rented.name, nodes): search(
            replace(STUDY, cluster=part(rented, nodes), offers=(), objective=objective),
            keep=1,
            coefficients=coefficients,
        ).ranking[0]
        for rented, nodes in sizes
    }


@pytest.mark.parametrize("exhaustive", [False, True])
@pytest.mark.parametrize("objective", Objective)
def test_best_of_all_sizes_is_the_best_of_each(objective, exhaustive):
    spent = SPENT[objective]
    best = search(replace(STUDY, objective=objective), exhaustive=exhaustive).ranking[0]
    rivals = alone(objective)
    assert spent(best.estimate) == min(spent(each.estimate) for each in rivals.values())
    assert best.estimate == rivals[best.cluster, best.nodes].estimate


def test_each_size_is_as_fast_as_its_own_search_says():
    rivals = alone(Objective.TIME)
    for point in worth(search(STUDY).pareto):
        own = rivals[point.cluster, point.devices // 4].estimate
        assert point.step_time == own.closed_form


def test_plans_of_all_sizes_are_counted():
    answer = search(STUDY)
    several = [Offer(cluster=part(FAST, n), nodes=(n,)) for n in (1, 2, 3, 4)]
    sizes = [replace(STUDY, offers=(each,)) for each in several]
    slow = replace(STUDY, offers=OFFERS[1:])
    assert answer.space == sum(search(each).space for each in (*sizes, slow))
    assert answer.space == (
        answer.priced + answer.excluded_by_bound + sum(answer.rejected.values())
    )


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (loose(devices=8), {("small", 2), ("slow", 2)}),
        (loose(power=FAST.draw * 0.6), {("small", 2), ("slow", 4)}),
    ],
)
def test_limit_leaves_out_what_is_over_it(limit, kept):
    rivals = alone(Objective.TIME, QUICK_HOST)
    best = search(replace(STUDY, limit=limit), coefficients=QUICK_HOST).ranking[0]
    fastest = min(kept, key=lambda size: rivals[size].estimate.step_time)
    assert (best.cluster, best.nodes) == fastest


def test_memory_limit_leaves_out_plans_that_fill_more():
    free = search(STUDY).ranking[0].estimate.memory.total
    answer = search(replace(STUDY, limit=loose(memory=0.9 * free)))
    assert answer.ranking[0].estimate.memory.total <= 0.9 * free
    assert answer.rejected["memory limit"] > 0


def test_offer_without_a_legal_plan_is_passed_over():
    odd = Offer(cluster=part(FAST, 3), nodes=(3,))
    answer = search(replace(STUDY, offers=(odd, OFFERS[1])))
    assert answer.best.cluster == "slow"


def test_offers_of_which_none_has_a_legal_plan_are_refused():
    odd = Offer(cluster=cluster(nodes=13, node_devices=4), nodes=(11, 13))
    with pytest.raises(InputError, match="no legal plan for small-gpt on 44 or 52 devices: "):
        search(replace(STUDY, offers=(odd,), cluster=odd.cluster))


def test_what_may_be_rented_is_part_of_the_question():
    other = replace(STUDY, offers=OFFERS[:1])
    assert of_study(STUDY).inputs != of_study(other).inputs


def test_best_plan_on_a_size_with_links_of_its_own_is_told_with_how_to_run_it():
    workload = {"model": "gpt-3-125m", "global_batch": 64, "sequence": 1024}
    cluster = {"name": "perlmutter", "nodes": [1, 2, 4]}  # a dragonfly: no part has its links
    asked = study_from(
        {"workload": workload, "cluster": cluster, "plan": {"micro_batch": 1, "pipeline": 1}},
        "test",
    )
    found = search(asked, keep=1)
    assert found.best.cluster == "perlmutter"
    assert [each.label for each in after_search(asked, found)][-1] == "Export"
