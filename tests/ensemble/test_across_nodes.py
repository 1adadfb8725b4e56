from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.ensemble.settings import COSTS, any_nodes, nodes_of
from tests.examples import few

from foretrain.ensemble.across_nodes import (
    ALL_SHARED,
    DUPLICATE,
    MULTI_BROADCAST,
    PIPELINES,
    AcrossNodes,
    estimate_pipeline,
    preparation_rate,
)
from foretrain.ensemble.costs import Cores, ExchangeCosts
from foretrain.errors import InputError

KINDS = some.sampled_from(list(PIPELINES.values()))


@pytest.mark.parametrize("nodes", [1, 2, 10, 100])
def test_a_free_exchange_saves_the_familiar_share_of_cpu_time(nodes):
    setting = nodes_of(nodes)
    saved = estimate_pipeline(DUPLICATE, setting).cpu / estimate_pipeline(ALL_SHARED, setting).cpu
    assert saved == pytest.approx((10 + 1) / (10 / nodes + 1))


@pytest.mark.parametrize("nodes", [1, 3, 50])
def test_a_free_exchange_delivers_what_all_nodes_prepare(nodes):
    setting = nodes_of(nodes)
    assert preparation_rate(COSTS, setting.cores) == pytest.approx(200.0)
    assert estimate_pipeline(ALL_SHARED, setting).peak == pytest.approx(nodes * 200.0)


def test_cores_that_slow_each_other_prepare_less():
    assert preparation_rate(COSTS, Cores(count=2, contention=0.25)) == pytest.approx(40.0)


def test_stages_follow_each_other_unless_they_overlap():
    setting = nodes_of(2, exchange=ExchangeCosts(byte_time=5e-9))
    waiting = estimate_pipeline(ALL_SHARED, setting)
    going_on = estimate_pipeline(PIPELINES["asynchronous all-shared"], setting)
    assert (waiting.preparing, waiting.exchanging) == pytest.approx((0.0025, 0.010))
    assert waiting.peak == pytest.approx(80.0)
    assert going_on.peak == pytest.approx(100.0)


def test_a_slow_link_counts_where_it_is_slower_than_the_thread():
    exchange = ExchangeCosts(byte_time=1e-12, bandwidth=1e8, latency=0.032)
    estimate = estimate_pipeline(ALL_SHARED, nodes_of(2, exchange=exchange))
    assert estimate.exchanging == pytest.approx(0.005 + 0.0005)


def test_what_limits_a_member_is_said():
    starved = replace(COSTS, prepare=4.0)
    assert estimate_pipeline(ALL_SHARED, nodes_of(10)).limit == "training"
    assert estimate_pipeline(DUPLICATE, nodes_of(10, cores=2)).limit == "cores"
    assert estimate_pipeline(ALL_SHARED, nodes_of(2, costs=starved)).limit == "cores"
    half = estimate_pipeline(MULTI_BROADCAST, nodes_of(2, costs=replace(starved, train=0.0)))
    assert half.limit == "preparation"
    crawling = nodes_of(2, exchange=ExchangeCosts(byte_time=0.0, bandwidth=1e7))
    assert estimate_pipeline(ALL_SHARED, crawling).limit == "exchange"


@given(kind=KINDS, setting=any_nodes(), asked=some.integers(1, 64))
@few(50)
def test_a_member_trains_no_more_than_it_demands_or_is_given(kind, setting, asked):
    estimate = estimate_pipeline(kind, setting, preparers=asked)
    assert 0 < estimate.rate <= min(estimate.peak, setting.costs.demand)
    assert estimate.busy_cores <= setting.cores.count * (1 + 1e-9)


@given(kind=KINDS, setting=any_nodes(), speed=some.sampled_from([0.5, 2.0, 8.0]))
@few(50)
def test_rates_scale_with_the_speed_of_everything(kind, setting, speed):
    costs, exchange = setting.costs, setting.exchange
    faster = AcrossNodes(
        nodes=setting.nodes,
        costs=replace(
            costs,
            demand=costs.demand * speed,
            prepare=costs.prepare / speed,
            train=costs.train / speed,
        ),
        cores=setting.cores,
        exchange=ExchangeCosts(
            byte_time=exchange.byte_time / speed, bandwidth=exchange.bandwidth * speed
        ),
    )
    before, after = (estimate_pipeline(kind, each, preparers=2) for each in (setting, faster))
    assert after.rate == pytest.approx(before.rate * speed)
    assert after.cpu == pytest.approx(before.cpu / speed)


@given(setting=any_nodes())
@few(50)
def test_a_faster_link_and_going_on_never_hurt(setting):
    slow = estimate_pipeline(ALL_SHARED, setting)
    faster = replace(setting, exchange=replace(setting.exchange, bandwidth=1e12))
    assert estimate_pipeline(ALL_SHARED, faster).rate >= slow.rate


def test_queues_hold_their_batches():
    assert estimate_pipeline(DUPLICATE, nodes_of(4)).memory == 10 * 32 * 1e6
    assert estimate_pipeline(ALL_SHARED, nodes_of(4)).memory == 20 * 32 * 1e6


def test_power_is_that_of_busy_cores_and_of_the_device():
    estimate = estimate_pipeline(ALL_SHARED, nodes_of(10))
    assert estimate.rate == pytest.approx(100.0, rel=1e-3)
    assert estimate.power == pytest.approx(5.0 * 0.8 + 200.0, rel=1e-3)
    assert estimate_pipeline(ALL_SHARED, nodes_of(10, watts=None)).power is None


def test_numbers_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="nodes must be at least 1"):
        nodes_of(0)
    with pytest.raises(InputError, match="preparers must be at least 1"):
        estimate_pipeline(ALL_SHARED, nodes_of(2), preparers=0)
