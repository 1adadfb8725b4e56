"""Intervals: harder cases are wider, and what is learned holds what it was learned from."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests import examples
from tests.validation.fitting.scored_rows import SITUATION, row
from validation.fitting.lessons import (
    Held,
    Observed,
    fitted,
    held_out,
    interval_score,
    learned,
    lessons_of,
    observed,
    with_anchor,
)

from foretrain.coefficients.intervals import (
    FEATURES,
    KINDS,
    RARE,
    after_anchor,
    covered,
    spread,
    width,
)
from foretrain.errors import InputError
from foretrain.study.coefficients import PRIORS

PRIOR = PRIORS.coefficients.uncertainty
COVERS = covered([SITUATION] * 5)
FEW = examples.few(30)
SITUATIONS = some.builds(
    replace,
    some.just(SITUATION),
    device=some.sampled_from(["a100-sxm-80gb", "b200-sxm"]),
    devices=some.integers(1, 10_000),
    parameters=some.floats(1e6, 1e13),
    assumed=some.integers(0, 9),
    host_bound=some.floats(0.0, 1.0),
    **{kind: some.booleans() for kind in KINDS},
)


def drawn(publishers, sigma, seed=0, many=60):
    """Residuals of some publishers, each around nothing."""
    generator = np.random.default_rng(seed)
    return [
        Observed(
            source_id=name,
            publisher=name,
            residual=float(residual),
            situation=SITUATION,
        )
        for name in publishers
        for residual in generator.laplace(0.0, sigma, many)
    ]


def test_an_easy_case_has_the_width_itself():
    assert width(SITUATION, PRIOR, COVERS) == PRIOR.time


@FEW
@given(SITUATIONS)
def test_no_case_is_surer_than_an_easy_one(situation):
    assert width(situation, PRIOR, COVERS) >= PRIOR.time


@FEW
@given(SITUATIONS)
def test_an_interval_holds_the_prediction_and_says_what_is_outside(situation):
    found = spread(situation, PRIOR, COVERS)
    assert found.low_factor < 1 < found.high_factor
    assert found.inside is (found.reason == "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_was_not_fitted_to_is_outside_and_wider(kind):
    odd = replace(SITUATION, **{kind: True})
    assert not spread(odd, PRIOR, COVERS).inside
    assert width(odd, PRIOR, COVERS) > width(odd, PRIOR, covered([odd] * 5))


@pytest.mark.parametrize("kind", RARE)
def test_a_kind_without_a_width_is_wider_until_runs_of_it_are_fitted_to(kind):
    harder = replace(SITUATION, **{kind: True})
    known = covered([SITUATION] * 5 + [harder] * 5)
    assert width(harder, PRIOR, COVERS) > width(SITUATION, PRIOR, COVERS)
    assert width(harder, PRIOR, known) == width(SITUATION, PRIOR, known)
    assert RARE[kind] in spread(harder, PRIOR, COVERS).reason
    assert spread(harder, PRIOR, known).inside


def test_each_widening_has_a_feature_and_each_feature_a_widening():
    widths = {"time", "quicker", "anchored", "anchored_quicker"}
    assert set(FEATURES) == set(PRIOR.__slots__) - widths


def test_one_difficulty_widens_by_its_factor_and_two_by_less_than_both():
    one, other = replace(SITUATION, experts=True), replace(SITUATION, divided=True)
    covers = covered([replace(one, divided=True)] * 5)
    assert width(one, PRIOR, covers) == pytest.approx(PRIOR.time * exp(PRIOR.experts))
    both = width(replace(one, divided=True), PRIOR, covers)
    assert width(one, PRIOR, covers) < both
    assert both * PRIOR.time < width(one, PRIOR, covers) * width(other, PRIOR, covers)


def test_sizes_beyond_those_fitted_to_are_wider_the_farther_they_are():
    widths = [
        width(replace(SITUATION, parameters=size), PRIOR, COVERS) for size in (1e9, 1e10, 1e12)
    ]
    assert widths == sorted(set(widths))


def test_plans_that_may_be_meant_reach_as_far_as_they_say_and_farther():
    found = spread(replace(SITUATION, lower=0.3), PRIOR, COVERS)
    assert found.low_factor < exp(-0.3)
    assert found.high_factor == pytest.approx(exp(PRIOR.time))


def test_a_model_known_by_its_totals_is_wider_by_its_factor():
    vague = replace(SITUATION, vague=2.0)
    assert width(vague, PRIOR, COVERS) == pytest.approx(2 * PRIOR.time)


def test_after_an_anchor_the_width_is_another():
    assert width(SITUATION, after_anchor(PRIOR), COVERS) == PRIOR.anchored


def test_before_an_anchor_errors_have_no_side_and_after_it_runs_are_rather_slower():
    before = spread(SITUATION, PRIOR, COVERS)
    assert before.low_factor * before.high_factor == pytest.approx(1.0)
    after = spread(SITUATION, after_anchor(PRIOR), COVERS)
    assert log(after.low_factor) == pytest.approx(-PRIOR.anchored * PRIOR.anchored_quicker)


def test_either_end_after_an_anchor_is_learned_from_the_errors_on_its_side():
    rows = [
        replace(it, residual=it.residual * (3.0 if it.residual > 0 else 1.0))
        for it in drawn("abcd", 0.1, many=500)
    ]
    found = with_anchor(rows, PRIOR)
    assert found.anchored_quicker == pytest.approx(1 / 3, rel=0.1)
    assert found.time == PRIOR.time


def test_a_source_with_more_rows_of_the_same_weighs_no_more():
    rows = [
        replace(it, residual=it.residual * (5.0 if it.source_id == "a" else 1.0))
        for it in drawn("abcd", 0.1)
    ]
    more = [*rows, *(it for it in rows * 9 if it.source_id == "a")]
    assert with_anchor(more, PRIOR) == with_anchor(rows, PRIOR)


def test_runs_that_repeat_an_anchor_exactly_still_leave_a_width():
    rows = [replace(it, residual=0.0) for it in drawn("abcd", 0.1)]
    found = with_anchor(rows, PRIOR)
    assert found.anchored > 0
    assert found.anchored_quicker == 1.0


@FEW
@given(some.floats(0.3, 3.0))
def test_residuals_twice_as_large_make_intervals_twice_as_wide(factor):
    rows = drawn("abcd", 0.1)
    larger = [replace(it, residual=factor * it.residual) for it in rows]
    assert fitted(larger, PRIOR).time == pytest.approx(factor * fitted(rows, PRIOR).time, rel=1e-6)


def test_widenings_stay_where_they_were_unless_something_speaks_against_them():
    found = fitted(drawn("abcd", 0.1), PRIOR)
    assert found.experts == pytest.approx(PRIOR.experts, abs=1e-3)


def test_a_kind_that_is_predicted_badly_is_given_more_room():
    rows = [
        replace(
            it,
            residual=it.residual * (4.0 if place % 2 else 1.0),
            situation=replace(SITUATION, divided=bool(place % 2)),
        )
        for place, it in enumerate(drawn("abcdefgh", 0.1))
    ]
    assert fitted(rows, PRIOR).divided > 2 * PRIOR.divided


def test_the_fewer_the_publishers_the_more_is_left_for_the_next():
    few, many = (fitted(drawn(names, 0.1, many=200), PRIOR).time for names in ("ab", "abcdefgh"))
    assert few > many


def test_one_publisher_teaches_nothing():
    with pytest.raises(InputError, match="two publishers"):
        fitted(drawn("a", 0.1), PRIOR)


def scored(sigma=0.1, names="abcdefgh", seed=1):
    generator = np.random.default_rng(seed)
    return [
        row(f"{name}-{place}", exp(float(noise)), precision=f"kind {place // 5}")
        for name in names
        for place, noise in enumerate(generator.laplace(0.0, sigma, 60))
    ]


def test_intervals_hold_about_as_many_rows_of_others_as_they_are_to():
    rows = scored()
    found = interval_score(held_out(lessons_of(rows, PRIOR), observed(rows)))
    assert 0.8 <= found.coverage <= 0.95
    assert set(found.sources) == set("abcdefgh")


def test_intervals_after_an_anchor_are_judged_by_anchored_rows():
    rows = scored()
    lessons = lessons_of(rows, PRIOR)
    held = held_out(lessons, lessons.anchored, moved=True)
    assert len(held) == len(lessons.anchored)
    assert 0.7 <= interval_score(held).coverage <= 0.9


def test_sources_that_do_not_repeat_themselves_teach_nothing():
    odd = [row(f"z-{place}", measured=float(1 + place)) for place in range(10)]
    steady = lessons_of(scored(), PRIOR)
    assert {it.source_id for it in lessons_of([*scored(), *odd], PRIOR).rows} == set("abcdefgh")
    assert learned(steady).time > 0


def test_a_row_outside_costs_ten_times_what_it_misses():
    seen = Observed(source_id="a", publisher="a", residual=0.3, situation=SITUATION)
    assert Held(observed=seen, low=-0.2, high=0.2).score == pytest.approx(0.4 + 10 * 0.1)
    assert Held(observed=seen, low=-0.4, high=0.4).score == pytest.approx(0.8)


def test_equal_widths_are_worth_as_much_as_one_width():
    rows = [
        Held(
            observed=Observed(
                source_id="a", publisher="a", residual=log(1 + k / 10), situation=SITUATION
            ),
            low=-log(1.5),
            high=log(1.5),
        )
        for k in range(1, 6)
    ]
    found = interval_score(rows)
    assert found.coverage == 1.0
    assert found.score == pytest.approx(found.constant)
