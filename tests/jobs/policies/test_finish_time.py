"""Finish-time fairness, by hand."""

import pytest
from tests.jobs.policies.divided import job, shares, state

from foretrain.jobs.policies.max_min import FinishTimeFairness


def test_newcomers_that_are_alike_share_alike():
    there = [job(place, {"v100": 1.0}) for place in range(4)]
    assert shares(FinishTimeFairness()(state(there, v100=2))) == pytest.approx([0.5] * 4)


def test_who_waited_longer_gets_more():
    there = [job(0, {"v100": 1.0}, arrival=0.0), job(1, {"v100": 1.0}, arrival=50.0)]
    first, second = shares(FinishTimeFairness()(state(there, now=50.0, v100=1)))
    assert first + second == pytest.approx(1.0)
    assert 50 + 100 / first == pytest.approx(100 / second)


def test_the_length_of_a_job_does_not_matter_by_itself():
    there = [job(0, {"v100": 1.0}, work=10.0), job(1, {"v100": 1.0}, work=1000.0)]
    assert shares(FinishTimeFairness()(state(there, v100=1))) == pytest.approx([0.5, 0.5])


def test_who_cannot_be_helped_gets_all_of_its_time():
    there = [job(0, {"v100": 1.0}, work=1.0), job(1, {"v100": 1.0}, work=1e6)]
    late = FinishTimeFairness()(state(there, now=1e5, v100=1))
    assert shares(late)[0] == pytest.approx(1.0, rel=1e-4)


def test_what_the_least_shares_leave_over_is_given_out_and_not_all_of_it():
    """The solver's middle between the least that a job needs and all of its time."""
    there = [job(0, {"v100": 1.0}, work=1.0), job(1, {"v100": 1.0}, work=1e6)]
    first, second = shares(FinishTimeFairness()(state(there, now=1e5, v100=2)))
    assert first == pytest.approx(1.0, rel=1e-4)
    # Least 0: the product of 1/x, 1/(1 - x) and 1/(1 - x) has its middle at a third.
    assert second == pytest.approx(1 / 3, rel=1e-4)


def test_the_past_counts_at_the_part_that_a_job_had_then():
    policy = FinishTimeFairness()
    there = state([job(0, {"v100": 1.0}), job(1, {"v100": 1.0})], v100=1)
    policy(there)
    there.jobs[0].done = 50.0
    later = type(there)(100.0, there.jobs, there.fleet)
    # Alone: 100 + 100 s for both, of which the first has 50 s of work left, the second 100 s.
    first, second = shares(policy(later))
    assert (100 + 50 / first) == pytest.approx(100 + 100 / second)
