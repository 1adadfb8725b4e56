from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as some

from foretrain.ensemble.across_nodes import (
    ALL_SHARED,
    DUPLICATE,
    MULTI_BROADCAST,
    PIPELINES,
    SINGLE_BROADCAST,
    UNDIVIDED_BROADCAST,
    pipeline,
)
from foretrain.errors import InputError

EVERY = [*PIPELINES.values(), UNDIVIDED_BROADCAST]
COUNTS = some.integers(1, 64)


@pytest.mark.parametrize("kind", EVERY, ids=lambda each: each.name)
@given(nodes=COUNTS, asked=COUNTS)
def test_a_busiest_node_is_at_least_as_busy_as_an_average_one_of_divided_work(kind, nodes, asked):
    preparers = kind.preparers(nodes, asked)
    assert 1 <= preparers <= nodes
    assert kind.share(preparers) in {1.0, 1.0 / preparers}
    traffic = kind.traffic(nodes, preparers)
    assert traffic.average >= 0
    assert traffic.sent >= 0
    if kind is not DUPLICATE:
        assert traffic.busiest >= 1


@pytest.mark.parametrize(
    "kind", [each for each in EVERY if each is not DUPLICATE], ids=lambda each: each.name
)
def test_one_node_alone_only_hands_samples_over(kind):
    traffic = kind.traffic(1, 1)
    assert (traffic.busiest, traffic.average, traffic.sent) == (1.0, 1.0, 0.0)


def test_nothing_goes_through_nodes_that_prepare_for_themselves():
    assert not DUPLICATE.exchanges
    assert ALL_SHARED.exchanges


@given(nodes=COUNTS)
def test_a_single_broadcast_from_all_nodes_is_all_shared(nodes):
    single, shared = (each.traffic(nodes, nodes) for each in (SINGLE_BROADCAST, ALL_SHARED))
    assert astuple(single) == pytest.approx(astuple(shared))


@given(nodes=COUNTS)
def test_both_broadcasts_of_one_preparer_send_alike(nodes):
    single, multi = (each.traffic(nodes, 1) for each in (SINGLE_BROADCAST, MULTI_BROADCAST))
    assert single.sent == multi.sent
    assert single.busiest == multi.busiest


def test_eight_nodes_under_one_root_take_three_sends():
    assert SINGLE_BROADCAST.traffic(8, 1).sent == 3.0


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one():
    assert pipeline("all-shared") is ALL_SHARED
    with pytest.raises(InputError, match="Did you mean 'all-shared'"):
        pipeline("all-share")
