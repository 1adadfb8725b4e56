"""One node with K members; the figures of the prototype are those of tables 2.2 of our notes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.ensemble.settings import COSTS, any_costs

from foretrain.ensemble.costs import Cores, MeasuredCosts
from foretrain.ensemble.one_node import (
    MeasuredLoaders,
    OnOneNode,
    data_loaders,
    fed_stream,
    private_loaders,
    shared_stream,
)
from foretrain.errors import InputError

NOTHING = MeasuredLoaders(hand=0.0, store=COSTS.prepare, feed=0.0, deliver=0.0)
PICTURES = MeasuredCosts(
    demand=400 / 0.11,
    prepare=(0.91 - 0.11) / 400,
    train=0.11 / 400,
    sample_bytes=602112,
    batch=25,
)
RING = MeasuredLoaders(
    hand=(1.32 - 0.91) / 400,
    store=(0.77 - 0.11) / 400,
    feed=0.0,
    deliver=0.0,
    member_memory=40e6,
    worker_memory=60e6,
    arena=120e6,
)


def node(members, *, costs=COSTS, loaders=NOTHING, cores=2):
    return OnOneNode(members=members, costs=costs, loaders=loaders, cores=Cores(count=cores))


@pytest.mark.parametrize("members", [1, 2, 8, 20])
def test_a_stream_that_costs_nothing_saves_the_familiar_share(members):
    saved = (
        private_loaders(node(members), workers=0).cpu / shared_stream(node(members), workers=1).cpu
    )
    assert saved == pytest.approx((10 + 1) / (10 / members + 1))


@pytest.mark.parametrize(
    ("members", "none", "one", "ring"),
    [(2, 1.79, 3.11, 0.86), (4, 3.79, 5.23, 1.00), (8, 7.78, 11.18, 1.50)],
)
def test_one_member_alone_tells_the_cpu_time_of_many(members, none, one, ring):
    setting = node(members, costs=PICTURES, loaders=RING)
    seconds = [
        400 * each.cpu
        for each in (
            private_loaders(setting, workers=0),
            private_loaders(setting, workers=1),
            shared_stream(setting, workers=1),
        )
    ]
    assert seconds == pytest.approx([none, one, ring], rel=0.16)


def test_the_slowest_stage_sets_the_pace():
    assert private_loaders(node(1, cores=4), workers=0).rate == pytest.approx(20.0)
    assert private_loaders(node(1, cores=9), workers=2).rate == pytest.approx(50.0)
    assert private_loaders(node(1, cores=9), workers=8).limit == "training"
    crowded = private_loaders(node(4, cores=2), workers=1)
    assert (crowded.limit, crowded.rate) == ("cores", pytest.approx(2 / (4 * 0.044)))
    assert shared_stream(node(4, cores=9), workers=1).limit == "preparation"


def test_cores_that_slow_each_other_do_so_as_far_as_they_are_in_use():
    slow = replace(node(8), cores=Cores(count=2, contention=0.5))
    assert private_loaders(slow, workers=0).cpu == 1.5 * private_loaders(node(8), workers=0).cpu
    alone = replace(slow, members=1)
    assert private_loaders(alone, workers=0).cpu == private_loaders(node(1), workers=0).cpu
    # one worker is always busy, its reader for a tenth of the time
    assert shared_stream(alone, workers=1).cpu == pytest.approx(1.05 * 0.044)
    assert shared_stream(alone, workers=1).rate == pytest.approx(1 / (1.05 * 0.04))


def test_a_worker_waits_for_a_core_while_eight_members_train():
    one, eight = (shared_stream(node(members), workers=1) for members in (1, 8))
    assert one.rate == pytest.approx(1 / 0.04)
    # nine share two cores until each reader has had its 0.004 s, then the worker goes on alone
    assert eight.rate == pytest.approx(1 / (0.004 * 9 / 2 + 0.04 - 0.004))
    assert eight.limit == "preparation"
    dealt = replace(node(8), cores=Cores(count=2, by_session=True))
    assert shared_stream(dealt, workers=1).rate == pytest.approx(1 / 0.04)
    assert shared_stream(node(8, cores=9), workers=1).rate == pytest.approx(1 / 0.04)


def test_a_data_loader_takes_new_memory_for_each_batch():
    setting = replace(node(4), loaders=replace(NOTHING, hand=0.001, queue=0.005))
    assert private_loaders(setting, workers=1).cpu == pytest.approx(4 * 0.045)
    found = data_loaders(setting, workers=1)
    assert found.cpu == pytest.approx(4 * 0.049)
    assert found.name == "DataLoaders, 1 worker each"


@given(costs=any_costs(), members=some.integers(1, 20), workers=some.integers(1, 8))
def test_no_core_is_used_more_than_there_is(costs, members, workers):
    loaders = MeasuredLoaders(hand=1e-4, store=costs.prepare, feed=1e-4, deliver=1e-5)
    setting = node(members, costs=costs, loaders=loaders, cores=4)
    for each in (
        private_loaders(setting, workers=workers),
        shared_stream(setting, workers=workers),
        fed_stream(setting),
    ):
        assert each.rate * each.cpu <= 4 * (1 + 1e-9)
        assert each.rate <= costs.demand


def test_a_fed_stream_pays_for_the_loader_and_the_copy():
    loaders = replace(NOTHING, feed=0.001, deliver=0.0005)
    setting = node(3, loaders=loaders)
    assert fed_stream(setting).cpu == pytest.approx(0.04 + 0.001 + 3 * 0.0045)


def test_memory_is_that_of_processes_batches_and_the_arena():
    setting = node(4, costs=PICTURES, loaders=RING)
    batches = 2 * 25 * 602112
    assert private_loaders(setting, workers=0).memory == 160e6
    assert private_loaders(setting, workers=1).memory == 4 * (100e6 + batches)
    assert shared_stream(setting, workers=2).memory == 160e6 + 120e6 + 120e6


def test_numbers_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="members must be at least 1"):
        node(0)
    with pytest.raises(InputError, match=r"(?s)hand must be.*store must be"):
        MeasuredLoaders(hand=-1.0, store=-1.0, feed=0.0, deliver=0.0)
    with pytest.raises(InputError, match="at least 1 worker"):
        shared_stream(node(2), workers=0)


def test_a_batch_is_read_while_a_device_trains_and_before_a_step_on_the_cores():
    loaders = replace(NOTHING, deliver=0.003, store=0.001)
    on_device = replace(COSTS, demand=100.0, train=0.0)
    on_cores = replace(COSTS, demand=100.0, train=0.01)
    rates = [
        shared_stream(node(1, costs=costs, loaders=loaders, cores=4), workers=1).rate
        for costs in (on_device, on_cores)
    ]
    assert rates == [pytest.approx(100.0), pytest.approx(1 / 0.013)]
