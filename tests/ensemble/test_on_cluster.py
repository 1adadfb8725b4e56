"""An ensemble on a cluster: which way of feeding it is chosen, by hand and by law."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.ensemble.settings import COSTS, FREE, any_costs, sizes
from tests.examples import few

from foretrain.ensemble.costs import Cores, ExchangeCosts
from foretrain.ensemble.one_node import MeasuredLoaders
from foretrain.ensemble.plan import CLOSE
from foretrain.ensemble.shared_input import OnCluster, choose_input
from foretrain.errors import InputError


def loaders(prepare, copy=0.0):
    return MeasuredLoaders(hand=2 * copy, store=prepare, feed=copy, deliver=copy)


def ensemble(**changes):
    given = {
        "beside": 4,
        "nodes": 2,
        "parts": 1,
        "costs": replace(COSTS, train=0.0),
        "loaders": loaders(COSTS.prepare),
        "cores": Cores(count=8),
        "exchange": FREE,
    }
    return OnCluster(**{**given, **changes})


@some.composite
def any_ensemble(draw):
    costs = replace(draw(any_costs()), train=0.0)
    beside = draw(some.integers(1, 8))
    return ensemble(
        beside=beside,
        nodes=draw(some.integers(1, 16)),
        parts=1 if beside > 1 else draw(some.integers(1, 4)),
        costs=costs,
        loaders=loaders(costs.prepare, copy=draw(sizes(0, 0.1)) * costs.prepare),
        cores=Cores(count=draw(some.integers(1, 32))),
        exchange=ExchangeCosts(byte_time=draw(sizes(0, 2e-9)), bandwidth=draw(sizes(1e8, 1e11))),
    )


def test_eight_members_on_two_nodes_by_hand():
    fed = choose_input(ensemble())
    assert fed.members == 8
    assert (fed.best.name, fed.best.rate, fed.best.cores) == ("all-shared", 100.0, 2.0)
    assert fed.best.cpu == pytest.approx(0.04)
    assert (fed.private.rate, fed.private.cpu) == (pytest.approx(50.0), pytest.approx(0.32))
    assert fed.saved == pytest.approx(7 / 8)
    assert fed.verdict == (
        "Sharing pays: with all-shared every member trains 2 times as fast as with private loaders,"
        " for 12 % of their CPU time per sample."
    )


def test_every_other_way_is_told_why_it_loses():
    fed = choose_input(ensemble())
    told = {way.name: way.why for way in fed.others}
    assert told["private loaders, 2 workers each"] == "50 % slower: preparation limits it"
    assert told["shared stream, 4 workers on each node"] == "as fast, for 2 times the CPU time"
    assert told["asynchronous all-shared"] == "as good, but not simpler"
    assert not fed.best.why


def test_members_of_one_node_share_a_stream():
    fed = choose_input(ensemble(beside=8, nodes=1))
    assert (fed.best.name, fed.best.rate) == ("shared stream, 4 workers", 100.0)
    assert [way.name for way in fed.others] == [fed.private.name]


def test_a_link_that_cannot_keep_up_leaves_every_node_to_itself():
    fed = choose_input(ensemble(exchange=ExchangeCosts(byte_time=0.0, bandwidth=1e6)))
    assert fed.best.name == "shared stream, 4 workers on each node"
    assert all("exchange limits it" in way.why for way in fed.others[1:])


def test_sharing_that_neither_speeds_up_nor_saves_does_not_pay():
    slow = ExchangeCosts(byte_time=1e-6)
    fed = choose_input(ensemble(beside=1, exchange=slow, cores=Cores(count=64)))
    assert not fed.pays
    assert fed.best is fed.private
    assert fed.verdict.startswith("Sharing does not pay")


def test_members_on_twice_the_nodes_are_fed_twice_as_fast():
    once = choose_input(ensemble(beside=1, nodes=8))
    doubled = replace(COSTS, train=0.0, demand=2 * COSTS.demand)
    twice = choose_input(ensemble(beside=1, nodes=8, parts=2, costs=doubled))
    assert twice.best.name == once.best.name
    assert twice.best.rate == pytest.approx(2 * once.best.rate)
    assert twice.best.cpu == pytest.approx(once.best.cpu)


def test_members_that_span_nodes_are_alone_on_them():
    with pytest.raises(InputError, match="to themselves"):
        ensemble(parts=2)


def test_counts_below_one_are_refused():
    with pytest.raises(InputError, match=r"nodes must be at least 1, got 0"):
        ensemble(nodes=0)


@few(30)
@given(setting=any_ensemble())
def test_what_is_chosen_is_never_slower_than_private_loaders_nor_faster_than_training(setting):
    fed = choose_input(setting)
    assert fed.best.rate >= (1 - CLOSE) * fed.private.rate
    assert fed.best.rate <= (1 + 1e-9) * setting.costs.demand
    assert fed.pays == (fed.best is not fed.private)


@few(20)
@given(setting=any_ensemble(), factor=sizes(1.1, 5.0))
def test_everything_that_is_faster_makes_members_faster_by_as_much(setting, factor):
    costs, old = setting.costs, setting.loaders
    faster = replace(
        setting,
        costs=replace(costs, demand=costs.demand * factor, prepare=costs.prepare / factor),
        loaders=loaders(costs.prepare / factor, copy=old.deliver / factor),
        exchange=ExchangeCosts(
            byte_time=setting.exchange.byte_time / factor,
            bandwidth=setting.exchange.bandwidth * factor,
        ),
    )
    before, after = choose_input(setting), choose_input(faster)
    assert after.private.rate == pytest.approx(factor * before.private.rate)
    assert after.best.rate == pytest.approx(factor * before.best.rate, rel=2 * CLOSE)
