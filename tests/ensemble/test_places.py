"""Places of members on nodes: FLEET's rules, by hand."""

from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ensemble.ensembles import terms

from foretrain.ensemble.course import moved, orders, placement, spread


def placed(counts, devices=12, width=4):
    return placement(dict(enumerate(counts)), range(devices), devices_per_node=width)


def test_members_that_fill_nodes_get_whole_nodes_and_then_pairs_that_do():
    assert placed([3, 4, 5]) == {1: (0, 1, 2, 3), 0: (4, 5, 6), 2: (7, 8, 9, 10, 11)}


def test_the_others_lie_in_the_order_that_spans_the_fewest_nodes():
    # Nodes over devices: 1/2 + 2/3 + 1/3 with the 2 first or last, 1/3 + 2/2 + 1/3 in the middle.
    found = placed([2, 3, 3], devices=8)
    assert spread(found, 4) == pytest.approx(1 / 2 + 2 / 3 + 1 / 3)


def test_free_devices_of_broken_nodes_are_used_too():
    found = placement({0: 4, 1: 3}, [1, 2, 3, 8, 9, 10, 11], devices_per_node=4)
    assert found == {0: (8, 9, 10, 11), 1: (1, 2, 3)}


def test_who_keeps_its_devices_stays_where_it_is():
    ensemble = terms([1.0] * 3, devices=4, per_node=2).ensemble
    before = {0: (0,), 1: (1, 2, 3)}
    assert moved(before, {0: 1, 1: 2, 2: 1}, ensemble) == {0: (0,), 1: (2, 3), 2: (1,)}


@given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=7),
    width=st.integers(1, 4),
    more=st.integers(0, 4),
)
def test_everybody_gets_its_number_of_devices_and_nobody_anothers(counts, width, more):
    devices = -(-sum(counts) // width) * width + more * width
    found = placed(counts, devices, width)
    assert [len(found[place]) for place in range(len(counts))] == counts
    assert len({device for there in found.values() for device in there}) == sum(counts)


@given(size=st.integers(0, 9), most=st.integers(1, 200))
def test_orders_are_all_there_are_or_as_many_different_ones_as_allowed(size, most):
    found = {tuple(order) for order in orders(range(size), most)}
    assert len(found) == min(factorial(size), most)
    assert all(sorted(order) == list(range(size)) for order in found)
