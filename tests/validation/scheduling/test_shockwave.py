"""Shockwave's published simulations, with a tie order or two."""

import pytest
from validation.scheduling.shockwave import CLOSED, PROGRAMS, WITH_TIES, off_simulated


@pytest.mark.parametrize("policy", CLOSED)
def test_mean_response_and_makespan_are_within_one_percent_of_the_published(policy):
    assert max(off_simulated(policy, [None])) < 0.01


@pytest.mark.parametrize("policy", PROGRAMS)
def test_those_of_linear_programs_are_within_two_percent(policy):
    assert max(off_simulated(policy, range(3))) < 0.02


@pytest.mark.parametrize("policy", WITH_TIES)
def test_with_ties_in_a_random_order_they_are_within_three_percent(policy):
    assert max(off_simulated(policy, range(3))) < 0.03
