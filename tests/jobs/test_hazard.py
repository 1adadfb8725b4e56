"""Hazards: by hand, and learned from jobs whose fate is known."""

import numpy as np
import pytest
from tests.jobs.runs import job, trace

from foretrain.errors import InputError
from foretrain.jobs.generator import generate
from foretrain.jobs.mix import ENOUGH, KNOTS, PHILLY, Hazard, Survival, kaplan_meier, learned
from foretrain.measured.job import End


def test_who_is_censored_leaves_those_at_risk():
    reached = np.array([1.0, 2.0, 2.0, 3.0])
    ended = np.array([True, False, True, True])
    survival = kaplan_meier(reached, ended)
    assert survival.at == (1.0, 2.0)
    assert survival.left == pytest.approx((3 / 4, 3 / 4 * 2 / 3))


def test_without_ends_everybody_survives():
    assert kaplan_meier(np.array([1.0, 2.0]), np.array([False, False])) == Survival()


def test_without_hazard_the_cost_is_the_work_that_is_left():
    prospect = Hazard(failing=Survival()).prospect(100.0)
    assert prospect.success == 1.0
    assert [prospect.cost(done) for done in (0.0, 40.0, 100.0)] == [100.0, 60.0, 0.0]


def test_cost_is_expected_work_over_the_chance_of_success():
    hazard = Hazard(failing=Survival((10.0,), (0.5,)), leaving=(Survival((0.5,), (0.8,)),))
    prospect = hazard.prospect(100.0)
    assert prospect.success == pytest.approx(0.4)
    assert prospect.cost(0.0) == pytest.approx((10 + 0.5 * 40 + 0.4 * 50) / 0.4)
    assert prospect.cost(10.0) == pytest.approx((40 + 0.8 * 50) / 0.8)
    assert prospect.cost(75.0) == pytest.approx(25.0)


def test_what_is_learned_is_what_the_jobs_were_drawn_of():
    random = np.random.default_rng(5)
    past = generate(PHILLY, random, count=20_000, load=0.8, devices=64)
    hazard = learned(past)(1)
    failing = PHILLY.failing
    for seconds in (100.0, 1_000.0, 10_000.0):
        true = (1.0 + seconds / failing.scale) ** -failing.shape
        assert hazard.failing.beyond(seconds) == pytest.approx(true, abs=0.02)
    killing = PHILLY.killing
    for length in (300.0, 100_000.0):
        killed = 1.0 / (1.0 + (killing.half / length) ** killing.steepness)
        leaving = hazard.leaving[np.searchsorted(hazard.bounds, length)]
        assert leaving.beyond(1.0) == pytest.approx(1.0 - killed, abs=0.06)


def test_a_curve_of_survival_falls():
    with pytest.raises(InputError, match="left fall from 1"):
        Survival((1.0, 2.0), (0.5, 0.6))


@pytest.mark.parametrize("steps", [KNOTS - 1, KNOTS, KNOTS + 1, 3 * KNOTS])
def test_of_many_steps_the_first_and_the_last_are_kept_and_some_between(steps):
    reached = np.arange(1.0, steps + 2)  # the last job goes on
    survival = kaplan_meier(reached, reached <= steps)
    assert len(survival.at) == min(steps, KNOTS)
    assert (survival.at[0], survival.at[-1]) == (1.0, float(steps))
    assert survival.left == pytest.approx([1 - at / (steps + 1) for at in survival.at])


def test_a_number_of_devices_that_many_asked_for_is_learned_by_itself():
    """All on one device fail at half of their work; those on two never do."""
    past = trace(
        job(place, work=100.0 if devices == 2 else 50.0, devices=devices,
            end=End.FINISHED if devices == 2 else End.FAILED)
        for place, devices in enumerate([1] * (ENOUGH - 1) + [2] * ENOUGH)
    )  # fmt: skip
    hazards = learned(past)
    everybody = hazards(7).failing.beyond(60.0)
    assert hazards(2).failing.beyond(60.0) == 1.0
    assert hazards(1).failing.beyond(60.0) == everybody
    assert everybody == pytest.approx(ENOUGH / (2 * ENOUGH - 1))
