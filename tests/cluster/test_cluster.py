"""Clusters: levels multiply, and what cannot be is refused."""

from dataclasses import replace
from math import prod

import pytest
from hypothesis import given
from tests.random_nouns import clusters

from foretrain.errors import InputError
from foretrain.study.catalogue import cluster, device, names

DGX = cluster("dgx-a100", nodes=4)
NOT_POSITIVE = [0.0, -1.0, float("nan")]
NEGATIVE = [-1.0, float("nan")]


@given(cluster=clusters())
def test_devices_are_the_product_of_all_levels(cluster):
    assert cluster.devices == prod(level.members for level in cluster.levels)
    assert cluster.devices == cluster.nodes * cluster.node_devices


def test_four_nodes_of_eight():
    assert (DGX.devices, DGX.nodes, DGX.node_devices) == (32, 4, 8)


def test_racks_do_not_change_what_a_node_is():
    node, fabric = DGX.levels
    racks = replace(DGX, levels=(node, replace(fabric, name="rack"), replace(fabric, members=2)))
    assert (racks.devices, racks.nodes, racks.node_devices) == (64, 8, 8)


def test_package_is_part_of_its_node():
    node, fabric = DGX.levels
    pairs = replace(node, name="package", members=2)
    halves = replace(DGX, levels=(pairs, replace(node, members=4), fabric))
    assert (halves.devices, halves.nodes, halves.node_devices) == (32, 4, 8)


def test_one_level_is_one_node():
    alone = replace(DGX, levels=DGX.levels[:1])
    assert (alone.devices, alone.nodes, alone.node_devices) == (8, 1, 8)


def test_no_device_of_the_catalogue_sends_more_than_its_node_lets_out():
    for name in names()["clusters"]:
        for level in cluster(name, nodes=2).levels:
            assert level.link.capacity is None or level.link.bandwidth <= level.link.capacity, name


def test_no_measured_product_exceeds_the_data_sheet():
    for name in names()["devices"]:
        found = device(name)
        top = found.peak.bf16 or found.peak.fp16 or found.peak.fp32
        assert found.matmul is None or found.matmul <= top, name


@pytest.mark.parametrize("value", NOT_POSITIVE)
@pytest.mark.parametrize("name", ["bandwidth", "capacity"])
def test_link_that_carries_nothing_is_refused(name, value):
    with pytest.raises(InputError, match=rf"Link\.{name} must be above 0 bytes/s"):
        replace(DGX.levels[0].link, **{name: value})


@pytest.mark.parametrize("value", NEGATIVE)
def test_link_that_arrives_before_it_starts_is_refused(value):
    with pytest.raises(InputError, match=r"Link\.latency must be at least 0 s"):
        replace(DGX.levels[0].link, latency=value)


@pytest.mark.parametrize("members", [0, -8])
def test_level_without_members_is_refused(members):
    with pytest.raises(InputError, match=r"Level\.members must be at least 1"):
        replace(DGX.levels[0], members=members)


@pytest.mark.parametrize("value", NOT_POSITIVE)
@pytest.mark.parametrize("name", ["memory", "memory_bandwidth", "units", "power", "matmul"])
def test_device_without_a_rate_is_refused(name, value):
    with pytest.raises(InputError, match=rf"Device\.{name} must be above 0"):
        replace(DGX.device, **{name: value})


@pytest.mark.parametrize("value", NOT_POSITIVE)
@pytest.mark.parametrize("name", ["fp32", "tf32", "fp16", "bf16", "fp8", "fp4"])
def test_peak_of_nothing_is_refused(name, value):
    with pytest.raises(InputError, match=rf"Peak\.{name} must be above 0 FLOP/s"):
        replace(DGX.device.peak, **{name: value})


@pytest.mark.parametrize("value", NEGATIVE)
@pytest.mark.parametrize("name", ["price", "node_power"])
def test_cluster_that_pays_to_be_used_is_refused(name, value):
    with pytest.raises(InputError, match=rf"Cluster\.{name} must be at least 0"):
        replace(DGX, **{name: value})


@pytest.mark.parametrize("value", NOT_POSITIVE)
def test_node_that_always_fails_is_refused(value):
    with pytest.raises(InputError, match=r"Cluster\.mtbf must be above 0 s"):
        replace(DGX, mtbf=value)


@pytest.mark.parametrize("value", NEGATIVE)
def test_device_that_makes_power_is_refused(value):
    with pytest.raises(InputError, match=r"Device\.idle_power must be at least 0 W"):
        replace(DGX.device, idle_power=value)


def test_cluster_without_links_is_refused():
    with pytest.raises(InputError, match="needs at least one level of links"):
        replace(DGX, levels=())
