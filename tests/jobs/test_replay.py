"""Replay: what was hidden is found, and what cannot be told is said."""

import numpy as np
import pytest

from foretrain.cluster.fleet import fleet
from foretrain.errors import InputError
from foretrain.jobs.generator import generate
from foretrain.jobs.mix import Length, Mix, Size
from foretrain.jobs.replay import replay
from foretrain.jobs.run import run
from foretrain.measured.log import Log

MIX = Mix(
    sizes=(Size(devices=1, share=2.0), Size(devices=4, share=1.0)),
    length=Length(median=600.0, spread=1.0, tail=0.1, begins=3_600.0, index=2.0, longest=9_000.0),
)


def logged(policy, devices, count=200):
    trace = generate(MIX, np.random.default_rng(1), count=count, load=1.0, devices=devices)
    begun = run(trace, fleet(devices), policy).begun
    return Log(
        trace=trace,
        begun={job.name: start for job, start in zip(trace.jobs, begun, strict=True)},
    )


@pytest.mark.parametrize(("policy", "devices"), [("fifo", 12), ("sjf", 24)])
def test_policy_and_size_are_found(policy, devices):
    best, *others = replay(logged(policy, devices), policies=("fifo", "sjf"), per_node=4)
    assert (best.policy, best.devices, best.gap, best.error) == (policy, devices, 0.0, 0.0)
    assert all(other.gap > 0.0 for other in others)


def test_what_the_user_says_is_not_looked_for():
    (only,) = replay(logged("fifo", 12), policies=("fifo",), devices=16)
    assert only.devices == 16
    assert only.simulated < only.logged


def test_a_log_without_waiting_fits_everything():
    log = logged("fifo", 12)
    idle = Log(trace=log.trace, begun={job.name: job.arrival for job in log.trace.jobs})
    with pytest.raises(InputError, match="every large cluster fits"):
        replay(idle)


def test_a_log_without_begins_cannot_be_replayed():
    with pytest.raises(InputError, match="does not tell when job"):
        replay(Log(trace=logged("fifo", 12).trace))
