"""Within: limits on devices and power leave numbers of nodes out, and say so where none is left."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cluster.offer import Offer, whole
from foretrain.plan.legality import limit_problems, within
from foretrain.plan.study import Limit
from foretrain.study.catalogue import cluster

H100 = Offer(cluster=cluster("dgx-h100", nodes=64), nodes=(8, 16, 64))
A100 = Offer(cluster=cluster("dgx-a100", nodes=32), nodes=(16, 32))
OFFERS = (H100, A100)


def sizes(offers):
    return [offer.of(devices) for offer in offers for devices in offer.devices]


exactly = st.sampled_from(sizes(OFFERS))
limits = st.builds(
    Limit,
    devices=st.none() | st.integers(1, 600) | exactly.map(lambda it: it.devices),
    power=st.none() | st.floats(1e3, 1e6) | exactly.map(lambda it: it.draw),
)


@given(limit=limits)
def test_exactly_what_keeps_the_limits_stays(limit):
    kept = [
        each
        for each in sizes(OFFERS)
        if each.devices <= (limit.devices or 1000) and each.draw <= (limit.power or 1e9)
    ]
    assert sizes(within(OFFERS, limit)) == kept


@given(limit=limits)
def test_problem_is_told_exactly_where_nothing_is_left(limit):
    assert bool(within(OFFERS, limit)) == (not list(limit_problems(OFFERS, limit)))


def test_offer_without_power_figures_keeps_no_limit_on_power():
    unknown = whole(replace(H100.cluster, node_power=None))
    assert within([unknown, A100], Limit(power=1e6)) == (A100,)


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (
            Limit(devices=8),
            "search.limit.devices: 8 is too few: the smallest choice, 8 nodes of dgx-h100, has 64 "
            "devices, all of which a plan uses. Lower cluster.nodes.",
        ),
        (
            Limit(power=50e3),
            "search.limit.power: 50 kW is too little: the smallest choice, 8 nodes of dgx-h100, "
            "draws 81.6 kW at full load. Lower cluster.nodes.",
        ),
    ],
)
def test_limit_that_leaves_nothing_is_told_with_the_smallest_choice(limit, told):
    assert list(limit_problems(OFFERS, limit)) == [told]


def test_limits_that_leave_nothing_together_are_told_together():
    few = Offer(cluster=cluster("dgx-h100", nodes=16), nodes=(8, 16))
    many = replace(A100.cluster, node_power=1e3)
    [told] = limit_problems([few, whole(many)], Limit(devices=128, power=50e3))
    assert told.startswith("search.limit: devices and power together leave nothing to rent.")
