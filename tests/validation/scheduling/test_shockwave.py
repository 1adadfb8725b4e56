"""Shockwave's published simulations, with a tie order or two."""

import pytest
from validation.scheduling.shockwave import AS_SEEN, CLOSED, PROGRAMS, off_simulated


@pytest.mark.parametrize("policy", CLOSED)
def test_mean_response_and_makespan_are_within_two_percent_of_the_published(policy):
    assert max(off_simulated(policy, [None])) < 0.02


@pytest.mark.parametrize("policy", [*PROGRAMS, "finish_time_fairness", AS_SEEN])
def test_those_with_ties_in_a_random_order_are_too(policy):
    assert max(off_simulated(policy, range(3))) < 0.02
