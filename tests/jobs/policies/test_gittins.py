"""Gittins: by hand, and where it is known to be another policy."""

import numpy as np
import pytest

from foretrain.cluster.mixed import fleet
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.gittins import gittins, indices
from foretrain.jobs.pool import CountedPool
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job, Trace
from foretrain.throughput import Point, ThroughputCurve, rigid


def trace(*rows):
    """Jobs by (arrival, work)."""
    jobs = (
        Job(name=f"j{place}", arrival=arrival, work=work, curve=rigid(1), devices=1)
        for place, (arrival, work) in enumerate(rows)
    )
    return Trace(name="by hand", jobs=tuple(jobs))


PAST = [*enumerate([2.0] * 90 + [200.0] * 10)]


def ended(jobs, past):
    dispatcher = OrderedDispatcher(gittins(past))
    return list(Simulation(jobs, CountedPool(fleet(1)), dispatcher).run().ended)


def test_jobs_of_equal_length_run_one_after_the_other():
    past = trace(*[(0.0, 10.0)] * 50)
    assert ended(trace((0.0, 10.0), (1.0, 10.0)), past) == pytest.approx([10.0, 20.0])


def test_where_most_are_short_who_has_got_most_waits():
    past = trace(*[(0.0, 1.0)] * 90, *[(0.0, 100.0)] * 10)
    assert ended(trace((0.0, 100.0), (5.0, 1.0)), past) == pytest.approx([101.0, 6.0], abs=0.01)


def test_costs_are_expected_service_per_end():
    starts, costs = indices(np.array([1.0] * 9 + [11.0]))
    assert starts == (0.0, 1.0, 11.0)
    assert costs[:2] == pytest.approx((10.0 / 9.0, 10.0))


def test_ends_count_however_they_come():
    service = np.random.default_rng(0).exponential(100.0, 50_000)
    _, costs = indices(service)
    assert np.array(costs[:40]) == pytest.approx(100.0, rel=0.1)


def test_a_past_job_that_was_twice_as_quick_had_the_service_that_it_got():
    """Two hundred units of work at two units a second are a hundred seconds of a device."""
    quick = ThroughputCurve(name="quick", points=(Point(devices=1, rate=2.0),))
    twice = [Job(name=f"q{n}", arrival=0.0, work=w, curve=quick, devices=1) for n, w in PAST]
    past = Trace(name="quick", jobs=tuple(twice))
    jobs = trace((0.0, 100.0), (2.0, 1.0))
    same = trace(*[(0.0, w / 2.0) for _, w in PAST])
    assert ended(jobs, past) == pytest.approx(ended(jobs, same))
