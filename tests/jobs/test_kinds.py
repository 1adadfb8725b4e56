"""What a division of time sees: rates by kind, and levels to which devices are poured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.policies.divided import job
from tests.jobs.runs import job as rigid_job

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.errors import InputError
from foretrain.jobs.active import Active, CountedPool
from foretrain.jobs.rounds import only_kind, rates, steps_left, water_level
from foretrain.jobs.shared import ClusterState
from foretrain.throughput import (
    JobPhase,
    Phased,
    PowerLaw,
)

FLEET = Fleet(nodes=(Nodes(count=4, devices=1, kind="k80"), Nodes(count=1, devices=8, kind="v100")))
NOW = ClusterState(0.0, (), FLEET)


def test_rates_are_those_of_each_kind():
    assert rates(Active(job(0, {"k80": 1.0, "v100": 3.0}), 0), NOW) == {"k80": 1.0, "v100": 3.0}


def test_a_kind_with_fewer_devices_than_a_job_asks_for_is_left_out():
    wide = Active(job(0, {"k80": 1.0, "v100": 3.0}, devices=8), 0)
    assert rates(wide, NOW) == {"v100": 3.0}


def test_steps_become_fewer_where_a_step_counts_more():
    one = PowerLaw(exponent=1.0, most=1)
    phased = Phased((JobPhase(begins=0.0, curve=one), JobPhase(begins=4.0, curve=one, scale=2.0)))
    active = Active(rigid_job(0, work=10.0, curve=phased), 0)
    assert steps_left(active) == 10.0
    active.done = 4.0
    assert steps_left(active) == 3.0


def test_a_fleet_of_several_kinds_is_named_to_who_divides_one():
    with pytest.raises(InputError, match="the fleet has k80, v100"):
        only_kind(FLEET, "max-sum")


@given(
    most=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    devices=st.integers(1, 40),
)
def test_water_fills_all_that_can_be_filled(most, devices):
    level = water_level(most, devices=devices)
    assert sum(min(level, each) for each in most) == pytest.approx(min(devices, sum(most)))


def active(*devices):
    return [Active(rigid_job(place, devices=each), place) for place, each in enumerate(devices)]


def test_of_a_kind_that_is_not_there_nothing_is_free_and_nothing_fits():
    pool = CountedPool(FLEET)
    assert pool.free(("h100",)) == 0
    assert pool.free(("h100", "k80")) == 4
    assert pool.free(()) == 12
    assert not pool.has(1, ("h100",))
    assert pool.take(1, ("h100",)) is None
    held = pool.take(1, ("h100", "v100"))
    assert (held.kind, pool.free(()), pool.free(("v100",))) == ("v100", 11, 7)
    assert not pool.has(8, ("v100",))
    would = pool.copy()
    would.give(held)
    assert would.has(8, ("v100",))
    assert not would.has(9, ("v100",))
    pool.give(held)
    pool.remove(held)
    assert pool.free(()) == 11
    pool.give(held)
    assert pool.free(()) == 12
