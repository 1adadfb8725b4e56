"""Published runs of convolutional networks, predicted by coefficients that were fitted to none."""

import numpy as np
import pytest
from validation.images import MUST_COLD, pictures_of, scored, told

from foretrain.calibrate.scores import score
from foretrain.files.coefficients import DEFAULT, PRIORS


@pytest.fixture(scope="module")
def cold():
    many = list(told("cnn_training"))
    pictures = pictures_of(many, [])
    seconds = np.exp(pictures.log_seconds(PRIORS.coefficients, np.ones(len(many), bool)))
    return scored(many, seconds)


def test_sources_are_predicted_as_well_as_they_must_be(cold):
    assert score(cold).mean <= MUST_COLD


def test_every_source_counts(cold):
    assert len(score(cold).sources) == 9


def test_rates_of_pictures_are_shipped_as_they_were_known():
    assert DEFAULT.pictures == PRIORS.coefficients.pictures
    assert DEFAULT.picture_steps == PRIORS.coefficients.picture_steps
