"""EASY backfill: cases by hand, and the promise to the first job that waits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import dispatched, job, rigid_trace, trace

from foretrain.jobs.active import Active
from foretrain.jobs.backfill import BackfillDispatcher, WaitingLine
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.fifo import fifo
from foretrain.measured.job import End

rows = st.lists(
    st.tuples(st.integers(0, 10), st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=12
)


def test_a_short_job_passes_one_that_waits_for_devices():
    jobs = rigid_trace((0, 10, 3), (1, 10, 4), (2, 8, 1))
    assert list(dispatched(jobs, BackfillDispatcher(), 4).ended) == [10, 20, 10]


def test_a_long_job_does_not_pass_where_it_would_delay_the_first():
    jobs = rigid_trace((0, 10, 3), (1, 10, 4), (2, 9, 1))
    assert list(dispatched(jobs, BackfillDispatcher(), 4).ended) == [10, 20, 29]


def test_a_long_job_passes_on_devices_that_the_first_leaves():
    jobs = rigid_trace((0, 10, 3), (1, 10, 2), (2, 50, 1), (2, 50, 1))
    assert list(dispatched(jobs, BackfillDispatcher(), 4).ended) == [10, 20, 52, 60]


def test_two_long_jobs_do_not_pass_on_the_same_device_that_the_first_leaves():
    jobs = rigid_trace((0, 10, 2), (1, 10, 3), (2, 50, 1), (2, 50, 1))
    assert list(dispatched(jobs, BackfillDispatcher(), 4).ended) == [10, 20, 52, 70]


def test_the_first_waits_for_as_many_as_it_needs_and_others_pass_until_then():
    jobs = rigid_trace((0, 10, 1), (0, 20, 2), (1, 10, 4), (2, 13, 1))
    assert list(dispatched(jobs, BackfillDispatcher(), 4).ended) == [10, 20, 30, 15]


def test_what_is_given_back_after_the_first_has_begun_lets_nobody_pass():
    jobs = rigid_trace((0, 10, 1), (0, 20, 2), (1, 10, 2), (2, 50, 1))
    assert list(dispatched(jobs, BackfillDispatcher(), 4).ended) == [10, 20, 20, 70]


def test_two_short_jobs_pass_together():
    jobs = rigid_trace((0, 10, 2), (1, 10, 4), (2, 8, 1), (2, 8, 1))
    assert list(dispatched(jobs, BackfillDispatcher(), 4).ended) == [10, 20, 10, 10]


def test_what_users_say_decides_and_not_the_truth():
    said = trace(
        [
            job(0, work=10.0, devices=3),
            job(1, arrival=1.0, work=10.0, devices=4),
            job(2, arrival=2.0, work=4.0, devices=1, estimate=9.0),
        ]
    )
    assert list(dispatched(said, BackfillDispatcher(), 4).ended) == [10, 20, 24]


def test_nobody_passes_because_it_will_be_killed_in_time():
    jobs = trace(
        [
            job(0, work=10.0, devices=3),
            job(1, arrival=1.0, work=10.0, devices=4),
            job(2, arrival=2.0, work=20.0, devices=1, end=End.KILLED, ends_after=5.0),
        ]
    )
    assert list(dispatched(jobs, BackfillDispatcher(), 4).ended) == [10, 20, 25]


@given(rows=rows)
def test_the_first_that_waits_starts_no_later_than_without_backfill(rows):
    """True of the second job to come, whose only rival is the first."""
    jobs = rigid_trace(*rows)
    backfilled = dispatched(jobs, BackfillDispatcher(), 4)
    blocked = dispatched(jobs, OrderedDispatcher(fifo()), 4)
    assert list(backfilled.begun[:2]) == pytest.approx(list(blocked.begun[:2]))


@given(rows=rows)
def test_equal_jobs_cannot_pass_each_other(rows):
    jobs = rigid_trace(*((arrival, 5, 2) for arrival, _, _ in rows))
    passed = dispatched(jobs, BackfillDispatcher(), 4)
    assert passed.ended == dispatched(jobs, OrderedDispatcher(fifo()), 4).ended


def test_a_job_that_comes_again_waits_before_those_that_came_after_it():
    line = WaitingLine()
    waiting = [Active(job(rank), rank) for rank in range(4)]
    for active in waiting[1:]:
        line.add(active)
    line.add(waiting[0])
    assert line.first() is waiting[0]


lengths = st.lists(st.integers(1, 9), min_size=1, max_size=300)


@few(60)
@given(lengths=lengths, gone=st.sets(st.integers(0, 299)), after=st.integers(-1, 300))
def test_a_line_finds_the_first_short_job_after_a_rank(lengths, gone, after):
    line = WaitingLine()
    waiting = [Active(job(rank, work=float(each)), rank) for rank, each in enumerate(lengths)]
    for active in (*waiting[1::2], *waiting[::2]):
        line.add(active)
    for active in waiting:
        if active.rank in gone:
            line.remove(active)
    left = [each for each in waiting if each.rank not in gone and each.rank > after]
    for longest in (0, 1, 4, 9):
        expected = next((each for each in left if each.job.work <= longest), None)
        assert line.first(after=after, longest=longest) is expected
