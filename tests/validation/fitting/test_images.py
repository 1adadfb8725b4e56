"""What is fitted to steps on pictures, and what is left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.examples import slow
from validation.fitting.images import fitted, taught_by
from validation.images import pictures_of, told

from foretrain.evidence.fit import free_of
from foretrain.evidence.predict import predict
from foretrain.study.coefficients import PRIORS

TABLES = Path(__file__).parents[3] / "validation" / "tables"
MANY = ("nv-dle-0097", "nv-dle-0099", "nv-dle-0100", "mlperf-v3.0-0001", "tf-bench-2017-0009")
ALONE = ("timm-train-nchw-0236", "timm-train-nchw-0111")
FREE = [free_of(name, PRIORS.known[name]) for name in ("pictures.sustained", "pictures.eager")]


@pytest.fixture(scope="module")
def many():
    return [*told("cnn_training", of=MANY)]


@pytest.fixture(scope="module")
def pictures(many):
    return pictures_of(many, [*told("single_device", of=ALONE)])


def fit_of(pictures):
    return fitted(pictures, FREE, PRIORS.coefficients, without={})


def test_rows_are_predicted_as_a_validation_predicts_them(many, pictures):
    asked = np.ones(len(many) + len(ALONE), bool)
    found = np.exp(pictures.log_seconds(PRIORS.coefficients, asked))[: len(many)]
    alone = [predict(run, PRIORS.coefficients, played=False).value for run, _ in many]
    assert found == pytest.approx(alone, rel=1e-9)


def test_rows_that_nobody_asks_for_are_not_predicted(many, pictures):
    asked = np.arange(len(many) + len(ALONE)) == 1
    found = pictures.log_seconds(PRIORS.coefficients, asked)
    assert np.flatnonzero(found).tolist() == [1]


@slow
def test_publisher_does_not_move_its_own_prediction(pictures):
    mine = np.array(pictures.publishers) == "nvidia"
    slower = replace(pictures, measured=np.where(mine, 3 * pictures.measured, pictures.measured))
    before, after = (fit_of(each) for each in (pictures, slower))
    assert after.cold(slower)[mine] == pytest.approx(before.cold(pictures)[mine], rel=0.02)
    warm = slice(None, len(mine))
    moved = after.whole.predicted[warm] - before.whole.predicted[warm]
    assert (moved[mine] > 0.03).all()


def test_each_publisher_is_left_out_of_what_others_are_known_to_say(pictures):
    slower = PRIORS.coefficients.changed({"step.factor": 1.1})
    known = fitted(pictures, FREE, PRIORS.coefficients, without={"nvidia": slower})
    plain = fit_of(pictures)
    mine = np.array(pictures.publishers) == "nvidia"
    assert (known.cold(pictures)[mine] > plain.cold(pictures)[mine]).all()


def test_runs_that_the_priors_explain_leave_them_alone(many, pictures):
    asked = np.ones(len(many) + len(ALONE), bool)
    known = np.exp(pictures.log_seconds(PRIORS.coefficients, asked))
    explained = replace(
        pictures,
        measured=known[: len(many)],
        alone=replace(pictures.alone, seconds=known[len(many) :]),
    )
    assert fit_of(explained).whole.scores == pytest.approx(np.zeros(len(FREE)), abs=1e-6)


def test_runs_of_one_network_on_one_kind_of_device_count_as_one(pictures):
    assert pictures.alike[0] != pictures.alike[2]
    counted = dict(zip(pictures.alike, pictures.rows.weight, strict=False))
    assert counted[pictures.alike[0]] == 0.5
    assert counted[pictures.alike[2]] == 1.0


def test_coefficient_is_taught_by_the_rows_that_it_moves_but_not_by_who_is_left_out(many, pictures):
    found = fit_of(pictures)
    eager = FREE.index(next(each for each in FREE if each.name == "pictures.eager"))
    taught = taught_by(found.whole, pictures, eager)
    told_by = {many[row][0].id for row in taught if row < len(many)}
    assert told_by == {*MANY} - {"mlperf-v3.0-0001"}
    others = taught_by(found.whole, pictures, eager, without="nvidia")
    assert all("nvidia" in pictures.owners[row] for row in set(taught) - set(others))
