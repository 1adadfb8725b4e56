"""What matrix units reach at best."""

from dataclasses import replace

import pytest

from foretrain.step.picture_rates import picture_rates
from foretrain.step.work import best_share
from foretrain.study.catalogue import device
from foretrain.study.coefficients import PRIORS
from foretrain.trainers.software import SHARED
from foretrain.workload.workload import Precision

KNOWN = PRIORS.coefficients
MATRIX = KNOWN.matrix


def test_measured_product_stands_for_the_share_that_a_device_reaches():
    ampere = device("a100-sxm-80gb")
    assert best_share(ampere, MATRIX) == ampere.matmul / ampere.peak.bf16
    assert best_share(replace(ampere, matmul=None), MATRIX) == MATRIX.best


def test_first_and_asynchronous_units_keep_less():
    volta, hopper = device("v100-sxm2-32gb"), device("h100-sxm")
    assert best_share(volta, MATRIX) == MATRIX.best * MATRIX.earliest
    assert best_share(hopper, MATRIX) < best_share(replace(hopper, asynchronous=False), MATRIX)


@pytest.mark.parametrize("name", ["a100-sxm-80gb", "h100-sxm"])
def test_convolutions_follow_products_of_matrices(name):
    its = device(name)
    rate = picture_rates(its, Precision.FP16, KNOWN, software=SHARED).tiling.rate
    assert rate == pytest.approx(
        its.peak.fp16 * best_share(its, MATRIX) * KNOWN.pictures.sustained / KNOWN.step.factor
    )


def test_convolutions_lose_less_on_first_units_than_products_do():
    """Units of half an A100's rate are fed in time; values pass through registers."""
    its = device("v100-sxm2-32gb")
    rate = picture_rates(its, Precision.FP16, KNOWN, software=SHARED).tiling.rate
    waits = (1.0 / KNOWN.pictures.sustained - 1.0) * (125.0 / 15.7) / 16.0
    assert rate == pytest.approx(
        its.peak.fp16 * MATRIX.best * KNOWN.pictures.earliest / (1.0 + waits), rel=1e-3
    )
