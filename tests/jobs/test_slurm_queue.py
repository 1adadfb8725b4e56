"""The order of Slurm's queue, worked out for all at once, beside each job's own place in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job

from foretrain.cluster.mixed import fleet
from foretrain.jobs.active import (
    Active,
)
from foretrain.jobs.limits import Limits
from foretrain.jobs.nodes import NodePool, packed
from foretrain.jobs.slurm_queue import Pending, Queue, Rulebook
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.site import Association, Partition, PriorityWeights, Qos, SiteRules

FLEET = fleet(32)
PERIOD = 300.0

SITE = SiteRules(
    partitions=(Partition(name="a", tier=2), Partition(name="b", factor=7.0)),
    qualities=(Qos(name="low"), Qos(name="high", priority=3.0)),
    associations=(
        Association(name="x", shares=2.0),
        Association(name="y", shares=1.0),
        *(
            Association(name=user, parent=account, is_user=True)
            for account in "xy"
            for user in "uvw"
        ),
    ),
    priority=PriorityWeights(
        age=1000.0,
        fairshare=300.0,
        size=77.7,
        partition=50.0,
        qos=33.3,
        devices=11.1,
        longest_age=3 * PERIOD,
        period=PERIOD,
    ),
)
PLAIN = SiteRules(partitions=SITE.partitions, qualities=SITE.qualities)


@dataclass(frozen=True)
class Told:
    """A queue, and who is in it."""

    rules: Rulebook
    queue: Queue
    waiting: dict
    ranks: Iterator[int]

    def come(self, asked, now, limits):
        """A job comes."""
        place = next(self.ranks)
        devices, group, qos, account, user, nice = asked
        said = {"group": group, "qos": qos, "account": account, "user": user, "nice": nice}
        active = Active(job(place, arrival=now, devices=devices, **said), place)
        lane = limits.lane(active.job)
        pending = Pending(active, self.rules, submitted=now, lane=lane)
        self.queue.add(pending)
        self.waiting[place] = pending


def told(site):
    rules = Rulebook(site, FLEET)
    return Told(rules, Queue(rules), {}, count())


ASKED = st.tuples(
    st.integers(1, 9),
    st.sampled_from("ab"),
    st.sampled_from(("low", "high")),
    st.sampled_from("xy"),
    st.sampled_from("uvw"),
    st.integers(-20, 20).map(float),
)
STEPS = st.lists(
    st.tuples(st.floats(0.0, 2 * PERIOD), st.lists(ASKED, max_size=6), st.integers(0, 3)),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("site", [SITE, PLAIN], ids=["weights", "none"])
@given(steps=STEPS)
@few(60, slow=600)
def test_at_any_time_jobs_stand_as_each_is_placed_alone(site, steps):
    it, now = told(site), 0.0
    for after, asked, leave in steps:
        now += after
        for each in asked:
            it.come(each, now, Limits(()))
        if not it.waiting:
            continue
        found = it.queue.first(now)
        places = {rank: it.rules.place(each, now) for rank, each in it.waiting.items()}
        assert [each.active.rank for each in found] == sorted(places, key=places.get)
        assert len(it.queue) == len(it.waiting)
        some = it.queue.first(now, 2)
        assert list(some) == list(found[:2])
        for pending in list(found)[:leave]:
            it.queue.remove(pending)
            it.rules.usage.change(pending.user, 1.0, now)
            del it.waiting[pending.active.rank]


@pytest.mark.parametrize(("held", "expected"), [(0, True), (1, False)])
def test_nobody_fits_whom_a_limit_keeps(held, expected):
    limits = Limits((PartyLimit(each=Party.USER, devices=4),))
    it = told(PLAIN)
    it.come((4, "a", "low", "x", "u", 0.0), 0.0, limits)
    pool = NodePool(FLEET, packed)
    limits.hold(it.waiting[0].active, held)
    assert it.queue.fits(pool, limits) is expected
    limits.release(it.waiting[0].active, held)
    assert it.queue.fits(pool, limits)


def test_nobody_fits_who_has_left_or_for_whom_there_is_no_room():
    it, pool, nobody = told(PLAIN), NodePool(FLEET, packed), Limits(())
    it.come((9, "a", "low", "x", "u", 0.0), 0.0, nobody)
    assert it.queue.fits(pool, nobody)
    pool.take(30, ())
    assert not it.queue.fits(pool, nobody)
    it.queue.remove(it.waiting[0])
    assert not it.queue.fits(NodePool(FLEET, packed), nobody)
    assert it.queue.first(0.0) == []
