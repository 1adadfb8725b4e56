"""Replay: what was hidden is found, and what cannot be told is said."""

from dataclasses import replace
from math import inf
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import rigid_trace
from validation.rules.sites import requests, site, starts
from validation.rules.sites import trace as trace_of

from foretrain.cluster.mixed import Fleet, Nodes, fleet
from foretrain.errors import InputError
from foretrain.jobs.generator import generate
from foretrain.jobs.mix import JobSize, Length, Mix
from foretrain.jobs.replay import replay, wrong_decisions
from foretrain.jobs.run import run
from foretrain.measured.job import Log, Trace

MIX = Mix(
    sizes=(JobSize(devices=1, share=2.0), JobSize(devices=4, share=1.0)),
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
    (only,) = replay(logged("fifo", 12), policies=("fifo",), shared=fleet(16))
    assert only.devices == 16
    assert only.simulated < only.logged


def idle(log, *, first):
    """A log with a half, the first or the second, in which jobs are few and none waits."""
    last = log.trace.jobs[-1].arrival
    begin = 0.0 if first else 3 * last
    quiet = [
        replace(job, name=f"quiet-{job.name}", arrival=begin + 20_000.0 * place)
        for place, job in enumerate(log.trace.jobs)
    ]
    shift = quiet[-1].arrival + 20_000.0 if first else 0.0
    crowd = [replace(job, arrival=job.arrival + shift) for job in log.trace.jobs]
    begun = {name: at + shift for name, at in log.begun.items()}
    return Log(
        trace=Trace(name="half idle", jobs=(*quiet, *crowd)),
        begun=begun | {job.name: job.arrival for job in quiet},
    )


@pytest.mark.parametrize("first", [True, False])
def test_a_log_that_is_idle_for_half_of_the_time_tells_as_much(first):
    best, *others = replay(
        idle(logged("fifo", 12), first=first), policies=("fifo", "sjf"), per_node=4
    )
    assert (best.policy, best.devices) == ("fifo", 12)
    assert max(best.gap, best.error) < 1e-9
    assert best.logged > 0
    assert all(other.gap > 0.01 for other in others)


@pytest.mark.parametrize("first", [True, False])
def test_another_size_waits_otherwise_than_a_log_that_is_half_idle(first):
    log = idle(logged("fifo", 12), first=first)
    (only,) = replay(log, policies=("fifo",), shared=fleet(16))
    assert only.error > 0.1


def quiet():
    log = logged("fifo", 12)
    return Log(trace=log.trace, begun={job.name: job.arrival for job in log.trace.jobs})


def test_a_log_without_waiting_fits_every_large_cluster():
    with pytest.raises(InputError, match="every large cluster fits"):
        replay(quiet())


def test_a_log_without_waiting_is_held_against_the_cluster_that_is_told():
    (large,) = replay(quiet(), policies=("fifo",), shared=fleet(10_000))
    assert (large.gap, large.error) == (0.0, 0.0)
    (small,) = replay(quiet(), policies=("fifo",), shared=fleet(12))
    assert (small.gap, small.error) == (inf, inf)


@pytest.mark.parametrize("waited", [(0.0, 9.0), (9.0, 0.0), (9.0, 9.0)])
def test_two_jobs_are_enough_whoever_waited(waited):
    jobs = rigid_trace((0, 5, 1), (1, 5, 1))
    begun = {job.name: job.arrival + wait for job, wait in zip(jobs.jobs, waited, strict=True)}
    (found,) = replay(Log(trace=jobs, begun=begun), policies=("fifo",), shared=fleet(1))
    assert found.gap >= 0.0


def test_a_job_of_which_the_begin_is_not_known_is_simulated_and_does_not_judge():
    log = logged("fifo", 12)
    known = {name: begun for name, begun in log.begun.items() if not name.endswith("7")}
    best, *_ = replay(Log(trace=log.trace, begun=known), policies=("fifo", "sjf"), per_node=4)
    assert (best.policy, best.devices, best.gap, best.error) == ("fifo", 12, 0.0, 0.0)


def test_kinds_of_devices_are_those_of_the_cluster_that_is_told():
    log = logged("fifo", 12)
    jobs = tuple(replace(job, kinds=("v100",)) for job in log.trace.jobs)
    both = Fleet(
        nodes=(Nodes(count=12, devices=1, kind="v100"), Nodes(count=5, devices=1, kind="t4"))
    )
    of_kind = replace(log, trace=replace(log.trace, jobs=jobs))
    (found,) = replay(of_kind, policies=("fifo",), shared=both)
    assert (found.gap, found.error, found.devices) == (0.0, 0.0, 17)
    (searched,) = replay(of_kind, policies=("fifo",), per_node=4)
    assert (searched.gap, searched.devices) == (0.0, 12)


def test_a_log_without_begins_cannot_be_replayed():
    with pytest.raises(InputError, match="does not tell when jobs began"):
        replay(Log(trace=logged("fifo", 12).trace))


def hidden(seed, count=60):
    """A site that nobody knows, and its log."""
    random = Random(seed)
    drawn = site(random)
    jobs = requests(random, drawn, count)
    made = trace_of(drawn, jobs)
    begun = dict(zip((job.name for job in made.jobs), starts(drawn, jobs), strict=True))
    return drawn, Log(trace=made, begun=begun)


@few(10)
@given(st.integers(0, 10**6))
def test_rules_that_made_a_log_decide_as_it_did(seed):
    drawn, log = hidden(seed)
    found = wrong_decisions(log, drawn.fleet, drawn.rules, most=inf)
    assert found is not None
    assert not found.total


def test_rules_that_did_not_are_early_or_miss_a_start():
    count = 0
    for seed in range(12):
        drawn, log = hidden(seed)
        one = replace(drawn.rules.priority, age=0.0, fairshare=0.0, qos=0.0, size=1_000.0)
        other = replace(drawn.rules, priority=replace(one, small_first=not one.small_first))
        found = wrong_decisions(log, drawn.fleet, other, most=inf)
        assert found is not None
        count += found.total > 0
        if found.total:
            assert wrong_decisions(log, drawn.fleet, other, most=found.total - 1) is None
            assert wrong_decisions(log, drawn.fleet, other, most=found.total) == found
    assert count > 6


def test_a_job_that_no_node_can_hold_is_told():
    drawn, log = hidden(3)
    small = Fleet(nodes=(Nodes(count=1, devices=1),))
    with pytest.raises(InputError, match="ask for more devices"):
        wrong_decisions(log, small, drawn.rules, most=inf)
