"""Offers: fewer nodes of a cluster are a cluster with the same links, or they are another offer."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cluster.offer import Offer, divisible, offers_of, part, rented, whole
from foretrain.errors import InputError
from foretrain.study.catalogue import cluster, names

DGX = cluster("dgx-h100", nodes=64)
RACKS = cluster("gb200-nvl72", nodes=72)
TORUS = cluster("titan", nodes=64)
counts = st.integers(1, 64)


@given(nodes=counts)
def test_part_is_the_cluster_built_with_so_many_nodes(nodes):
    assert part(DGX, nodes) == cluster("dgx-h100", nodes=nodes)


@given(nodes=st.integers(1, 32))
def test_part_of_a_part_is_a_part(nodes):
    assert part(part(DGX, 2 * nodes), nodes) == part(DGX, nodes)


@given(nodes=counts)
def test_part_differs_in_groups_of_its_outermost_level_alone(nodes):
    found = part(DGX, nodes)
    assert found.nodes == nodes
    assert found.levels[:-1] == DGX.levels[:-1]
    assert replace(found, levels=DGX.levels) == DGX


@given(nodes=counts)
def test_part_draws_its_share_of_the_power(nodes):
    assert part(DGX, nodes).draw == pytest.approx(DGX.draw * nodes / 64)


def test_all_nodes_are_a_part_of_any_cluster():
    assert part(TORUS, 64) is TORUS
    assert whole(TORUS).of(TORUS.devices) is TORUS


@pytest.mark.parametrize(("rented", "nodes"), [(RACKS, 35), (RACKS, 1), (TORUS, 32)])
def test_nodes_that_are_no_part_are_refused(rented, nodes):
    with pytest.raises(InputError, match=f"{nodes} nodes of '{rented.name}' are no whole part"):
        part(rented, nodes)


@pytest.mark.parametrize("nodes", [(), (64, 32), (32, 32, 64)])
def test_numbers_of_nodes_ascend(nodes):
    with pytest.raises(InputError, match="must be ascending numbers"):
        Offer(cluster=DGX, nodes=nodes)


def test_cluster_of_an_offer_has_the_most_nodes():
    with pytest.raises(InputError, match="largest number of Offer"):
        Offer(cluster=DGX, nodes=(8, 32))


def test_offers_are_exactly_the_clusters_that_they_were_made_of():
    for name in names()["clusters"]:
        sizes = [cluster(name, nodes) for nodes in (72, 36, 18, 9, 4, 1)]
        found = [offer.of(devices) for offer in offers_of(sizes) for devices in offer.devices]
        assert len(found) == len(sizes), name
        assert all(each in sizes for each in found), name


def test_clusters_that_differ_in_their_outermost_level_are_one_offer():
    sizes = [cluster("dgx-h100", nodes) for nodes in (16, 64, 8)]
    assert offers_of(sizes) == (Offer(cluster=DGX, nodes=(8, 16, 64)),)


def test_racks_that_are_filled_differently_are_offers_of_their_own():
    sizes = [cluster("gb200-nvl72", nodes) for nodes in (72, 36, 34, 17)]
    assert [offer.nodes for offer in offers_of(sizes)] == [(36, 72), (17, 34)]


def test_tori_of_two_sizes_are_two_offers():
    sizes = [cluster("titan", nodes) for nodes in (64, 32)]
    assert [offer.nodes for offer in offers_of(sizes)] == [(64,), (32,)]
    assert not divisible(TORUS)


def test_same_nodes_at_another_price_are_another_offer():
    assert len(offers_of([DGX, replace(DGX, price=1.0)])) == 2


@pytest.mark.parametrize("nodes", [72, 36, 34, 17])
def test_rented_cluster_is_the_one_of_its_name_and_number_of_nodes(nodes):
    offers = offers_of([DGX, *(cluster("gb200-nvl72", each) for each in (72, 36, 34, 17))])
    assert rented(offers, "gb200-nvl72", nodes) == cluster("gb200-nvl72", nodes)
