"""Max-sum throughput, by hand."""

import pytest
from tests.jobs.policies.divided import job, shares, state

from foretrain.jobs.policies.max_min import max_sum


def test_who_does_most_per_device_runs_first():
    there = [job(0, {"v100": 3.0}), job(1, {"v100": 8.0}, devices=2), job(2, {"v100": 1.0})]
    assert shares(max_sum(state(there, v100=3))) == pytest.approx([1.0, 1.0, 0.0], abs=1e-6)


def test_the_last_to_fit_gets_what_is_left():
    there = [job(0, {"v100": 3.0}), job(1, {"v100": 4.0}, devices=4)]
    assert shares(max_sum(state(there, v100=4))) == [1.0, 0.75]


def test_equal_jobs_share_alike():
    there = [job(place, {"v100": 2.0}) for place in range(4)]
    assert shares(max_sum(state(there, v100=3))) == [0.75] * 4


def test_who_gets_nothing_is_next_in_line_by_how_little_his_worth_lacks():
    there = [job(place, {"v100": rate}) for place, rate in enumerate((9.0, 5.0, 8.0))]
    first, far, near = shares(max_sum(state(there, v100=1)))
    assert first == 1.0
    assert 1e-6 > near > far > 0.0
