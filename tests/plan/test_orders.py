"""Orders: those that place any group differently, and no other."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.small import cluster

from foretrain.cluster.device import Level, Link, Technology
from foretrain.plan.enumeration import ORDERS, first_order, order_counts, with_orders
from foretrain.plan.plan import AXES, Plan
from foretrain.plan.study import Space
from foretrain.plan.table import inner_members, table_of

LINK = Link(latency=1e-6, bandwidth=1e11, technology=Technology.CUSTOM)
degrees = st.tuples(*[st.sampled_from([1, 2, 3, 4, 6, 8, 12])] * 4)
levels = st.lists(st.sampled_from([1, 2, 3, 4, 6, 8]), min_size=1, max_size=4)
orders = st.none() | st.lists(
    st.sampled_from([*permutations(AXES)]), min_size=1, max_size=6, unique=True
).map(tuple)


def place_of(levels):
    every = (Level(name=f"l{n}", members=count, link=LINK) for n, count in enumerate(levels))
    return cluster(nodes=1, node_devices=1, levels=tuple(every))


def table(several):
    return table_of([Plan(**dict(zip(AXES, each, strict=True))) for each in several])


def slowly(degrees, levels, tried):
    """The orders that place groups as none before them does, by `inner_members` one by one."""
    found = {}
    for order in tried:
        found.setdefault(inner_members(order, degrees, tuple(levels)), order)
    return [*found.values()]


@few(200)
@given(several=st.lists(degrees, min_size=1, max_size=6), levels=levels, tried=orders)
def test_orders_are_those_that_inner_members_tells_apart(several, levels, tried):
    plans, place, space = table(several), place_of(levels), Space(order=tried)
    expected = [slowly(each, levels, tried or ORDERS) for each in several]
    ordered, source = with_orders(plans, place, space)
    for row in range(len(several)):
        found = [ORDERS[int(order)] for order in ordered.order[source == row]]
        assert found == expected[row]
    assert order_counts(plans, place, space).tolist() == [len(each) for each in expected]


@few(50)
@given(several=st.lists(degrees, min_size=1, max_size=6), levels=levels)
def test_orders_change_nothing_but_the_order(several, levels):
    plans = table(several)
    ordered, source = with_orders(plans, place_of(levels), Space())
    assert sorted(set(source.tolist())) == [*range(len(several))]
    for name in AXES:
        np.testing.assert_array_equal(getattr(ordered, name), getattr(plans, name)[source])


@given(degrees)
def test_one_level_has_one_order(degrees):
    assert order_counts(table([degrees]), place_of([8]), Space()).tolist() == [1]


def test_no_plan_has_no_order():
    nothing = table([(1, 1, 1, 1)]).take(np.zeros(0, int))
    ordered, source = with_orders(nothing, place_of([8, 2]), Space())
    assert len(ordered) == len(source) == 0


@pytest.mark.parametrize("order", [AXES, AXES[::-1]])
def test_first_order_is_the_first_that_is_asked_for(order):
    assert ORDERS[int(first_order(Space(order=(order, AXES))))] == order
    assert ORDERS[int(first_order(Space()))] == ORDERS[0]
