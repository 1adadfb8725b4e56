"""The host: a pass takes at least what it takes to start its kernels."""

import pytest
from tests.step.prices import seconds

from foretrain.plan.plan import Plan, Recompute
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.trainers.software import Software
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload

SMALL = build("gpt-2", sequence=1024)

ALIKE = {"host.exchange": 0.0, "host.checkpoint": 0.0}
"""Nothing but operators and their kernels."""


def step(plan, *, launch, batch=1):
    workload = Workload(model=SMALL, global_batch=batch)
    coefficients = DEFAULT.changed(ALIKE | {"host.launch": launch, "host.kernel": launch})
    return seconds(setting(workload, cluster("dgx-a100", nodes=1), coefficients), plan)[0]


PLANS = [Plan(), Plan(recompute=Recompute.FULL), Plan(recompute=Recompute.SELECTIVE)]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_host_that_is_quick_enough_costs_nothing(plan):
    assert step(plan, launch=1e-9) == pytest.approx(step(plan, launch=0.0), rel=1e-8)


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_slow_host_alone_decides_and_twice_as_slow_a_one_takes_twice_as_long(plan):
    one, two = step(plan, launch=1.0), step(plan, launch=2.0)
    assert two / one == pytest.approx(2.0, rel=1e-3)


def test_larger_micro_batch_needs_no_more_launches():
    few = step(Plan(micro_batch=1), launch=1.0, batch=8)
    many = step(Plan(micro_batch=8), launch=1.0, batch=8)
    assert few / many == pytest.approx(8.0, rel=1e-3)


def test_full_recomputation_starts_the_forward_pass_again():
    plain, again = (step(plan, launch=1.0) for plan in PLANS[:2])
    assert 1.2 < again / plain < 1.5


SPARSE = Workload(model=build("qwen3-30b-a3b", sequence=1024), global_batch=8)


def sparse_step(plan, *, grouped):
    coefficients = DEFAULT.changed({"host.launch": 0.0, "host.kernel": 1.0, "host.spread": 0.0})
    software = Software(grouped=grouped)
    on = setting(SPARSE, cluster("dgx-h100", nodes=1), coefficients, software=software)
    return seconds(on, plan)[0]


def test_kernels_of_each_expert_are_started_where_the_expert_is():
    many, some, few = (
        sparse_step(Plan(data=8, expert=expert), grouped=False) for expert in (1, 2, 8)
    )
    # What every device starts besides is the same, so halves halve the rest.
    assert (many - some) / (some - few) == pytest.approx((1 - 1 / 2) / (1 / 2 - 1 / 8), rel=1e-3)


def test_one_kernel_for_all_experts_is_started_once_wherever_they_are():
    one, eight = (sparse_step(Plan(data=8, expert=expert), grouped=True) for expert in (1, 8))
    assert one == pytest.approx(eight, rel=3e-3)
    assert one < sparse_step(Plan(data=8, expert=8), grouped=False)
