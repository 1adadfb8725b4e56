"""Tiny cases, where the best schedule is found by trying all of them."""

from functools import cache
from itertools import combinations, pairwise, permutations, product
from math import fsum, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import dispatched, job, rigid_trace, trace

from foretrain.cluster.mixed import fleet
from foretrain.jobs.mix import Hazard, Survival
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.elastic import aware
from foretrain.jobs.policies.orders import sjf, srtf
from foretrain.jobs.policies.table import POLICIES
from foretrain.jobs.run import run
from foretrain.measured.job import End

SINGLE = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), min_size=1, max_size=4)
WIDE = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3
)
FLUID = {"processor-sharing", "hesrpt"}
"""Policies that hand out parts of devices, which a rigid job runs on as on all that it asks for."""

POWERS = {"sia"}
"""Policies that give powers of two or whole nodes only: a job that wants three never runs."""


def least_total(rows, devices):
    """The least sum of response times of rigid jobs, interruption allowed at whole seconds."""

    @cache
    def after(now, left):
        there = [place for place, work in enumerate(left) if work]
        if not there:
            return 0
        came = [place for place in there if rows[place][0] <= now]
        sets = [
            chosen
            for size in range(1 if came else 0, len(came) + 1)
            for chosen in combinations(came, size)
            if sum(rows[place][2] for place in chosen) <= devices
        ]
        return len(came) + min(
            after(now + 1, tuple(work - (place in chosen) for place, work in enumerate(left)))
            for chosen in sets
        )

    return after(0, tuple(row[1] for row in rows))


def total(outcomes):
    arrivals = (each.arrival for each in outcomes.trace.jobs)
    return fsum(end - came for end, came in zip(outcomes.ended, arrivals, strict=True))


@few(60)
@given(rows=SINGLE)
def test_on_one_device_nothing_beats_the_shortest_remaining_time(rows):
    rows = sorted((arrival, work, 1) for arrival, work in rows)
    outcomes = dispatched(rigid_trace(*rows), OrderedDispatcher(srtf()), 1)
    assert total(outcomes) == pytest.approx(least_total(tuple(rows), 1), rel=1e-9)


@few(40)
@given(works=st.lists(st.integers(1, 9), min_size=1, max_size=6), devices=st.integers(1, 3))
def test_of_jobs_that_come_together_the_shortest_first_is_best_on_equal_devices(works, devices):
    outcomes = dispatched(
        rigid_trace(*((0, work, 1) for work in works)), OrderedDispatcher(sjf()), devices
    )
    best = min(listed(order, devices) for order in set(permutations(works)))
    assert total(outcomes) == pytest.approx(best, rel=1e-9)


def listed(works, devices):
    """Sum of ends where each job in turn takes the device that is free first."""
    free = [0] * devices
    ends = []
    for work in works:
        free.sort()
        free[0] += work
        ends.append(free[0])
    return sum(ends)


@pytest.mark.parametrize("name", sorted(POLICIES.keys() - FLUID - POWERS))
@few(15)
@given(rows=WIDE)
def test_no_policy_beats_the_best_of_all_schedules(name, rows):
    rows = tuple(sorted(rows))
    outcomes = run(rigid_trace(*rows), fleet(4), name)
    assert total(outcomes) >= least_total(rows, 4) * (1 - 1e-9)


FAILING = Survival((1.0, 3.0, 6.0), (0.8, 0.5, 0.3))


def fates(length):
    """Seconds after which a job ends, and the chance of that."""
    before, found = 1.0, []
    for at, left in zip(FAILING.at, FAILING.left, strict=True):
        if at < length:
            found.append((at, before - left))
            before = left
    return [*found, (length, before)]


