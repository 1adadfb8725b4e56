"""Failures: laws, Young and Daly against the exact optimum, and a direct simulation."""

from dataclasses import replace
from math import inf
from random import Random

import pytest
from benchmarks.job_time import Training, goodputs
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.step.interruptions import (
    Interruption,
    daly,
    expected_seconds,
    optimal,
    stretch,
    young,
)

HOUR = 3600.0
PAUSES = st.floats(0.1, 600.0)
RATES = st.floats(1e-7, 1e-4)
BETWEEN = st.builds(
    Interruption,
    rate=RATES,
    pause=PAUSES,
    lag=st.floats(0.0, 100.0),
    restart=st.floats(0.0, 3600.0),
)
WORK = st.floats(100.0, 1e5)


def goodput(work, between):
    return work / expected_seconds(work, between)


@given(work=WORK, between=BETWEEN)
def test_goodput_is_a_share(work, between):
    assert 0.0 < goodput(work, between) <= 1.0


@given(work=WORK, between=BETWEEN)
def test_parts_of_a_stretch_add_up_to_its_expected_time(work, between):
    found = stretch(work, between)
    assert found.total == pytest.approx(expected_seconds(work, between), rel=1e-9)
    assert min(found.lost, found.restarts, found.failures) >= 0.0


@given(work=WORK, between=BETWEEN)
def test_without_failures_only_checkpoints_take_time(work, between):
    calm = replace(between, rate=0.0)
    found = stretch(work, calm)
    assert found.total == work + between.pause
    assert found.lost == found.restarts == found.failures == 0.0


@given(work=WORK, between=BETWEEN, name=st.sampled_from(["rate", "pause", "lag", "restart"]))
def test_less_of_a_nuisance_never_hurts(work, between, name):
    better = replace(between, **{name: getattr(between, name) / 2})
    assert expected_seconds(work, better) <= expected_seconds(work, between) * (1 + 1e-12)


@given(work=WORK, between=BETWEEN, factor=st.floats(0.1, 10.0))
def test_a_machine_that_is_quicker_by_a_factor_is_done_sooner_by_it(work, between, factor):
    quick = Interruption(
        rate=between.rate * factor,
        pause=between.pause / factor,
        lag=between.lag / factor,
        restart=between.restart / factor,
    )
    expected = expected_seconds(work, between) / factor
    assert expected_seconds(work / factor, quick) == pytest.approx(expected, rel=1e-9)
    assert optimal(quick) == pytest.approx(optimal(between) / factor, rel=1e-9)


@few(50)
@given(pause=PAUSES, rate=RATES)
def test_dalys_interval_is_within_a_percent_of_the_least_expected_time(pause, rate):
    between = Interruption(rate=rate, pause=pause, lag=0.0, restart=600.0)
    chosen = daly(pause, rate=rate)
    grid = [chosen * 2.0 ** (place / 32) for place in range(-96, 97)]
    least = max(goodput(work, between) for work in grid)
    assert goodput(chosen, between) >= least * 0.99


@given(pause=st.floats(0.1, 30.0), rate=st.floats(1e-7, 1e-6))
def test_youngs_interval_is_dalys_where_checkpoints_are_short(pause, rate):
    assert young(pause, rate=rate) == pytest.approx(daly(pause, rate=rate), rel=0.01)


def test_interval_worked_by_hand():
    """A failure a day and a checkpoint of 300 s: sqrt(2 x 300 x 86400) = 7200 s."""
    assert young(300.0, rate=1 / 86400) == pytest.approx(7200.0)
    assert daly(300.0, rate=1 / 86400) == pytest.approx(7200 * (1 + 1 / 72 + 1 / 5184) - 300)


def test_checkpoints_longer_than_life_are_a_life_apart():
    assert daly(100.0, rate=0.1) == 10.0


def test_checkpoints_are_never_closer_than_storing_one_takes():
    between = Interruption(rate=1e-5, pause=1.0, lag=900.0, restart=600.0)
    assert optimal(between) == 899.0


def test_what_never_fails_needs_no_checkpoint():
    assert optimal(Interruption(rate=0.0, pause=1.0, lag=0.0, restart=0.0)) == inf


def test_training_that_fails_all_the_time_never_ends():
    between = Interruption(rate=1.0, pause=1.0, lag=0.0, restart=600.0)
    assert expected_seconds(HOUR, between) == inf
    assert stretch(HOUR, between).lost == inf


@pytest.mark.parametrize("lag", [0.0, 300.0])
def test_goodput_is_that_of_a_simulation_within_a_percent(lag):
    between = Interruption(rate=1 / 4000, pause=60.0, lag=lag, restart=500.0)
    formula, played = goodputs(between, 700.0, stretches=20_000)
    assert formula == pytest.approx(played, rel=0.01)


def test_failures_are_as_many_as_a_simulation_has():
    between = Interruption(rate=1 / 4000, pause=60.0, lag=0.0, restart=500.0)
    one = stretch(700.0, between)
    training = Training(Random(11), 700.0, between)
    training.play(10_000 * one.total)
    assert 10_000 * one.failures == pytest.approx(training.failures, rel=0.05)
