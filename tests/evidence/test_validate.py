"""Validation: rows, what is scored, and the summary; predictions are made up here."""

from dataclasses import replace

import pytest

from foretrain.errors import InputError
from foretrain.evidence.predict import Prediction
from foretrain.evidence.validate import MeasuredQuantity, Status, validate
from foretrain.measured.coverage import NotCovered
from foretrain.measured.run import MeasuredRun, Subject, TableKind, TrainedNetwork

RUN = MeasuredRun(
    id="ours-0001",
    source_id="ours",
    table=TableKind.LLM_TRAINING,
    subject=Subject.STEP_TIME,
    measured=10.0,
    network=TrainedNetwork(name="gpt"),
)


@pytest.fixture
def predicting(monkeypatch):
    """Makes every prediction 12 within 9 and 15, or what the test says for an id."""
    special = {}

    def predict(run, coefficients, *, played):
        found = special.get(run.id, Prediction(value=12.0, low=9.0, high=15.0))
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr("foretrain.evidence.validate.predict", predict)
    return special


def test_a_covered_run_is_predicted_beside_its_measurement(predicting):
    row = validate([RUN]).rows[0]
    assert (row.status, row.quantity) == (Status.PREDICTED, MeasuredQuantity.STEP_TIME)
    assert (row.measured, row.predicted, row.low, row.high) == (10.0, 12.0, 9.0, 15.0)
    assert row.error == pytest.approx(0.2)
    assert not row.reason


def test_remarks_and_assumptions_are_counted_and_listed(predicting):
    predicting[RUN.id] = Prediction(value=1.0, remark="blocks alone", assumed=("this", "that"))
    assert validate([RUN]).rows[0].reason == "blocks alone; 2 assumed: this, that"


@pytest.mark.parametrize("error", [NotCovered("too odd"), InputError("too odd")])
def test_a_run_that_is_not_covered_is_listed_with_the_reason(predicting, error):
    predicting[RUN.id] = error
    row = validate([RUN]).rows[0]
    assert (row.status, row.predicted, row.error) == (Status.NOT_PREDICTED, None, None)
    assert row.reason == "too odd"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"source_kind": "memory"}, "not scored: written down from memory"),
        ({"check": "audit: odd"}, "not scored: audit: odd"),
        ({"out_of_memory": True}, "not scored: ran out of memory"),
        ({"measured": None}, "not scored: step time not stated"),
    ],
)
def test_a_run_that_must_not_judge_is_predicted_but_not_scored(predicting, change, reason):
    found = validate([replace(RUN, **change)])
    assert (found.rows[0].status, found.rows[0].predicted) == (Status.SKIPPED, 12.0)
    assert found.rows[0].reason == reason
    assert (found.summary[0].rows, found.summary[0].predicted) == (1, 0)
    assert found.summary[0].mape is None


def test_rows_keep_the_order_of_the_runs(predicting):
    runs = [replace(RUN, id=name, source_id=name[0]) for name in ("z-1", "a-1", "z-2")]
    assert [row.id for row in validate(runs).rows] == ["z-1", "a-1", "z-2"]


def test_the_summary_has_a_line_per_source_and_subject(predicting):
    runs = [
        RUN,
        replace(RUN, id="b", source_id="theirs"),
        replace(RUN, id="c", subject=Subject.STATE),
        replace(RUN, id="d", subject=Subject.ACTIVATIONS),
    ]
    lines = validate(runs).summary
    assert [(line.source_id, line.quantity, line.subject, line.rows) for line in lines] == [
        ("ours", MeasuredQuantity.PEAK_MEMORY, Subject.ACTIVATIONS, 1),
        ("ours", MeasuredQuantity.PEAK_MEMORY, Subject.STATE, 1),
        ("ours", MeasuredQuantity.STEP_TIME, Subject.STEP_TIME, 1),
        ("theirs", MeasuredQuantity.STEP_TIME, Subject.STEP_TIME, 1),
    ]


def test_the_summary_is_that_of_a_worked_example(predicting):
    errors = {"a": 0.1, "b": -0.2, "c": 0.3}
    for name, error in errors.items():
        predicting[name] = Prediction(value=10 * (1 + error), low=9.0, high=14.0)
    predicting["d"] = NotCovered("too odd")
    line = validate([replace(RUN, id=name) for name in "abcd"]).summary[0]
    assert (line.rows, line.predicted) == (4, 3)
    assert line.mape == pytest.approx(0.2)
    assert line.median == pytest.approx(0.2)
    assert line.p90 == pytest.approx(0.28)
    assert line.bias == pytest.approx(0.2 / 3)
    assert line.interval_coverage == 1.0
    assert line.interval_width == pytest.approx((5 / 11 + 5 / 8 + 5 / 13) / 3)


def test_a_measurement_outside_the_interval_is_not_covered_by_it(predicting):
    predicting[RUN.id] = Prediction(value=12.0, low=11.0, high=13.0)
    assert validate([RUN]).summary[0].interval_coverage == 0.0


def test_predictions_without_an_interval_have_no_coverage(predicting):
    predicting[RUN.id] = Prediction(value=12.0)
    line = validate([RUN]).summary[0]
    assert line.mape == pytest.approx(0.2)
    assert (line.interval_coverage, line.interval_width) == (None, None)


def test_no_runs_have_no_rows_and_no_summary():
    assert validate([]).rows == ()
    assert validate([]).summary == ()
