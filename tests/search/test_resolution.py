"""Resolution: which plans are equal, how likely each is the best, what a choice conceals."""

from dataclasses import replace
from math import exp, log, sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.coefficients.uncertainty import PlanErrors
from foretrain.errors import InputError
from foretrain.plan.plan import Plan, Recompute
from foretrain.search.certainty import DRAWS, chances, distance, spread

ERRORS = PlanErrors(alike=0.03, apart=0.04)
ONE = Plan(data=8, tensor=2, micro_batch=1)
LIKE = replace(ONE, order=("data", "tensor", "context", "pipeline"))
OTHER = replace(ONE, data=4, tensor=4)
FAR = replace(OTHER, micro_batch=2, recompute=Recompute.FULL)
NOISE = 4.0 / sqrt(DRAWS)


def test_spread_of_two_plans_is_that_of_independent_errors_of_the_fields_that_differ():
    assert spread(ERRORS, ONE, LIKE) == pytest.approx(0.03)
    assert spread(ERRORS, ONE, OTHER) == pytest.approx(0.05)  # 3, 4, 5
    assert spread(ERRORS, ONE, FAR) == pytest.approx(sqrt(0.03**2 + 3 * 0.04**2))
    assert spread(ERRORS, FAR, ONE) == spread(ERRORS, ONE, FAR)


def test_plans_at_their_distance_come_in_the_predicted_order_in_six_of_ten_pairs():
    apart = log(1.0 + distance(ERRORS, ONE, OTHER))
    assert NormalDist().cdf(apart / 0.05) == pytest.approx(0.6)


def test_of_two_plans_the_better_one_is_the_best_as_often_as_pairs_come_in_order():
    gap = 0.05
    told = chances(ERRORS, (ONE, OTHER), (1.0, exp(gap)))
    assert told.best[0] == pytest.approx(NormalDist().cdf(gap / 0.05), abs=NOISE)
    assert sum(told.best) == pytest.approx(1.0)


def test_choice_between_equals_is_optimistic_by_what_the_least_of_two_errors_hides():
    told = chances(ERRORS, (ONE, OTHER), (1.0, 1.0))
    # The mean of the larger of two normal errors whose difference has a spread of 0.05.
    assert told.optimism == pytest.approx(0.05 / sqrt(2.0) / sqrt(3.14159) * 1.0, rel=0.1)


def test_one_plan_is_the_best_and_nothing_was_chosen():
    told = chances(ERRORS, (ONE,), (3.0,))
    assert (told.best, told.optimism) == ((1.0,), 0.0)


def test_plan_that_is_far_behind_is_never_the_best_and_hides_nothing():
    told = chances(ERRORS, (ONE, OTHER), (1.0, 3.0))
    assert told.best == (1.0, 0.0)
    assert told.optimism == pytest.approx(0.0, abs=0.002)


@given(values=st.lists(st.floats(0.5, 2.0), min_size=2, max_size=4))
def test_chances_do_not_hang_on_the_unit_and_are_the_same_each_time(values):
    plans = (ONE, LIKE, OTHER, FAR)[: len(values)]
    told = chances(ERRORS, plans, values)
    assert chances(ERRORS, plans, values) == told
    assert chances(ERRORS, plans, [4.0 * value for value in values]).best == pytest.approx(
        told.best, abs=2 / DRAWS
    )


def test_errors_of_no_width_are_refused():
    with pytest.raises(InputError, match="both must be above 0"):
        PlanErrors(alike=0.0, apart=0.1)
