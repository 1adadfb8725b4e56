"""Exponentials: attention in narrow heads waits for them, the more the quicker units are."""

import numpy as np
import pytest

from foretrain.step.exponentials import USUAL, flop_of_one, waited
from foretrain.study.catalogue import device


@pytest.mark.parametrize(
    ("name", "flop"),
    [("v100-sxm2-32gb", 64), ("a100-sxm-80gb", 128), ("h100-sxm", 256), ("b200", 512)],
)
def test_an_exponential_takes_as_long_as_more_flop_on_every_later_device(name, flop):
    """Products of a processor in a clock over 16 exponentials (nvidia-a100; shah2024): data sheets
    round clocks, so to an eighth."""
    found = device(name)
    half = found.peak.bf16 or found.peak.fp16
    assert flop_of_one(found, half) == pytest.approx(flop, rel=0.13)


def test_of_a_device_of_which_nobody_says_nothing_is_known():
    assert flop_of_one(device("tpu-v4"), device("tpu-v4").peak.bf16) == 0.0


def test_heads_of_half_the_width_wait_by_hand():
    """On an H100 an exponential costs 256 FLOP: heads of 64 have 256 for each, heads of 128 twice
    as many. So 2 units of time for 1 of products, beside 1.5."""
    flop, one = np.array([[256.0]]), 256.0
    [[found]] = waited(np.array([[1.0]]), flop, one)
    assert found == pytest.approx(2.0 / 1.5)
    [[back]] = waited(np.array([[1.0]]), 2.5 * flop, one, products=2.5)
    assert back == pytest.approx((1.0 + 1.0 / 2.5) / (1.0 + 0.5 / 2.5))


def test_usual_heads_and_what_takes_no_exponential_are_as_they_were():
    assert waited(np.array([[1.0]]), np.array([[USUAL]]), 512.0) == 1.0
    assert waited(np.array([[0.0]]), np.array([[1e9]]), 512.0) == 1.0
