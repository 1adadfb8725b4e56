"""The simulation: by hand, and against laws that hold for every policy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cluster.mixed import fleet
from foretrain.errors import InputError
from foretrain.jobs import simulation
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.fifo import fifo, sjf, srtf
from foretrain.jobs.policies.gittins import las
from foretrain.jobs.pool import CountedPool
from foretrain.jobs.run import LISTED, check
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job, Trace
from foretrain.throughput import rigid

ORDERS = {"fifo": fifo, "sjf": sjf, "srtf": srtf, "las": lambda: las((2.0, 10.0))}


def trace(*rows):
    """Jobs by (arrival, work, devices)."""
    jobs = (
        Job(name=f"j{place}", arrival=arrival, work=work, curve=rigid(devices), devices=devices)
        for place, (arrival, work, devices) in enumerate(rows)
    )
    return Trace(name="by hand", jobs=tuple(jobs))


def simulated(jobs, order, devices):
    return Simulation(jobs, CountedPool(fleet(devices)), OrderedDispatcher(order)).run()


def test_first_in_first_out_blocks_behind_a_job_that_does_not_fit():
    jobs = trace((0, 10, 1), (1, 10, 2), (2, 1, 1))
    assert list(simulated(jobs, fifo(), 2).ended) == [10, 20, 21]


def test_shortest_job_first_passes_a_job_that_does_not_fit():
    jobs = trace((0, 10, 1), (1, 10, 2), (2, 1, 1))
    assert list(simulated(jobs, sjf(), 2).ended) == [10, 20, 3]


def test_shortest_remaining_time_interrupts():
    outcomes = simulated(trace((0, 10, 1), (1, 2, 1)), srtf(), 1)
    assert list(outcomes.ended) == [12, 3]
    assert list(outcomes.stops) == [1, 0]


def test_least_attained_service_falls_level_by_level():
    outcomes = simulated(trace((0, 10, 1), (1, 2, 1)), las((2.0,)), 1)
    assert list(outcomes.ended) == [12, 4]


rows = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 12), st.integers(1, 4)), min_size=1, max_size=12
)


@pytest.mark.parametrize("name", ORDERS)
@given(rows=rows)
def test_every_job_ends_after_at_least_its_work(name, rows):
    jobs = trace(*rows)
    outcomes = simulated(jobs, ORDERS[name](), 4)
    for job, end in zip(jobs.jobs, outcomes.ended, strict=True):
        assert end >= job.arrival + job.work - 1e-9


@given(rows=rows)
def test_without_interruption_nobody_is_interrupted(rows):
    assert not any(simulated(trace(*rows), fifo(), 4).stops)


def test_a_job_that_no_policy_can_start_is_reported():
    with pytest.raises(InputError, match="would never end"):
        simulated(trace((0, 1, 3)), fifo(), 2)


def test_decisions_are_counted_for_every_job(monkeypatch):
    monkeypatch.setattr("foretrain.jobs.simulation.MOST_DECISIONS", 10)
    monkeypatch.setattr("foretrain.jobs.simulation.MOST_PER_JOB", 2)
    many = trace(*((place, 1, 1) for place in range(100)))  # an arrival and an end each
    assert simulated(many, fifo(), 1).ended[-1] == 100.0
    monkeypatch.setattr("foretrain.jobs.simulation.MOST_PER_JOB", 0)
    with pytest.raises(InputError, match=r"10, and 0 for each job"):
        simulated(many, fifo(), 1)


class Dawdles:
    """Looks again every second, and starts nobody."""

    def __init__(self):
        self.decisions = 0

    def arrive(self, active, simulation):
        """There is nothing to be done."""

    leave = arrive

    def decide(self, simulation):
        self.decisions += 1
        assert self.decisions < 100
        simulation.at(simulation.now + 1.0, lambda: None)


@pytest.mark.parametrize("jobs", [1, 3])
def test_so_many_decisions_are_made_and_so_many_more_for_each_job(monkeypatch, jobs):
    monkeypatch.setattr(simulation, "MOST_DECISIONS", 20)
    monkeypatch.setattr(simulation, "MOST_PER_JOB", 4)
    dispatcher = Dawdles()
    with pytest.raises(InputError, match=r"more decisions than are simulated \(20, and 4 for each"):
        Simulation(trace(*[(0, 1, 1)] * jobs), CountedPool(fleet(1)), dispatcher).run()
    assert dispatcher.decisions == 20 + 4 * jobs


def test_a_job_that_nobody_starts_is_given_up_after_so_many_decisions_and_one(monkeypatch):
    monkeypatch.setattr(simulation, "PATIENCE", 7)
    dispatcher = Dawdles()
    with pytest.raises(InputError, match="would never end"):
        Simulation(trace((0, 1, 1)), CountedPool(fleet(1)), dispatcher).run()
    assert dispatcher.decisions == 7 + 1


@pytest.mark.parametrize("more", [0, 1, 5])
def test_of_jobs_that_never_fit_the_first_are_named_and_the_others_counted(more):
    large = [(0, 1, 9)] * (LISTED + more)
    with pytest.raises(InputError) as told:
        check(trace((0, 1, 8), *large), fleet(8))
    said = str(told.value)
    assert f"{LISTED + more} jobs ask for more devices of one kind than the fleet has (8)" in said
    assert all(f"j{place} (9)" in said for place in range(1, LISTED + 1))
    assert (f"j{LISTED + 1} " in said) is False
    assert (f"and {more} more." in said) == (more > 0)
    assert ("more." in said) == (more > 0)
