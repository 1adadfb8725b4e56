"""Shockwave's published simulations."""

import pytest
from validation.scheduling.shockwave import AS_SEEN, POLICIES, off_simulated


@pytest.mark.parametrize("policy", [*sorted({*POLICIES} - {"allox"}), AS_SEEN])
def test_mean_response_and_makespan_are_within_two_percent_of_the_published(policy):
    assert max(off_simulated(policy)) < 0.02
