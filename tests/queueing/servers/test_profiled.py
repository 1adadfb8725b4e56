"""From a profile to many workers: phases with and without overlap, and operations."""

import pytest

from foretrain.measured.scale_study import Profile, RecordedOperation, RecordedStep, StepResource
from foretrain.plan.servers import ASYNCHRONOUS, Servers
from foretrain.queueing.servers.profiled import coarse_training
from foretrain.queueing.servers.simulate import simulate

LINK = 2.0


def recorded(number, forward):
    """A pull of 1.5 B beside an operation that needs nothing; then a pass, a push, an update."""
    return RecordedStep(
        number=number,
        operations=(
            RecordedOperation(
                name="pull", resource=StepResource.DOWNLINK, start=0.0, end=1.0, size=1.5
            ),
            RecordedOperation(name="read", resource=StepResource.COMPUTE, start=0.0, end=0.75),
            RecordedOperation(
                name="pass", resource=StepResource.COMPUTE, start=1.0, end=1.0 + forward,
                after=("pull", "read"),
            ),
            RecordedOperation(
                name="push", resource=StepResource.UPLINK, start=1.0 + forward, end=2.0 + forward,
                size=1.5, after=("pass",),
            ),
            RecordedOperation(
                name="update", resource=StepResource.SERVER, start=2.0 + forward,
                end=2.5 + forward, after=("push",),
            ),
        ),
    )  # fmt: skip


PROFILE = Profile(
    name="by hand",
    nodes=2,
    samples=3.0,
    link=LINK,
    latency=0.25,
    steps=(recorded(0, 2.0), recorded(1, 4.0)),
)
SERVERS = Servers(link=LINK, latency=0.25)
RECORDED = 1.0 + 3.0 + 1.0 + 0.5
"""Seconds of a recorded step on average."""


def coarse(overlap):
    return coarse_training(PROFILE, SERVERS, link=LINK, updates=ASYNCHRONOUS, overlap=overlap)


def test_phases_are_what_operations_add_up_to():
    training = coarse(overlap=False)
    assert training.worker.compute.mean == 0.75 + 3.0
    assert (training.worker.pulled, training.worker.pushed) == (1.5, 1.5)
    assert training.servers.update == 0.5
    assert training.worker.samples == 3.0


def test_with_the_rule_one_worker_takes_as_long_as_in_the_profile():
    training = coarse(overlap=True)
    assert training.worker.compute.mean == pytest.approx(3.0)
    found = simulate(training, 1, steps=4_000, seed=1)
    assert found.step == pytest.approx(RECORDED, rel=0.02)


def test_operations_of_one_worker_take_as_long_as_in_the_profile():
    found = simulate(coarse(overlap=False), 1, steps=4_000, seed=1, recorded=PROFILE.steps)
    assert found.step == pytest.approx(RECORDED, rel=0.02)


def test_without_overlap_one_worker_takes_what_overlapped_longer():
    found = simulate(coarse(overlap=False), 1, steps=4_000, seed=1)
    assert found.step == pytest.approx(RECORDED + 0.75, rel=0.02)


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_what_overlaps_is_never_slower(workers):
    fine = simulate(coarse(overlap=False), workers, steps=500, seed=1, recorded=PROFILE.steps)
    apart = simulate(coarse(overlap=False), workers, steps=500, seed=1)
    assert fine.throughput >= apart.throughput * 0.99


def test_each_simulated_step_is_one_of_those_recorded():
    found = simulate(coarse(overlap=False), 1, steps=400, seed=1, recorded=PROFILE.steps[:1])
    assert found.step == pytest.approx(1.0 + 2.0 + 1.0 + 0.5)
    assert found.step_variance == pytest.approx(0.0, abs=1e-12)
    both = simulate(coarse(overlap=False), 1, steps=4_000, seed=1, recorded=PROFILE.steps)
    assert both.step_variance == pytest.approx(1.0, rel=0.05)


def test_of_two_computations_the_one_that_stands_first_begins():
    operations = (
        RecordedOperation(name="first", resource=StepResource.COMPUTE, start=0.0, end=1.0),
        RecordedOperation(name="second", resource=StepResource.COMPUTE, start=0.0, end=1.0),
        RecordedOperation(
            name="push", resource=StepResource.UPLINK, start=0.0, end=0.0, size=10.0,
            after=("first",),
        ),
    )  # fmt: skip
    step = RecordedStep(number=0, operations=operations)
    found = simulate(coarse(overlap=False), 1, steps=40, seed=0, recorded=[step])
    assert found.step == pytest.approx(1.0 + 0.25 + 10.0 / LINK)
