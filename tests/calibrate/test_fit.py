"""Fits: they find what made the rows, and stay at the prior where rows say nothing."""

from dataclasses import replace

import numpy as np
import pytest

from foretrain.calibrate.fit import PACE, Rows, fit, membership, noisy, refit, weights
from foretrain.calibrate.free import FARTHEST, Free, free_of, values_of
from foretrain.coefficients.coefficient import Coefficient, Kind
from foretrain.errors import InputError


def coefficient(value, low, high, unit="1"):
    return Coefficient(
        value=value, unit=unit, low=low, high=high, kind=Kind.ASSUMED, source="by hand"
    )


def linear(slopes):
    return lambda many: [slopes @ scores * rows for scores, rows in many]


SLOPES = np.array([[0.3, 0.0], [0.3, 0.1], [0.1, 0.4], [0.2, 0.2]])


def rows(measured, weight=50.0):
    count = len(measured)
    return Rows(
        measured=np.asarray(measured), weight=np.full(count, weight), trainer=np.zeros((count, 0))
    )


def test_share_stays_between_0_and_1_and_anything_else_above_0():
    share = free_of("a.share", coefficient(0.8, 0.6, 0.9))
    assert share.value(0.0) == pytest.approx(0.8)
    assert 0.0 < share.value(-9.0) < share.value(9.0) < 1.0
    time = free_of("a.time", coefficient(2.0, 1.0, 4.0, unit="s"))
    assert time.value(-1.2816) == pytest.approx(1.0)
    assert time.value(1.2816) == pytest.approx(4.0)
    assert time.value(time.score(3.0)) == pytest.approx(3.0)


def test_prior_without_width_cannot_be_fitted():
    with pytest.raises(InputError, match="no width"):
        free_of("a.b", coefficient(1.0, 1.0, 1.0))


def test_rows_that_the_model_explains_give_its_coefficients_back():
    truth = np.array([0.7, -0.4])
    found = fit(rows(SLOPES @ truth, weight=1e6), linear(SLOPES), start=np.zeros(2))
    assert found.scores == pytest.approx(truth, abs=1e-3)


def test_coefficient_without_rows_stays_at_its_prior_and_as_unsure_as_it_was():
    nothing = SLOPES * [1.0, 0.0]
    found = fit(rows(nothing @ [0.5, 0.0]), linear(nothing), start=np.zeros(2))
    assert found.scores[1] == 0.0
    assert found.covariance[1, 1] == pytest.approx(1.0)
    free = Free(name="a.b", centre=0.0, spread=0.5, share=False)
    low, high = found.interval([free, free], 1)
    assert high == pytest.approx(np.exp(0.5 * 1.2816))
    assert low == pytest.approx(1.0 / high)


def test_no_rows_move_a_coefficient_out_of_what_is_plausible():
    found = fit(rows(np.full(4, 50.0), weight=1e6), linear(SLOPES), start=np.zeros(2))
    assert np.all(np.abs(found.scores) <= FARTHEST)


def test_one_odd_row_of_many_moves_a_fit_less_than_its_square_would():
    many, truth = np.tile(SLOPES, (5, 1)), np.array([0.7, -0.4])
    odd = many @ truth
    odd[2] += 2.0
    moved = fit(rows(odd), linear(many), start=np.zeros(2)).scores
    squares = np.linalg.lstsq(many, odd, rcond=None)[0]
    assert np.abs(moved - truth).max() < 0.3 * np.abs(squares - truth).max()


def test_fold_finds_what_a_fit_of_its_rows_alone_finds():
    measured = SLOPES @ np.array([0.7, -0.4]) + [0.0, 0.05, -0.02, 0.4]
    whole = fit(rows(measured), linear(SLOPES), start=np.zeros(2))
    weight = np.array([50.0, 50.0, 50.0, 0.0])
    fold = refit(whole, replace(rows(measured), weight=weight), linear(SLOPES))
    alone = fit(rows(measured[:3]), linear(SLOPES[:3]), start=np.zeros(2))
    assert fold.scores == pytest.approx(alone.scores, abs=0.03)


def test_sources_count_alike_and_repeats_as_one_run():
    found = weights(["a"] * 40 + ["b"] * 20, [str(each) for each in range(60)])
    assert found[:40].sum() == pytest.approx(found[40:].sum())
    assert weights(["a", "a", "a"], ["x", "x", "y"]).tolist() == [0.5, 0.5, 1.0]


def test_source_whose_repeats_scatter_is_noisy():
    sources, repeats = ["a"] * 3 + ["b"] * 3, ["x", "x", "y", "u", "u", "v"]
    assert noisy(sources, repeats, np.array([0.0, 0.3, 1.0, 0.0, 0.01, 1.0])) == {"a"}
    assert not noisy(["a", "b"], ["x", "y"], np.array([0.0, 1.0]))


def test_values_carry_the_names_of_coefficients():
    free = [free_of("a.time", coefficient(2.0, 1.0, 4.0, unit="s"))]
    assert values_of(free, np.zeros(1)) == {"a.time": pytest.approx(2.0)}


def test_pace_of_one_trainer_is_not_taken_for_a_coefficient():
    truth = np.array([0.7, -0.4])
    many = np.tile(SLOPES, (3, 1))
    trainers = membership(["a"] * 4 + ["b"] * 4 + ["c"] * 4)
    measured = many @ truth + trainers @ [0.0, 0.0, 2.0 * PACE]
    alone = fit(rows(measured), linear(many), start=np.zeros(2)).scores
    known = fit(replace(rows(measured), trainer=trainers), linear(many), start=np.zeros(2))
    assert np.abs(known.scores - truth).max() < 0.5 * np.abs(alone - truth).max()
    assert known.paces[2] > known.paces[0]
