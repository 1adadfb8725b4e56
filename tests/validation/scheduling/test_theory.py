"""Queueing theory inside the intervals of short runs; the long ones are the script's."""

import pytest
from tests.examples import every
from validation.scheduling.theory import CASES, tried

FEWER = 60
"""Times fewer jobs than in the script."""


@pytest.mark.parametrize("case", every(3, CASES, slow=1), ids=lambda case: case.name)
def test_theory_lies_inside_the_interval_of_ten_short_runs(case):
    result = tried(case, jobs=case.jobs // FEWER)
    assert result.inside
    assert result.half_width <= 0.15
