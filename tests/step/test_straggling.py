"""Replicas wait for the slowest of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.step.schedule import doublings, straggling
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import PRIORS
from foretrain.trainers.software import SHARED, Software
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload

KNOWN = PRIORS.coefficients
TEXT, PICTURES = build("gpt-2", sequence=64), build("resnet-18", image=64)


def slowest(model, *plans, software=SHARED):
    workload = Workload(model=model, global_batch=64)
    priced = setting(workload, cluster("dgx-a100", 1), KNOWN, software=software)
    return straggling(priced, table_of(plans))


@pytest.mark.parametrize(
    ("model", "spread"),
    [(TEXT, KNOWN.step.spread), (PICTURES, KNOWN.picture_steps.straggling)],
    ids=["text", "pictures"],
)
def test_more_replicas_wait_longer_for_the_slowest(model, spread):
    found = slowest(model, *(Plan(data=data, micro_batch=64 // data) for data in (1, 2, 4, 8)))
    assert found[0] == 1.0
    assert (np.diff(found) > 0).all()
    assert found[-1] == pytest.approx(1.0 + spread * np.sqrt(2.0 * np.log(8.0)))


def test_programs_compiled_whole_differ_as_devices_do():
    plan = Plan(data=8, micro_batch=8)
    assert slowest(PICTURES, plan, software=Software(whole=True)) == slowest(TEXT, plan)


def test_one_replica_of_many_devices_waits_for_nobody():
    assert slowest(TEXT, Plan(tensor=4, pipeline=2)) == 1.0


def test_largest_of_a_thousand_lies_as_far_out_as_sampling_says():
    deviations = np.random.default_rng(1).standard_normal((2000, 1024)).max(axis=1).mean()
    bound = np.sqrt(2.0 * np.log(2.0) * doublings(np.array([1024.0]))[0])
    assert deviations < bound < 1.2 * deviations


@given(st.integers(1, 10_000_000))
def test_doublings_are_exact(replicas):
    assert doublings(np.array([float(replicas)]))[0] == replicas.bit_length() - 1
