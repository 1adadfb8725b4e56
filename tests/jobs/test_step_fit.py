"""Fits of the step model: it is found again, and what was not seen is thought well of."""

import pytest

from foretrain.errors import InputError
from foretrain.jobs.step_fit import LEAST, fitted
from foretrain.jobs.steps import StepModel
from foretrain.measured.profile import TimedStep

TRUE = StepModel(
    compute=0.07, sample=0.02, near=0.04, near_more=0.003, far=0.2, far_more=0.005, overlap=1.5
)
PLACEMENTS = ((1,), (2,), (4,), (1, 1), (2, 2), (4, 4), (4, 4, 4, 4))


def seen(placement, batch):
    step, sync = TRUE.times(placement, batch)
    return TimedStep(
        nodes=len(placement), devices=sum(placement), batch=batch, step=step, sync=sync
    )


def test_a_model_is_found_again_from_its_own_steps():
    model = fitted([seen(placement, batch) for placement in PLACEMENTS for batch in (8, 32, 64)])
    for placement in PLACEMENTS:
        said, true = model.times(placement, 16), TRUE.times(placement, 16)
        assert said[0] == pytest.approx(true[0], rel=0.02)


def test_who_has_seen_one_device_thinks_that_exchanges_are_free():
    model = fitted([seen((1,), 32)])
    assert model.times((4, 4), 32)[0] == pytest.approx(model.times((1,), 32)[0], rel=1e-3)


def test_who_has_seen_one_node_thinks_little_worse_of_several():
    model = fitted([seen((1,), 32), seen((2,), 32), seen((4,), 32)])
    assert model.far >= model.near
    assert model.times((2, 2), 32)[0] == pytest.approx(model.times((4,), 32)[0], rel=0.05)


def test_no_step_at_all_is_refused():
    with pytest.raises(InputError, match="at least one"):
        fitted([])


def test_who_has_seen_two_devices_thinks_that_further_ones_add_nothing():
    near, far = fitted([seen((1,), 32), seen((2,), 32)]), fitted([seen((1,), 32), seen((1, 1), 32)])
    assert near.near_more == pytest.approx(LEAST)
    assert far.far_more == pytest.approx(LEAST)
