"""Peaks: rows to fit memory to, and whether runs fit."""

from dataclasses import replace

import pytest
from tests.tables import by_id
from validation.fitting.memory import memory_row, need, predicted

from foretrain.errors import InputError
from foretrain.evidence.predict import predict
from foretrain.study.coefficients import DEFAULT

ROWS = by_id("memory")
LITGPT = [run for run in ROWS.values() if run.source_id == "litgpt"]


@pytest.mark.parametrize("row", ["litgpt-0001", "litgpt-0012", "litgpt-0029", "litgpt-0044"])
def test_row_predicts_what_the_verb_does(row):
    run = ROWS[row]
    found = memory_row(run, run.measured, DEFAULT)
    assert predicted(found, DEFAULT.memory) == pytest.approx(predict(run, DEFAULT).value)
    assert (found.allocated, found.bound) == (True, False)


def test_bound_is_of_the_whole_device():
    found = memory_row(ROWS["litgpt-0001"], 42.9e9, DEFAULT, bound=True)
    assert (found.allocated, found.bound) == (False, True)
    assert predicted(found, DEFAULT.memory) == pytest.approx(
        need(ROWS["litgpt-0001"], DEFAULT).total
    )


def test_runs_that_ran_out_of_memory_need_more_than_there_is_and_others_do_not():
    for run in LITGPT:
        found = need(run, DEFAULT)
        assert found.fits is not run.out_of_memory
        assert (found.probability > 0.5) is found.fits


def test_published_peaks_are_met_within_the_limits():
    errors = [predict(run, DEFAULT).value / run.measured - 1.0 for run in LITGPT if run.measured]
    assert len(errors) == 39
    assert sum(map(abs, errors)) / len(errors) < 0.03
    assert min(errors) > -0.08


def test_plan_that_cannot_run_is_refused():
    run = ROWS["litgpt-0036"]
    wrong = replace(run, layout=replace(run.layout, tensor=3, data=1), global_batch=1)
    wrong = replace(wrong, place=replace(run.place, devices=3))
    with pytest.raises(InputError):
        need(wrong, DEFAULT)
