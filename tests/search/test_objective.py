"""What counts: the value of a plan, and the limits that it keeps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small import cluster, gpt_study

from foretrain.plan.study import Limit, Objective
from foretrain.search.candidate import over_limits, value
from foretrain.step.estimate import over_job_limits

PLACE = cluster(nodes=4, node_devices=8)
columns = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5).map(np.array)


def worth(objective, seconds, *, devices=16.0):
    return value(
        objective,
        PLACE,
        devices=np.full(len(seconds), devices),
        step_time=seconds,
        memory=1e9 / seconds,
        computing=seconds,
    )


@given(columns)
def test_time_and_memory_are_worth_themselves(seconds):
    np.testing.assert_array_equal(worth(Objective.TIME, seconds), seconds)
    np.testing.assert_array_equal(worth(Objective.MEMORY, seconds), 1e9 / seconds)


@pytest.mark.parametrize("objective", [Objective.COST, Objective.ENERGY])
@given(seconds=columns, more=st.integers(2, 9))
def test_cost_and_energy_grow_with_seconds_and_devices(objective, seconds, more):
    one = worth(objective, seconds)
    np.testing.assert_allclose(worth(objective, more * seconds), more * one)
    np.testing.assert_allclose(worth(objective, seconds, devices=16.0 * more), more * one)


def test_sixteen_devices_cost_forty_dollars_an_hour_and_draw_two_nodes():
    hour = np.array([3600.0])
    assert worth(Objective.COST, hour) == pytest.approx(40.0)
    assert worth(Objective.ENERGY, hour) == pytest.approx(2 * 10_200 * 3600)


def broken(limit, seconds, **changes):
    study = gpt_study(limit=limit)
    study = replace(study, workload=replace(study.workload, **changes))
    return over_limits(study, PLACE, devices=np.full(len(seconds), 16.0), seconds=seconds)


def test_limits_are_held_against_all_steps_of_the_training():
    seconds = np.array([1.0, 2.0, 3.0])
    steps = 1_000_000 / 16
    found = broken(Limit(deadline=2 * steps, cost=16 * 2.5 / 3600 * 2.5 * steps), seconds)
    assert found["deadline"].tolist() == [False, False, True]
    assert found["cost limit"].tolist() == [False, False, True]


def test_training_of_unknown_length_breaks_no_limit():
    assert broken(Limit(deadline=1.0), np.array([1e9]), samples=None) == {}


def test_limits_that_nobody_set_are_not_broken():
    assert broken(Limit(), np.array([1e9])) == {}


def test_job_of_unknown_length_breaks_no_limit():
    limit = Limit(deadline=1.0, cost=1.0)
    over = over_job_limits(limit, PLACE, devices=np.array([16.0]), seconds=np.array([np.nan]))
    assert not any(flags.any() for flags in over.values())


@given(seconds=columns, deadline=st.floats(1e-3, 1e9))
def test_longer_deadlines_break_no_more_plans(seconds, deadline):
    short, long = (broken(Limit(deadline=each), seconds) for each in (deadline, 2 * deadline))
    assert not (long["deadline"] & ~short["deadline"]).any()
