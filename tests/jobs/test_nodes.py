"""Placements on nodes: by hand, and laws that hold of all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, rigid_trace, trace

from foretrain.cluster.mixed import Fleet, NodeFailures, Nodes, fleet
from foretrain.jobs.admission import Admission
from foretrain.jobs.backfill import BackfillDispatcher
from foretrain.jobs.nodes import NodePool, NodeRoom, packed, racks, spread
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.outages import Failures
from foretrain.jobs.outcomes import Fragmentation, stranded, stranded_share
from foretrain.jobs.policies.elastic import fifo_max
from foretrain.jobs.policies.orders import fifo, las, sjf, srtf
from foretrain.jobs.shared import SharedDispatcher
from foretrain.jobs.simulation import Simulation

PLACES = {"packed": packed, "spread": spread, "racks": racks}
EVERY = pytest.mark.parametrize("name", PLACES)
RACKED = Fleet(nodes=(Nodes(count=4, devices=4, rack=2),))
DISPATCHERS = {
    "fifo": lambda whole: OrderedDispatcher(fifo()),
    "sjf": lambda whole: OrderedDispatcher(sjf()),
    "srtf": lambda whole: OrderedDispatcher(srtf()),
    "las": lambda whole: OrderedDispatcher(las((3.0, 12.0))),
    "easy": lambda whole: BackfillDispatcher(),
    "fifo-max": lambda whole: SharedDispatcher(fifo_max(), whole),
}


def placed(place, needs, whole=RACKED):
    """Where jobs lie that come one after the other."""
    pool = NodePool(whole, place)
    held = [pool.take(devices, ()) for devices in needs]
    return [each and each.places for each in held]


def test_packed_jobs_fill_the_fullest_node_that_has_enough():
    assert placed(packed, [3, 2, 1]) == [((0, 3),), ((1, 2),), ((0, 1),)]


def test_a_packed_job_waits_for_whole_nodes_though_devices_are_free():
    assert placed(packed, [1, 1, 3, 3, 3, 4]) == [
        ((0, 1),), ((0, 1),), ((1, 3),), ((2, 3),), ((3, 3),), None,
    ]  # fmt: skip


def test_a_packed_job_of_six_takes_a_node_and_half_of_another():
    assert placed(packed, [2, 6]) == [((0, 2),), ((1, 4), (0, 2))]


def test_spread_jobs_take_a_device_of_each_of_the_emptiest_nodes():
    assert placed(spread, [3, 2]) == [((0, 1), (1, 1), (2, 1)), ((0, 1), (3, 1))]


def test_a_job_stays_in_a_rack_that_has_enough():
    assert placed(racks, [3, 3, 2, 3, 5]) == [
        ((0, 3),), ((1, 3),), ((2, 2),), ((3, 3),), ((2, 2), (3, 1), (0, 1), (1, 1)),
    ]  # fmt: skip
    assert placed(racks, [3, 6]) == [((0, 3),), ((2, 4), (3, 2))]


@EVERY
@given(needs=st.lists(st.integers(1, 9), max_size=12), back=st.randoms(use_true_random=False))
def test_no_device_is_given_twice_and_all_come_back(name, needs, back):
    pool = NodePool(RACKED, PLACES[name])
    held = [each for need in needs if (each := pool.take(need, ())) is not None]
    load = np.zeros(4)
    for each in held:
        assert sum(count for _, count in each.places) == each.devices
        for node, count in each.places:
            load[node] += count
    assert load.max() <= 4
    assert pool.free(()) == 16 - load.sum()
    back.shuffle(held)
    for each in held:
        pool.give(each)
    assert pool.free(()) == 16
    assert pool.take(16, ()) is not None


@EVERY
@given(needs=st.lists(st.integers(1, 9), min_size=1, max_size=12), wanted=st.integers(1, 16))
def test_what_fits_if_others_leave_can_be_had_when_they_have_left(name, needs, wanted):
    pool = NodePool(RACKED, PLACES[name])
    held = [each for need in needs if (each := pool.take(need, ())) is not None]
    gone = held[::2]
    would = pool.copy()
    for each in gone:
        would.give(each)
    fits = would.has(wanted, ())
    assert pool.free(()) == 16 - sum(each.devices for each in held)
    for each in gone:
        pool.give(each)
    assert pool.has(wanted, ()) == fits == (pool.take(wanted, ()) is not None)


rows = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 12), st.integers(1, 9)), min_size=1, max_size=12
)


@EVERY
@pytest.mark.parametrize("policy", DISPATCHERS)
@few(20)
@given(rows=rows)
def test_every_policy_ends_every_job_on_nodes(name, policy, rows):
    simulation = Simulation(
        rigid_trace(*rows), NodePool(RACKED, PLACES[name]), DISPATCHERS[policy](RACKED)
    )
    assert np.isfinite(simulation.run().ended).all()


def test_free_devices_that_nobody_can_use_are_counted():
    jobs = rigid_trace((0, 10, 3), (0, 10, 3), (0, 10, 3), (0, 10, 3), (0, 10, 4))
    pool = NodePool(RACKED, packed)
    watched = Fragmentation(pool)
    Simulation(jobs, pool, OrderedDispatcher(fifo()), observers=[watched]).run()
    assert (watched.free, watched.stranded, stranded_share([watched, None])) == (40.0, 40.0, 1.0)
    assert (
        stranded_share([None]),
        stranded_share([Fragmentation(NodePool(fleet(1), packed))]),
    ) == (None, 0.0)
    assert watched.spanning_share == 0.0
    assert stranded(pool.rooms[0], 4) == 0


def test_jobs_on_more_nodes_than_they_need_are_counted():
    pool = NodePool(RACKED, spread)
    watched = Fragmentation(pool)
    jobs = rigid_trace((0, 10, 2), (0, 10, 1))
    Simulation(jobs, pool, OrderedDispatcher(fifo()), observers=[watched]).run()
    assert watched.spanning_share == pytest.approx(2 / 3)


def failed(jobs, policy, *, between, checkpoint=2.0, repair=1.0, seed=1):
    pool = NodePool(RACKED, packed)
    failing = NodeFailures(between=between, repair=repair, checkpoint=checkpoint)
    failures = Failures(
        DISPATCHERS[policy](RACKED), pool, failing=failing, random=np.random.default_rng(seed)
    )
    return Simulation(jobs, pool, failures).run(), failures


@pytest.mark.parametrize("policy", DISPATCHERS)
@few(20)
@given(rows=rows, seed=st.integers(0, 99))
def test_every_policy_ends_every_job_though_nodes_fail(policy, rows, seed):
    jobs = rigid_trace(*rows)
    outcomes, failures = failed(jobs, policy, between=10.0, seed=seed)
    done = sum(each.work * each.devices for each in jobs.jobs)
    assert sum(outcomes.attained) == pytest.approx(done + failures.lost)


def test_what_is_lost_is_half_a_checkpoint_on_average():
    jobs = trace([job(0, work=20_000.0, devices=16)])
    outcomes, failures = failed(jobs, "fifo", between=100.0, checkpoint=1.0, repair=0.0)
    assert outcomes.stops[0] == failures.count
    assert failures.lost / 16 / failures.count == pytest.approx(0.5, rel=0.1)
    assert failures.count == pytest.approx(4 * outcomes.ended[0] / 100.0, rel=0.1)


def test_nodes_that_hardly_ever_fail_change_nothing():
    jobs = rigid_trace((0, 10, 3), (1, 10, 16), (2, 1, 1))
    outcomes, failures = failed(jobs, "fifo", between=1e12)
    pool = NodePool(RACKED, packed)
    assert failures.count == 0
    assert outcomes.ended == Simulation(jobs, pool, DISPATCHERS["fifo"](RACKED)).run().ended


def test_a_job_waits_outside_while_too_much_work_is_inside():
    jobs = rigid_trace((0, 10, 1), (0, 10, 1), (0, 1, 1))
    inner = OrderedDispatcher(sjf())
    gate = Admission(inner, fleet(2), most=9.0)
    outcomes = Simulation(jobs, NodePool(fleet(2), packed), gate).run()
    assert list(outcomes.ended) == [10.0, 20.0, 11.0]


def test_a_high_cap_lets_everybody_in():
    jobs = rigid_trace((0, 10, 1), (0, 10, 1), (0, 1, 1))
    gate = Admission(OrderedDispatcher(fifo()), fleet(2), most=1e9)
    outcomes = Simulation(jobs, NodePool(fleet(2), packed), gate).run()
    assert list(outcomes.ended) == [10.0, 10.0, 11.0]


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.integers(1, 24),
)
def test_turn_by_turn_nobody_gets_two_before_another_gets_one(free, devices):
    room = NodeRoom(Nodes(count=len(free), devices=4), 0)
    for node, each in enumerate(free):
        room.set(node, each)
    places = dict(spread(room, devices))
    if devices > sum(free):
        assert not places
        return
    assert sum(places.values()) == devices
    assert all(0 < count <= free[node] for node, count in places.items())
    for count in places.values():
        others = (other for other, has in enumerate(free) if has > places.get(other, 0))
        assert all(count - places.get(other, 0) <= 1 for other in others)
