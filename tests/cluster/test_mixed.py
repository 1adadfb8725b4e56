from dataclasses import replace

import pytest
from tests.builders import FABRIC, NVLINK
from tests.mixed_studies import kind, two
from tests.small import ETHERNET

from foretrain.cluster.device import Level
from foretrain.cluster.mixed import alike, dollars, slower, watts
from foretrain.errors import InputError

THIN = replace(FABRIC, latency=1e-5, bandwidth=1e10, capacity=None)


def test_two_clusters_of_one_kind_are_the_cluster_with_the_nodes_of_both():
    mixed = two(kind(2), kind(6))
    for place in (0, 1):
        assert alike(mixed, place).levels == kind(8).levels
        assert slower(mixed, place) == alike(mixed, place)


def test_both_kinds_keep_their_own_devices_and_links():
    first, second = kind(2), kind(2, share=0.5)
    second = replace(second, levels=(second.levels[0], replace(second.levels[1], link=ETHERNET)))
    mixed = two(first, second)
    assert alike(mixed, 0).device == first.device
    assert alike(mixed, 0).levels[1].link == FABRIC
    assert alike(mixed, 1).levels[1].link == ETHERNET


def test_links_between_kinds_are_the_worse_of_both_in_every_respect():
    far = replace(FABRIC, latency=1e-3, bandwidth=4 * FABRIC.bandwidth, capacity=None)
    first, second = kind(2), kind(2)
    second = replace(second, levels=(second.levels[0], replace(second.levels[1], link=far)))
    for place in (0, 1):
        link = slower(two(first, second), place).levels[1].link
        assert (link.latency, link.bandwidth) == (1e-3, FABRIC.bandwidth)
        assert link.capacity == FABRIC.capacity


def test_capacity_of_smaller_nodes_counts_by_device():
    narrow = replace(FABRIC, capacity=1e10)
    small = kind(2, node_devices=2)
    small = replace(small, levels=(small.levels[0], replace(small.levels[1], link=narrow)))
    mixed = two(kind(2), small)
    assert slower(mixed, 0).levels[1].link.capacity == 2e10
    assert slower(mixed, 1).levels[1].link.capacity == 1e10


def test_link_of_its_own_is_a_level_around_both():
    mixed = two(kind(2), kind(2, share=0.5), link=THIN)
    levels = slower(mixed, 0).levels
    assert [level.members for level in levels] == [4, 2, 2]
    assert levels[2].link == THIN
    assert levels[1].link == FABRIC


def test_uneven_kinds_are_rounded_up_to_whole_groups():
    mixed = two(kind(1), kind(1, node_devices=2))
    assert [alike(mixed, place).devices for place in (0, 1)] == [8, 6]
    assert mixed.devices == 6


def test_price_and_power_are_those_of_both():
    mixed = two(kind(2), kind(4, share=0.5))
    assert dollars(mixed) == pytest.approx(2.5 / 3600 * (8 + 16 * 0.5))
    assert watts(mixed) == pytest.approx(6 * 5_000.0)
    assert dollars(two(kind(2), kind(2, price=None))) is None
    assert watts(two(kind(2), kind(2, node_power=None))) is None


def test_kinds_without_a_level_between_nodes_need_a_link():
    box = replace(kind(1), levels=(Level(name="node", members=4, link=NVLINK),))
    with pytest.raises(InputError, match="say what connects its devices"):
        two(box, kind(2))
    assert alike(two(box, kind(2), link=THIN), 0).levels[-1].link == THIN