@few(8)
@given(lengths=st.lists(st.sampled_from([0.5, 2.0, 4.0, 5.5, 8.0, 20.0]), min_size=2, max_size=3))
def test_on_one_device_without_interruption_the_aware_order_is_best_for_jobs_that_succeed(lengths):
    """Every order of the jobs, and for each all combinations of their fates."""
    combined = [
        (prod(chance for _, chance in fate), [end for end, _ in fate])
        for fate in product(*(fates(length) for length in lengths))
    ]
    expected = {
        order: fsum(chance * successes(order, ends, lengths) for chance, ends in combined)
        for order in permutations(range(len(lengths)))
    }
    order = aware(lambda devices: Hazard(failing=FAILING), preempts=False)
    simulated = fsum(chance * played(order, ends, lengths) for chance, ends in combined)
    assert simulated == pytest.approx(min(expected.values()), rel=1e-9)


def successes(order, ends, lengths):
    """Sum of the ends of jobs that get all their work done, one after the other."""
    now, ended = 0.0, []
    for place in order:
        now += ends[place]
        ended.append(now if ends[place] == lengths[place] else 0.0)
    return fsum(ended)


def played(order, ends, lengths):
    """The same of a simulation, where a job's fate is not known."""
    jobs = trace(
        job(place, work=length, ends_after=end, end=End.FINISHED if end == length else End.FAILED)
        for place, (length, end) in enumerate(zip(lengths, ends, strict=True))
    )
    ended = dispatched(jobs, OrderedDispatcher(order), 1).ended
    return fsum(
        when for when, end, length in zip(ended, ends, lengths, strict=True) if end == length
    )


EARLY = {
    "E1": ([(10.0, ()), (20.0, ((1.0, 0.9),))], 14.9, 13.0),
    "E2": ([(3.0, ((1.0, 0.5),)), (2.0, ())], 4.5, 4.5),
    "E3": ([(10.0, ((1.0, 0.8),)), (4.0, ()), (6.0, ((2.0, 0.5),))], 15.2, 12.6),
    "E4": ([(8.0, ((1.0, 0.75),)), (8.0, ((1.0, 0.75),)), (5.0, ())], 15.1875, 12.1875),
    "E5": ([(4.0, ((1.0, 0.9),)), (5.0, ())], 6.7, 5.9),
}
"""Jobs by what they want to do and when they end early with which chance; the sum of the times of
successful jobs under shortest expected processing time first, and the least there is."""


def chances(job):
    """Seconds after which a job ends, and the chance of that."""
    length, early = job
    return [*early, (length, 1.0 - fsum(chance for _, chance in early))]


def knows(jobs):
    """The hazard that tells these jobs apart by their lengths."""
    lengths = sorted({length for length, _ in jobs})
    early = dict(jobs)
    return Hazard(
        failing=Survival(),
        bounds=tuple((low + high) / 2.0 for low, high in pairwise(lengths)),
        leaving=tuple(
            Survival(
                tuple(at / length for at, _ in early[length]),
                tuple(1.0 - chance for _, chance in early[length]),
            )
            for length in lengths
        ),
    )


@pytest.mark.parametrize("name", EARLY)
def test_worked_cases_of_early_ends(name):
    """The least was found by dynamic programming over all policies that may preempt."""
    jobs, shortest, least = EARLY[name]
    lengths = [length for length, _ in jobs]
    combined = [
        (prod(chance for _, chance in fate), [end for end, _ in fate])
        for fate in product(*(chances(each) for each in jobs))
    ]
    expected = {
        order: fsum(chance * successes(order, ends, lengths) for chance, ends in combined)
        for order in permutations(range(len(jobs)))
    }
    means = [fsum(end * chance for end, chance in chances(each)) for each in jobs]
    by_mean = tuple(sorted(range(len(jobs)), key=lambda place: (means[place], lengths[place])))
    assert expected[by_mean] == pytest.approx(shortest)
    order = aware(lambda devices: knows(jobs), preempts=False)
    simulated = fsum(chance * played(order, ends, lengths) for chance, ends in combined)
    assert simulated == pytest.approx(least)
    assert min(expected.values()) == pytest.approx(least)
