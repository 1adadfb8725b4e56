"""Ordered dispatch against a walk down the whole order at every decision."""

from functools import partial
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import dispatched, job, trace

from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.orders import fifo, las, sjf, srtf

LEVELS = (4.0, 16.0)
ORDERS = {"fifo": fifo, "sjf": sjf, "srtf": srtf, "las": partial(las, LEVELS)}


class Repack:
    """Packs all jobs anew at every decision, as one would write it first.

    Jobs that may not be interrupted keep their devices; then whoever is next in the order runs if
    what is left is enough.
    """

    def __init__(self, order, devices):
        self.order, self.devices = order, devices
        self.there, self.woken = {}, []

    def line(self, now):
        """All jobs, the first one first; of equal ones those that run, then the first to come."""
        there = self.there.values()
        return sorted(there, key=lambda one: (self.order.key(one, now), not one.held, one.rank))

    def arrive(self, active, simulation):
        self.there[active.rank] = active

    def leave(self, active, simulation):
        del self.there[active.rank]

    def decide(self, simulation):
        now, order = simulation.now, self.order
        keep = [
            active
            for active in self.there.values()
            if active.held and not (order.preempts and active.job.preemptible)
        ]
        left = self.devices - sum(active.job.devices for active in keep)
        for active in [each for each in self.line(now) if each not in keep]:
            if active.job.devices <= left:
                keep.append(active)
                left -= active.job.devices
            elif not order.skips:
                break
        for active in self.there.values():
            if active.held and active not in keep:
                simulation.stop(active)
        for active in keep:
            if not active.held:
                simulation.start(active, active.job.devices, ())
        self.wake(keep, simulation)

    def wake(self, running, simulation):
        """Decide again when the key of a running job changes."""
        for event in self.woken:
            simulation.cancel(event)
        lasts = [self.order.lasts(active, simulation.now) for active in running if self.order.lasts]
        self.woken = [
            simulation.at(simulation.now + each, lambda: None) for each in lasts if each < inf
        ]


# Powers of two keep times exact, so that what ends together in truth also does so in floats.
rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 6), st.sampled_from([1, 2, 4]), st.booleans()),
    min_size=1,
    max_size=14,
)


class Queues(Repack):
    """The same of queues as Tiresias' own simulator keeps them: lists, and who waits moves back."""

    def __init__(self, order, devices):
        super().__init__(order, devices)
        self.queues = [[] for _ in range(len(LEVELS) + 1)]

    def arrive(self, active, simulation):
        super().arrive(active, simulation)
        self.queues[0].append(active)

    def leave(self, active, simulation):
        super().leave(active, simulation)
        for queue in self.queues:
            if active in queue:
                queue.remove(active)

    def line(self, now):
        for level, queue in enumerate(self.queues):
            for active in [each for each in queue if self.order.key(each, now) > level]:
                queue.remove(active)
                self.queues[level + 1].append(active)
        return [active for queue in self.queues for active in queue]

    def decide(self, simulation):
        super().decide(simulation)
        for queue in self.queues:
            queue.sort(key=lambda active: active.held is None)


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("restart", [0.0, 0.5])
@few(60)
@given(rows=rows, fixed=st.booleans())
def test_whoever_runs_is_who_a_walk_down_the_order_packs(name, restart, rows, fixed):
    jobs = trace(
        job(
            place, arrival=float(arrival), work=float(work), devices=devices, restart=restart,
            preemptible=not (fixed and still),
        )
        for place, (arrival, work, devices, still) in enumerate(rows)
    )  # fmt: skip
    quick = dispatched(jobs, OrderedDispatcher(ORDERS[name]()), 7)
    walk = Queues if name == "las" else Repack
    plain = dispatched(jobs, walk(ORDERS[name](), 7), 7)
    assert list(quick.ended) == pytest.approx(list(plain.ended), rel=1e-9)
    assert quick.stops == plain.stops


def test_where_a_restart_takes_time_stopping_for_a_shorter_job_may_not_pay():
    jobs = trace(
        job(place, arrival=arrival, work=work, restart=2.0)
        for place, (arrival, work) in enumerate(((0.0, 4.0), (1.0, 2.5)))
    )
    stopping = dispatched(jobs, OrderedDispatcher(srtf()), 1)
    waiting = dispatched(jobs, OrderedDispatcher(sjf()), 1)
    assert list(stopping.ended) == [8.5, 3.5]
    assert list(waiting.ended) == [4.0, 6.5]
    assert sum(waiting.ended) < sum(stopping.ended)
