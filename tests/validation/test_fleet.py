"""FLEET's own run, and what is recorded of tiny ensembles."""

import numpy as np
import pytest
from tests.validation.published import numbers
from validation.fleet import RECORDED
from validation.parts.record import recorded
from validation.parts.summitdev import (
    CHECKPOINT,
    DEVIATION,
    DRAWS,
    MEAN,
    SEEDS,
    published,
    speed_ups,
)
from validation.parts.tiny_ensembles import RATES

DRAW, FALL = "normal run lengths", 0.98


def test_run_lengths_are_drawn_as_published():
    known = numbers()
    assert known["fleet-networks"].rows[0] == ("images/s", *RATES)
    assert known["fleet-run-lengths"].rows[0] == ("alone", MEAN, DEVIATION)
    for draw in DRAWS.values():
        rates = draw(np.random.default_rng(0))
        assert rates.min() >= RATES[0] * (1 - 1e-12)
        assert rates.max() <= RATES[1] * (1 + 1e-12)
    lengths = np.concatenate([1 / DRAWS[DRAW](np.random.default_rng(seed)) for seed in SEEDS])
    assert lengths.std() / lengths.mean() == pytest.approx(DEVIATION / MEAN, rel=0.2)


def test_what_a_checkpoint_takes_follows_from_published_shares():
    known = numbers()
    totals = known["fleet-totals"]
    least, most = (
        known["fleet-overheads"][f"{end} checkpointing"] / 100 for end in ("least", "most")
    )
    for devices in ("120", "160"):
        each = totals[devices] / (known["fleet-flotillas"][devices] - 1)
        assert least * each < CHECKPOINT < most * each


def test_the_shape_of_the_published_speed_ups_comes_out():
    ours, paper = speed_ups(DRAW, FALL, rule="homogeneous"), published()["homogeneous"]
    assert ours[4:] == pytest.approx(paper[4:], rel=1e-12)
    assert ours[:4] == pytest.approx(paper[:4], rel=0.25)
    ours, paper = speed_ups(DRAW, FALL, rule="FLEET-G"), published()["FLEET-G"]
    assert min(ours) >= 1
    assert sorted(ours[4:]) == ours[4:]  # grows with the devices that are more than the networks
    assert ours[-1] == pytest.approx(paper[-1], rel=0.25)


def test_no_recorded_bar_is_missed():
    assert not [name for name, row in recorded(RECORDED.path).items() if row["verdict"] == "MISSED"]
