"""Whether a figure may be believed, and what a fit is worth on rows that it has not seen."""

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.evidence.fit import TENTH, Rows, fit, membership
from foretrain.evidence.result import FEWEST, FOLDS, causes, deviations, folds_of, left_out

seconds = st.floats(1e-3, 1e3)


@given(predicted=seconds, ratio=st.floats(0.01, 100.0), width=st.floats(0.05, 1.0))
def test_deviations_count_the_widths_of_the_interval(predicted, ratio, width):
    ends = (predicted * exp(-width), predicted * exp(width))
    far = deviations(ratio * predicted, predicted, ends)
    assert far * width / TENTH == pytest.approx(np.log(ratio))


def test_end_of_an_interval_is_the_ninetieth_percentile_of_either_side():
    ends = (0.5, 3.0)
    assert deviations(3.0, 1.0, ends) == pytest.approx(TENTH)
    assert deviations(0.5, 1.0, ends) == pytest.approx(-TENTH)
    assert deviations(1.0, 1.0, ends) == 0


@given(repeats=st.lists(st.integers(1, 4), min_size=FEWEST, max_size=20))
def test_configuration_is_left_out_whole_and_once(repeats):
    rows = [f"{place}" for place, times in enumerate(repeats) for _ in range(times)]
    folds = folds_of(rows)
    assert set(folds) <= set(range(FOLDS))
    for name in set(rows):
        assert len({fold for fold, row in zip(folds, rows, strict=True) if row == name}) == 1
    assert len(set(folds)) == FOLDS


@pytest.mark.parametrize("few", [1, FEWEST - 1])
def test_few_configurations_are_not_left_out(few):
    assert folds_of([f"{place}" for place in range(few)] * 3) is None


def test_row_that_is_left_out_tells_its_own_prediction_nothing():
    """Each row alone has a coefficient; seen, it is met, and left out it stays at its prior."""
    many = 5
    measured = np.full(many, 0.5)
    rows = Rows(
        measured=measured, weight=np.ones(many), trainer=membership(["one"] * many), noise=1e-3
    )

    def predict(asks):
        return [np.where(asked, scores, 0.0) for scores, asked in asks]

    whole = fit(rows, predict, start=np.zeros(many))
    assert whole.predicted + whole.paces[0] == pytest.approx(measured, abs=1e-3)
    assert left_out(whole, rows, predict, folds=np.arange(many)) == pytest.approx(
        np.zeros(many), abs=1e-3
    )


@pytest.mark.parametrize(
    ("ratio", "told"),
    [
        (1000.0, "seconds written for milliseconds"),
        (0.001, "milliseconds written for seconds"),
        (1 / 32, "one of the step's 32 micro-batches was timed"),
        (256.0, "the time of one device counted for each of 256"),
    ],
)
def test_mistake_that_would_lead_to_just_such_a_figure_is_named_first(ratio, told):
    found = list(causes(1.1 * ratio, micro_batches=32.0, devices=256, mfu=0.4))
    assert found[0] == told
    assert len([words for words in found if "written" in words or "counted" in words]) <= 1


def test_figure_beyond_the_peak_of_the_devices_is_called_so():
    first = next(causes(0.2, micro_batches=1.0, devices=1, mfu=2.1))
    assert first == "the devices would compute at 210% of their peak, which none can"
