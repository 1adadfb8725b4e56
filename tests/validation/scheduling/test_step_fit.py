"""Fits of the step model: it is found again, and what was not seen is thought well of."""

from dataclasses import replace

import numpy as np
import pytest
from validation.scheduling.profile import TimedStep
from validation.scheduling.steps import (
    CALM_OVERLAP,
    HOPE,
    LEAST,
    MOST_OVERLAP,
    StepModel,
    _bounds,
    _loss,
    fitted,
)

from foretrain.errors import InputError

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


@pytest.mark.parametrize(
    ("rows", "shown"),
    [  # (nodes, devices, batch): which of near, near_more, far, far_more what was seen can show
        ([(1, 1, 8)], set()),
        ([(1, 2, 8)], {"near"}),
        ([(1, 3, 8)], {"near", "near_more"}),
        ([(2, 2, 8)], {"far"}),
        ([(2, 3, 8)], {"far", "far_more"}),
        ([(1, 1, 8), (2, 2, 8)], {"far"}),
        ([(1, 2, 8), (2, 3, 8)], {"near", "near_more", "far", "far_more"}),
        ([(1, 1, 8), (1, 1, 9)], {"compute"}),
        ([(3, 3, 8), (1, 1, 9)], {"compute", "far", "far_more"}),
    ],
)
def test_what_nothing_that_was_seen_could_show_is_left_out(rows, shown):
    nodes, devices, batch = np.array(rows, float).T
    low, high = _bounds(np.array([nodes, devices, batch, 2.0 + 0 * batch, 3.0 + 0 * batch]))
    names = ("compute", "sample", "near", "near_more", "far", "far_more", "overlap")
    assert {name for name, free in zip(names, low < high, strict=True) if free} == {
        *shown, "sample", "overlap"
    }  # fmt: skip
    assert low[0] == (LEAST if "compute" in shown else 1.0)  # half of what computing takes
    assert (low[-1], high[-1]) == (1.0, MOST_OVERLAP)


@pytest.mark.parametrize("overlap", [1.0, 1.5, 3.0])
def test_what_fits_without_an_error_costs_what_it_is_less_likely_beforehand(overlap):
    model = replace(TRUE, overlap=overlap)
    rows = []
    for placement in PLACEMENTS:
        step, sync = model.times(placement, 8)
        rows.append((len(placement), sum(placement), 8, step - sync, step))
    numbers = (0.07, 0.02, 0.04, 0.003, 0.2, 0.005, overlap)
    growth = (0.003 / 0.04) ** 2 + (0.005 / 0.2) ** 2
    found = _loss(np.log(numbers), np.array(rows, float).T)
    assert found == pytest.approx(CALM_OVERLAP * (overlap - 1.0) ** 2 + HOPE * growth, abs=1e-6)
