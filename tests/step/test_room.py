"""Room: what a plan may fill of a device, for each reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small import gpt_study, loose

from foretrain.plan.study import Limit
from foretrain.step.memory import (
    MEMORY,
    MEMORY_LIMIT,
    RISK,
    holding,
    probability,
    room,
    rooms,
    safe,
)
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT

STUDY = gpt_study()
PLACE = setting(STUDY.workload, STUDY.cluster, DEFAULT)
DEVICE = STUDY.cluster.device.memory
ERRORS = DEFAULT.memory_errors


def test_without_a_limit_a_plan_may_fill_a_device():
    assert rooms(PLACE, loose()) == {MEMORY: DEVICE}


def test_limit_on_memory_counts_only_below_that_of_the_device():
    assert rooms(PLACE, loose(memory=1e15)) == {MEMORY: DEVICE}
    assert rooms(PLACE, loose(memory=1e9)) == {MEMORY: DEVICE, MEMORY_LIMIT: 1e9}


def test_reasons_come_roomiest_first_and_those_that_refuse_nothing_are_left_out():
    safe_room = safe(PLACE, 0.95)
    above, below = 0.5 * (safe_room + DEVICE), 0.5 * safe_room
    assert [*rooms(PLACE, Limit(memory=above))] == [MEMORY, MEMORY_LIMIT, RISK]
    assert [*rooms(PLACE, Limit(memory=below))] == [MEMORY, RISK, MEMORY_LIMIT]
    assert [*rooms(PLACE, loose(memory=below))] == [MEMORY, MEMORY_LIMIT]
    assert room(PLACE, Limit(memory=below)) == below


@pytest.mark.parametrize("fits", [0.6, 0.9, 0.95, 0.999])
def test_plan_that_fills_the_safe_room_fits_with_the_probability_that_was_asked_for(fits):
    told = safe(PLACE, fits)
    assert told < DEVICE
    assert probability(told, DEVICE, ERRORS) == pytest.approx(fits)


def test_safe_room_is_no_more_than_the_device_however_little_is_asked_for():
    assert safe(PLACE, 1e-9) == safe(PLACE, 0.0) == DEVICE


@given(fits=st.floats(0.001, 0.999), spread=st.floats(1.0, 3.0))
def test_bytes_that_hold_are_the_inverse_of_the_probability(fits, spread):
    told = holding(80e9, fits, ERRORS, spread=spread)
    assert probability(told, 80e9, ERRORS, spread=spread) == pytest.approx(fits, rel=1e-6)


@given(fits=st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99)))
def test_more_safety_never_leaves_more_room(fits):
    less, more = sorted(fits)
    assert safe(PLACE, more) <= safe(PLACE, less)
