"""What is fitted to steps on pictures, and what is left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from validation.images import pictures_of, told

from foretrain.calibrate.free import free_of
from foretrain.calibrate.images import fitted
from foretrain.files.coefficients import PRIORS
from foretrain.verbs.predict import predict

TABLES = Path(__file__).parents[2] / "validation" / "tables"
MANY = ("nv-dle-0097", "nv-dle-0099", "nv-dle-0100", "mlperf-v3.0-0001", "tf-bench-2017-0009")
ALONE = ("timm-train-nchw-0236", "timm-train-nchw-0111")
FREE = [free_of(name, PRIORS.known[name]) for name in ("pictures.sustained", "pictures.eager")]


@pytest.fixture(scope="module")
def many():
    return [each for each in told("cnn_training") if each[0].id in MANY]


@pytest.fixture(scope="module")
def pictures(many):
    return pictures_of(many, [each for each in told("single_device") if each[0].id in ALONE])


def test_rows_are_predicted_as_a_validation_predicts_them(many, pictures):
    asked = np.ones(len(many) + len(ALONE), bool)
    found = np.exp(pictures.log_seconds(PRIORS.coefficients, asked))[: len(many)]
    alone = [predict(run, PRIORS.coefficients, played=False).value for run, _ in many]
    assert found == pytest.approx(alone, rel=1e-9)


def test_rows_that_nobody_asks_for_are_not_predicted(many, pictures):
    asked = np.arange(len(many) + len(ALONE)) == 1
    found = pictures.log_seconds(PRIORS.coefficients, asked)
    assert np.flatnonzero(found).tolist() == [1]


def test_publisher_does_not_move_its_own_prediction(pictures):
    mine = np.array(pictures.publishers) == "nvidia"
    slower = replace(pictures, measured=np.where(mine, 3 * pictures.measured, pictures.measured))
    before, after = (fitted(each, FREE, PRIORS.coefficients) for each in (pictures, slower))
    assert after.cold[mine] == pytest.approx(before.cold[mine], rel=0.02)
    assert (after.warm[mine] > 1.05 * before.warm[mine]).all()


def test_runs_that_the_priors_explain_leave_them_alone(many, pictures):
    asked = np.ones(len(many) + len(ALONE), bool)
    known = np.exp(pictures.log_seconds(PRIORS.coefficients, asked))
    explained = replace(
        pictures,
        measured=known[: len(many)],
        alone=replace(pictures.alone, seconds=known[len(many) :]),
    )
    for name, value in fitted(explained, FREE, PRIORS.coefficients).values.items():
        assert value == pytest.approx(PRIORS.coefficients.value(name))
