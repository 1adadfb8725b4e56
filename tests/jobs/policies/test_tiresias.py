"""Tiresias in rounds, by hand."""

import pytest
from tests.jobs.runs import rigid_trace, shared

from foretrain.errors import InputError
from foretrain.jobs.policies.orders import tiresias


def ended(*rows, threshold, devices):
    jobs = rigid_trace(*rows)
    return list(shared(jobs, tiresias(threshold=threshold), devices, period=1.0).ended)


def test_a_job_over_the_threshold_makes_room_for_one_below_it():
    # At 2 s the first has had 4 device-seconds and falls; the other runs; the first goes on.
    assert ended((0, 4, 2), (1.5, 1, 1), threshold=4.0, devices=2) == [5, 3]


def test_below_the_threshold_the_first_to_come_runs():
    assert ended((0, 4, 2), (1.5, 1, 1), threshold=9.0, devices=2) == [4, 5]


def test_a_job_that_does_not_fit_is_passed():
    assert ended((0, 4, 1), (0, 4, 2), (0, 4, 1), threshold=99.0, devices=2) == [4, 8, 4]


def test_those_that_have_fallen_stand_by_when_they_fell():
    # The second falls at 1 s, the first at 2 s; a third, new job runs before both.
    ends = ended((0, 9, 1), (0, 9, 2), (2, 1, 3), threshold=2.0, devices=3)
    assert ends == [10, 10, 3]


def test_who_falls_first_stays_first_of_the_fallen():
    # The narrow job falls at 3 s, the wide one at 4 s; then the narrow one goes first again.
    assert ended((0, 5, 1), (0, 5, 3), threshold=3.0, devices=3) == [6, 10]


def test_no_threshold_is_refused():
    with pytest.raises(InputError, match="above 0"):
        tiresias(threshold=0.0)
