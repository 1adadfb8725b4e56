"""Tiresias' published run, to the last digit that is printed."""

import pytest
from validation.scheduling.tiresias import MAKESPAN, MEAN, POLICIES, simulated


@pytest.mark.parametrize("policy", POLICIES)
def test_sixty_jobs_end_as_tiresias_prints(policy):
    mean, makespan = simulated(policy)
    assert round(mean, 1) == MEAN
    assert makespan == MAKESPAN
