"""Shockwave's published simulations, with a tie order or two."""

import pytest
from validation.scheduling.shockwave import EXACT, WITH_TIES, off_simulated


@pytest.mark.parametrize("policy", EXACT)
def test_mean_response_and_makespan_are_within_two_percent_of_the_published(policy):
    assert max(off_simulated(policy, [None])) < 0.021


@pytest.mark.parametrize("policy", WITH_TIES)
def test_with_ties_in_a_random_order_they_are_within_three_percent(policy):
    assert max(off_simulated(policy, range(3))) < 0.03
