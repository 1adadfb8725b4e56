"""Fits of steps: a model is found again, from few devices, and says how far it can be trusted."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.queueing.step_fit import DRIFT, TYPICAL, StepModel, TimedStep, fit_steps

TRUE = StepModel(
    batches=(8, 32, 64), seconds=(0.2, 0.7, 1.3), crowding=0.04, near=0.1, far=0.8, pair=1.6,
    jitter=0.3, overlap=1.7,
)  # fmt: skip
FEW = ((1,), (2,), (3,), (4,), (1, 1), (1, 2), (2, 2), (1, 3), (1, 1, 1), (1, 1, 2), (1, 1, 1, 1))
MANY = ((4, 4), (4, 4, 4, 4), (2, 2, 2, 2, 2, 2), (4,) * 16)


def seen(placement, batch, factor=1.0):
    step, sync = TRUE.times(placement, batch)
    return TimedStep(
        nodes=len(placement),
        devices=sum(placement),
        batch=batch,
        step=step * factor,
        sync=sync * factor,
        placement=placement,
    )


STEPS = [seen(placement, batch) for placement in FEW for batch in TRUE.batches]


@pytest.mark.parametrize("placement", MANY)
@pytest.mark.parametrize("batch", [8, 20, 64])
def test_many_devices_are_told_from_steps_of_at_most_four(placement, batch):
    said, true = (each.times(placement, batch)[0] for each in (fit_steps(STEPS).model, TRUE))
    assert said == pytest.approx(true, rel=0.03)


def test_a_step_beside_a_busy_neighbour_does_not_decide():
    spoilt = [*STEPS[:-1], seen(FEW[-1], 64, factor=5.0)]
    said, calm = (fit_steps(each).model.times((4,) * 4, 32)[0] for each in (spoilt, STEPS))
    assert said == pytest.approx(calm, rel=0.03)


@settings(max_examples=10)
@given(factor=st.floats(0.01, 100.0))
def test_all_measured_times_by_a_factor_multiply_every_prediction(factor):
    slow = [replace(each, step=each.step * factor, sync=each.sync * factor) for each in STEPS]
    said, plain = (fit_steps(each).model.times((4, 4, 4), 20)[0] for each in (slow, STEPS))
    assert said == pytest.approx(plain * factor, rel=1e-3)


def test_how_much_of_a_step_is_computing_is_known_from_what_was_measured_of_it():
    pair = seen((1, 1), 64)
    assert fit_steps([pair]).model.times((1, 1), 64)[1] == pytest.approx(pair.sync, rel=0.1)


def test_one_step_alone_is_met():
    single = fit_steps([seen((1,), 32)])
    assert single.model.times((1,), 32)[0] == pytest.approx(0.7, rel=0.01)
    assert single.scatter == pytest.approx(TYPICAL, rel=0.1)


def test_no_step_at_all_is_refused():
    with pytest.raises(InputError, match="at least one"):
        fit_steps([])


def test_who_has_seen_no_second_node_says_that_several_are_a_guess():
    near = fit_steps([each for each in STEPS if each.nodes == 1])
    assert near.deviation((2, 2), 32) > 10 * near.deviation((4,), 32)
    assert near.deviation((2, 2), 32) > 5 * fit_steps(STEPS).deviation((2, 2), 32)


def test_bounds_widen_beyond_the_largest_number_that_was_seen():
    fitted = fit_steps(STEPS)
    four, eight, sixty_four = (
        fitted.deviation(each, 32) ** 2 for each in ((1,) * 4, (1,) * 8, (4,) * 16)
    )
    assert eight > four + DRIFT**2 * (1 - 1e-9)
    assert sixty_four > eight + 3 * DRIFT**2 * (1 - 1e-9)


def test_four_of_five_steps_lie_between_their_bounds():
    draw = np.random.default_rng(0)

    def measured_again():
        return [seen(each.placement, each.batch, exp(draw.normal(0.0, 0.05))) for each in STEPS]

    fitted = fit_steps(measured_again())
    within = [
        abs(log(each.step / fitted.model.times(each.placement, each.batch)[0]))
        < 1.2816 * fitted.deviation(each.placement, each.batch)
        for _ in range(10)
        for each in measured_again()
    ]
    assert 0.7 < np.mean(within) < 0.9


def test_a_curve_holds_samples_per_second_and_their_bounds():
    fitted = fit_steps(STEPS)
    curve = fitted.curve("job", [(1,), (4,), (4, 4)], batch=32)
    step = fitted.model.times((4, 4), 32)[0]
    assert curve.counts == (1, 4, 8)
    assert curve.rate(8, nodes=2, kind="", done=0.0) == pytest.approx(8 * 32 / step)
    beyond = exp(1.2816 * fitted.deviation((4, 4), 32))
    assert curve.points[2].low * beyond == pytest.approx(curve.points[2].rate)
    assert curve.points[2].high == pytest.approx(curve.points[2].rate * beyond)
