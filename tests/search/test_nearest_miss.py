"""Nearest miss: what is nearest to fitting, and which changes really let a plan fit."""

from dataclasses import replace

import pytest
from tests.small import HOST, cluster, gpt_study, listed, long_study, loose, with_memory

from foretrain.cluster.offer import part, whole
from foretrain.plan.plan import Offload, Recompute, Sharding
from foretrain.plan.study import Space
from foretrain.search.ways_out import enough_nodes, freed, nearest_plan
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.operator import Attention

STUDY = gpt_study(
    space=Space(
        recompute=(Recompute.NONE,),
        micro_batch=(1, 2),
        tensor=(1, 2),
        context=(1,),
        sharding=(Sharding.NONE, Sharding.OPTIMIZER),
        attention=(Attention.FLASH,),
    )
)


@pytest.fixture(scope="module")
def least():
    """Bytes of the plan that needs least, by pricing each alone."""
    known = setting(STUDY.workload, STUDY.cluster, DEFAULT)
    return min(price_plan(known, plan, played=False).memory.total for plan in listed(STUDY))


def test_nearest_plan_needs_least_of_all(least):
    found = nearest_plan(with_memory(STUDY, 0.9 * least), DEFAULT)
    assert found.memory == least
    assert not found.fits
    assert found.room == 0.9 * least


def test_of_several_offers_the_one_that_is_nearest_to_fitting_has_the_nearest_plan(least):
    tight, roomier = (
        whole(replace(with_memory(STUDY, share * least).cluster, name=f"{share}"))
        for share in (0.5, 0.9)
    )
    for offers in ((tight, roomier), (roomier, tight)):
        found = nearest_plan(replace(STUDY, cluster=offers[0].cluster, offers=offers), DEFAULT)
        assert (found.cluster.name, found.room) == ("0.9", 0.9 * least)


def test_limit_on_memory_is_room_too(least):
    assert not nearest_plan(replace(STUDY, limit=loose(memory=0.9 * least)), DEFAULT).fits
    assert nearest_plan(replace(STUDY, limit=loose(memory=least)), DEFAULT).fits


def test_space_without_a_legal_plan_has_no_nearest_one():
    assert nearest_plan(gpt_study(cluster=cluster(nodes=11, node_devices=8)), DEFAULT) is None


def test_hosts_that_are_too_small_are_told_from_devices():
    study = long_study(space=Space(context=(4,), offload=(Offload.BOTH,)))
    host = replace(study.cluster.host, memory=1e6)
    found = nearest_plan(replace(study, cluster=replace(study.cluster, host=host)), DEFAULT)
    assert found.crowded
    assert not found.fits


def test_freed_keys_are_those_that_the_study_or_its_defaults_fix():
    keys = {each.key for each in freed(STUDY)}
    assert keys == {
        "recompute", "micro_batch", "tensor", "context", "sharding", "attention",
        "schedule", "sends", "cut", "reshard",
    }  # fmt: skip
    assert {each.key for each in freed(STUDY, but=("tensor", "cut"))} == keys - {"tensor", "cut"}


def test_host_lets_offloading_be_freed():
    study = replace(STUDY, cluster=replace(STUDY.cluster, host=HOST))
    [found] = [each for each in freed(study) if each.key == "offload"]
    assert set(found.study.space.offload) == set(Offload)


def test_freed_key_only_adds_plans():
    plans = {str(plan) for plan in listed(STUDY)}
    for each in freed(STUDY):
        assert plans <= {str(plan) for plan in listed(each.study)}


def test_nodes_that_are_enough_are_more_and_fit(least):
    study = with_memory(STUDY, 0.95 * least)
    found = enough_nodes(study, study.cluster, DEFAULT)
    assert found.fits
    assert found.cluster.nodes > study.cluster.nodes
    assert found.plan.devices == found.cluster.devices
    there = setting(study.workload, found.cluster, DEFAULT)
    assert price_plan(there, found.plan, played=False).memory.total == found.memory


@pytest.mark.parametrize("share", [0.97, 0.85, 0.7])
def test_of_nodes_that_are_enough_a_rack_less_is_too_few(share):
    workload = replace(STUDY.workload, global_batch=48 * 5 * 7)
    levels = cluster(nodes=2, node_devices=2).levels
    racks = replace(levels[1], name="rack")
    place = cluster(nodes=1, node_devices=2)
    place = replace(place, levels=(levels[0], racks, replace(levels[1], members=1)))
    space = replace(STUDY.space, micro_batch=(1,), tensor=(1,), sharding=(Sharding.OPTIMIZER,))
    study = replace(STUDY, workload=workload, cluster=place, space=space)
    need = nearest_plan(study, DEFAULT).memory
    study = with_memory(study, share * need)
    found = enough_nodes(study, study.cluster, DEFAULT)
    fewer = nearest_plan(
        replace(study, cluster=part(study.cluster, found.cluster.nodes - 2)), DEFAULT
    )
    assert found.fits
    assert found.cluster.nodes % 2 == 0
    assert fewer is None or not fewer.fits

    exactly = replace(study, limit=loose(devices=2 * found.cluster.nodes))
    assert enough_nodes(exactly, study.cluster, DEFAULT).memory == found.memory


def test_no_number_of_nodes_is_enough_for_what_nobody_divides():
    study = with_memory(STUDY, 1e6)
    assert enough_nodes(study, study.cluster, DEFAULT) is None


def test_limit_on_devices_is_kept(least):
    study = with_memory(replace(STUDY, limit=loose(devices=16)), 0.95 * least)
    assert enough_nodes(study, study.cluster, DEFAULT) is None
