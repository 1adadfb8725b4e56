"""Gavel's published runs."""

import pytest
from validation.scheduling.gavel import FIFO, MAX_MIN, response, turns

from foretrain.jobs.policies.max_min import max_min_over_kinds


def test_jobs_that_take_turns_respond_as_in_gavels_simulator_to_the_last_digit():
    assert response("minimize_makespan", turns) == pytest.approx(FIFO, abs=5e-4)


def test_max_min_over_three_kinds_is_within_one_percent_of_gavels():
    assert response("max_min_fairness", max_min_over_kinds) == pytest.approx(MAX_MIN, rel=0.01)
