from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from tests.ensemble.settings import COSTS, any_nodes, nodes_of
from tests.examples import few
from validation.ensembles.selector import select_pipeline
from validation.parts.played_pipelines import behind, drawn_setting
from validation.parts.titan import NETWORKS, PIPELINES, fitted

from foretrain.ensemble.across_nodes import ALL_SHARED, DUPLICATE, estimate_pipeline
from foretrain.ensemble.costs import ExchangeCosts
from foretrain.ensemble.plan import CLOSE

SLOW_LINK = ExchangeCosts(byte_time=1e-9, bandwidth=1e7)


@pytest.mark.parametrize("nodes", [2, 10, 50, 100])
@pytest.mark.parametrize("network", NETWORKS)
def test_all_shared_is_picked_on_titan(network, nodes):
    setting = fitted(network).setting(nodes)
    for choices in ((DUPLICATE, *PIPELINES.values()), None):
        more = {"pipelines": choices} if choices else {}
        assert select_pipeline(setting, preparers=(5, 20), **more).best.pipeline is ALL_SHARED


@given(setting=any_nodes())
@few(30)
def test_the_pick_is_as_fast_as_any_and_every_other_has_a_reason(setting):
    found = select_pipeline(setting)
    fastest = max(each.rate for each in found.estimates)
    assert found.best.rate >= (1 - CLOSE) * fastest
    assert set(found.losses) == {each.name for each in found.estimates} - {found.best.name}
    assert found.pays == (found.best.pipeline is not DUPLICATE)
    assert found.verdict.startswith("Sharing pays" if found.pays else "Sharing does not pay")


def test_the_pick_is_nearly_the_best_where_all_pipelines_are_played():
    random = np.random.default_rng(1)
    assert max(behind(drawn_setting(random)) for _ in range(15)) <= 0.05


def test_nobody_shares_over_a_link_that_is_slower_than_preparing():
    found = select_pipeline(nodes_of(8, exchange=SLOW_LINK))
    assert not found.pays
    assert found.best.pipeline is DUPLICATE
    assert "exchange limits it" in found.losses["all-shared"]


def test_nobody_shares_what_costs_nothing_to_prepare():
    cheap = replace(COSTS, prepare=1e-5)
    found = select_pipeline(nodes_of(8, costs=cheap, exchange=ExchangeCosts(byte_time=1e-11)))
    assert not found.pays
    assert "too little CPU time" in found.losses["all-shared"]


def test_where_members_starve_the_fastest_pipeline_is_picked_though_it_costs_more():
    setting = nodes_of(4, cores=2, exchange=ExchangeCosts(byte_time=1e-9))
    found = select_pipeline(setting)
    assert found.pays
    assert found.best.rate > 1.5 * found.duplicate.rate
    assert "cores limits it" in found.losses["duplicate"]


def test_pipelines_that_leave_it_open_are_tried_with_several_preparers():
    names = {each.name for each in select_pipeline(nodes_of(6)).estimates}
    assert {f"multi-broadcast, {count} preparing" for count in (1, 2, 4, 6)} <= names


def test_the_duplicate_of_a_selection_is_what_every_node_does_alone():
    setting = nodes_of(4)
    found = select_pipeline(setting, pipelines=[ALL_SHARED])
    assert found.duplicate == estimate_pipeline(DUPLICATE, setting)
