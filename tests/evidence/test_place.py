"""Places: a few runs of one's own move its pace as far as they agree, and devices not at all."""

from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import published

from foretrain.evidence.calibrate import calibrate
from foretrain.evidence.fit import Fit, Rows, refit
from foretrain.evidence.result import (
    BELIEVED,
    FACTOR,
    OWN,
    PACE,
    SCATTER,
    of_one_place,
    scatter,
)
from foretrain.study.coefficients import SHIPPED


@pytest.fixture(scope="module")
def runs():
    """Runs of ten sizes and lengths."""
    listed = [f"mpt-{number:04}" for number in range(1, 11)]
    return [run for run in published("llm_training") if run.id in listed]


def test_runs_of_one_s_own_move_what_differs_from_place_to_place_and_nothing_of_devices(runs):
    found = calibrate(runs[:4], date="2026-11-27")
    assert [each.name for each in found.moved] == [FACTOR, *OWN]
    before, after = SHIPPED.known, found.calibration.known
    assert {name for name in after if after[name] != before[name]} <= {FACTOR, *OWN}
    assert after[FACTOR].rows == tuple(run.id for run in runs[:4])


def test_runs_that_are_as_slow_as_each_other_are_believed_more_the_more_they_are(runs):
    paces = [
        calibrate(runs[:many], date="2026-11-27").calibration.known[FACTOR].value
        for many in (1, 3, 10)
    ]
    # All ten are predicted some tenth too slow.
    assert 1.0 > paces[0] > paces[1] > paces[2]


@given(residual=st.floats(-0.2, 0.2), many=st.integers(1, 12))
def test_a_pace_alone_is_drawn_to_none_as_by_hand(residual, many):
    """The mean of n rows of one spread, and one prior of another: bishop2006, (2.141)."""
    rows = Rows(
        measured=np.full(many, residual),
        weight=np.ones(many),
        trainer=np.ones((many, 1)),
        noise=0.3,
    )
    [pace, *_], own = of_one_place(rows, SHIPPED)
    slopes = np.full((many, 1), pace.spread)
    start = Fit(
        scores=np.zeros(1),
        paces=np.zeros(0),
        slopes=slopes,
        predicted=np.zeros(many),
        covariance=np.eye(1),
    )
    found = refit(start, own, lambda asks: [slopes @ scores for scores, _ in asks])
    counted = many / (1.0 + (residual / 0.3 / 2.385) ** 2)
    least = PACE**2 / (PACE**2 + 0.3**2 / counted)
    most = PACE**2 / (PACE**2 + 0.3**2 / many)
    moved = log(pace.value(float(found.scores[0])))
    assert min(least * residual, most * residual) - 1e-9 <= moved
    assert moved <= max(least * residual, most * residual) + 1e-9


def test_rows_that_agree_are_taken_to_scatter_less_and_rows_that_do_not_more():
    assert scatter(np.array([0.3])) == pytest.approx(SCATTER * sqrt(BELIEVED / BELIEVED))
    assert scatter(np.zeros(10)) == pytest.approx(SCATTER * sqrt(BELIEVED / (BELIEVED + 9)))
    wild = np.array([0.5, -0.5] * 5)
    by_hand = sqrt((BELIEVED * SCATTER**2 + 10 * 0.25) / (BELIEVED + 9))
    assert scatter(wild) == pytest.approx(by_hand)
    assert scatter(wild) > SCATTER > scatter(np.zeros(3))


def test_a_host_differs_from_place_to_place_by_more_than_a_fit_to_many_places_is_unsure_of():
    rows = Rows(measured=np.zeros(2), weight=np.ones(2), trainer=np.eye(2))
    free, own = of_one_place(rows, SHIPPED)
    spreads = {each.name: each.spread for each in free}
    assert spreads[FACTOR] == PACE
    assert all(spreads[name] >= least for name, least in OWN.items())
    assert own.trainer.shape == (2, 0)
    assert free[0].value(1.0) == pytest.approx(exp(PACE))
