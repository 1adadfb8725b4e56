"""Fits: they find what made the rows, and stay at the prior where rows say nothing."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from foretrain.coefficients.coefficients import Coefficient, Origin
from foretrain.errors import InputError
from foretrain.evidence.fit import (
    BEND,
    EDGE,
    FARTHEST,
    NOISE,
    PACE,
    TENTH,
    Free,
    Rows,
    fit,
    free_of,
    membership,
    noisy,
    refit,
    values_of,
    weights,
)


def coefficient(value, low, high, unit="1"):
    return Coefficient(
        value=value, unit=unit, low=low, high=high, kind=Origin.ASSUMED, source="by hand"
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


def test_fit_is_the_least_of_its_loss():
    """Cauchy's loss of the residuals, and the squares of scores and paces in their own widths."""
    generator = np.random.default_rng(3)
    many, trainers = np.tile(SLOPES, (6, 1)), membership([*"abc"] * 8)
    measured = many @ [0.7, -0.4] + trainers @ [0.3, -0.1, 0.0] + generator.normal(0, 0.1, 24)
    measured[[5, 11]] += [1.0, -0.7]
    asked = replace(
        rows(measured), weight=generator.uniform(0.2, 2.0, 24), trainer=trainers, noise=0.07
    )

    def loss(state):
        apart = (measured - many @ state[:2] - trainers @ state[2:]) / 0.07
        cauchy = BEND**2 / 2 * np.log1p((apart / BEND) ** 2)
        return (
            asked.weight @ cauchy + state[:2] @ state[:2] / 2 + state[2:] @ state[2:] / PACE**2 / 2
        )

    found = fit(asked, linear(many), start=np.zeros(2))
    least = minimize(loss, np.zeros(5), tol=1e-9).x
    assert np.r_[found.scores, found.paces] == pytest.approx(least, abs=0.03)
    assert found.predicted == pytest.approx(many @ found.scores)


def test_scores_are_as_sure_as_the_rows_and_the_prior_together():
    asked = rows(SLOPES @ [0.7, -0.4], weight=3.0)
    found = fit(asked, linear(SLOPES), start=np.zeros(2))
    known = np.linalg.inv(3.0 / NOISE**2 * SLOPES.T @ SLOPES + np.eye(2))
    # What rows are off after the prior has drawn at the scores hardly counts.
    assert found.covariance == pytest.approx(known, rel=1e-3)
    free = free_of("a.time", coefficient(2.0, 1.0, 4.0, unit="s"))
    half = TENTH * np.sqrt(known[1, 1])
    ends = [free.value(found.scores[1] - half), free.value(found.scores[1] + half)]
    assert found.interval([free, free], 1) == pytest.approx(ends, rel=1e-3)


def test_rows_are_predicted_only_where_a_score_moves_them():
    """Once the first slopes are known, a score is tried with the rows that it moves."""
    apart, asks = np.array([[0.3, 0.0], [0.0, 0.2], [0.0, 0.0]]), []

    def predict(many):
        asks.append([asked.tolist() for _, asked in many])
        return linear(apart)(many)

    found = fit(rows(apart @ [0.7, -0.4]), predict, start=np.zeros(2))
    assert [[True, True, False], [True, False, False], [False, True, False]] in asks
    assert found.slopes == pytest.approx(apart)


@pytest.mark.parametrize(
    ("far", "scatter"), [([0.15], True), ([0.13], False), ([0.15, 0.0], False), ([0.15] * 2, True)]
)
def test_scatter_of_repeats_is_over_all_pairs_of_a_source(far, scatter):
    """Two runs that lie d apart have the variance d**2 / 2; that may be at most a tenth squared."""
    measured = np.array([*(end for each in far for end in (1.0, 1.0 + each)), 5.0])
    repeats = [str(place // 2) for place in range(len(measured))]
    assert noisy(["a"] * len(measured), repeats, measured) == ({"a"} if scatter else set())


def test_source_counts_as_at_most_a_dozen_rows():
    found = weights(["a"] * 40 + ["b"] * 2, [str(each // 2) for each in range(42)])
    assert found.tolist() == pytest.approx([0.5 * 12 / 20] * 40 + [0.5] * 2)


def log_odds(share):
    return np.log(share / (1 - share))


@pytest.mark.parametrize(
    ("prior", "ends", "share"),
    [
        (coefficient(0.8, 0.6, 0.9), (0.6, 0.9), True),
        (coefficient(0.8, 0.6, 1.0), (0.6, 1 - EDGE), True),
        (coefficient(0.8, 0.0, 0.9), (EDGE, 0.9), True),
        (coefficient(1.0, 0.9, 1.5), (0.9, 1.5), False),
        (coefficient(0.8, 0.6, 0.9, unit="s"), (0.6, 0.9), False),
    ],
)
def test_prior_is_ten_to_ninety_percent_of_its_interval(prior, ends, share):
    free, place = free_of("a.b", prior), log_odds if share else np.log
    assert (free.share, free.centre) == (share, pytest.approx(place(prior.value)))
    low, high = map(place, ends)
    assert 2 * TENTH * free.spread == pytest.approx(high - low)
    for score in (-2.0, 0.0, 1.5):
        value = free.value(score)
        assert place(value) == pytest.approx(free.centre + score * free.spread)
        assert not EDGE < value < 1 - EDGE or free.score(value) == pytest.approx(score)


def test_value_at_the_edge_of_a_share_has_the_score_of_the_edge():
    free = free_of("a.share", coefficient(0.8, 0.6, 0.9))
    assert free.score(1.0) == free.score(1.0 - EDGE) > free.score(0.9)
    assert free.score(0.0) == free.score(EDGE) < free.score(0.1)


def test_values_are_each_at_its_own_score():
    free = [free_of(f"a.{name}", coefficient(2.0, 1.0, 4.0, unit="s")) for name in "xyz"]
    found = values_of(free, np.array([0.0, TENTH, -TENTH]))
    assert found == pytest.approx({"a.x": 2.0, "a.y": 4.0, "a.z": 1.0})
