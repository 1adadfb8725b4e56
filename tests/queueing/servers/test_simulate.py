"""Training with many workers: laws, limits, and other people's formulas."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.distributions import Constant, Exponential, Samples, Weibull
from foretrain.errors import InputError
from foretrain.plan.servers import (
    ASYNCHRONOUS,
    SYNCHRONOUS,
    Aggregation,
    LinkPolicy,
    Servers,
    Training,
    Updates,
    Worker,
)
from foretrain.queueing.servers.simulate import simulate
from foretrain.queueing.servers.tally import Recording
from foretrain.statistics import harmonic

seconds = st.floats(0.01, 10.0)
counts = st.integers(1, 6)


def with_server(
    compute, *, updates=ASYNCHRONOUS, pulled=0.05, pushed=0.05, link=9.0, samples=1.0, **servers
):
    worker = Worker(compute=compute, samples=samples, pulled=pulled, pushed=pushed, link=link)
    return Training(worker=worker, servers=Servers(**{"link": 1.0, **servers}), updates=updates)


def rate(training, workers, *, steps=40, seed=0, **settings):
    return simulate(training, workers, steps=steps, seed=seed, **settings).throughput


@given(
    compute=seconds, pulled=seconds, pushed=seconds, update=seconds, latency=seconds, count=counts
)
def test_one_worker_takes_the_sum_of_the_parts(compute, pulled, pushed, update, latency, count):
    training = with_server(
        Constant(compute), pulled=pulled, pushed=pushed, update=update, latency=latency, count=count
    )
    found = simulate(training, 1, steps=40, seed=0)
    bytes_per_second = min(9.0, count * 1.0)
    parts = found.phases
    assert parts.pull == pytest.approx(latency + pulled / bytes_per_second)
    assert parts.compute == pytest.approx(compute)
    assert parts.push == pytest.approx(latency + pushed / bytes_per_second)
    assert parts.update == pytest.approx(update / count)
    assert parts.wait == 0.0
    assert found.throughput == pytest.approx(1.0 / parts.total)
    assert found.step == pytest.approx(parts.total)


@given(
    workers=counts,
    factor=st.sampled_from([0.25, 4.0, 1024.0]),
    updates=st.sampled_from([ASYNCHRONOUS, SYNCHRONOUS, Updates(stale=2)]),
    policy=st.sampled_from(LinkPolicy),
)
@settings(max_examples=20)
def test_all_rates_times_a_factor_multiply_throughput_by_it(workers, factor, updates, policy):
    slow = with_server(
        Weibull(mean=0.2, shape=0.9), updates=updates, latency=0.01, update=0.02, count=2
    )
    quick = with_server(
        Weibull(mean=0.2 / factor, shape=0.9), updates=updates, link=9.0 * factor,
        latency=0.01 / factor, update=0.02 / factor, count=2,
    )  # fmt: skip
    quick = replace(quick, servers=replace(quick.servers, link=factor))
    # Factors are powers of two, so that ties stay ties.
    expected = factor * rate(slow, workers, policy=policy)
    assert rate(quick, workers, policy=policy) == pytest.approx(expected, rel=1e-12)


@given(workers=counts, compute=seconds, pulled=seconds, pushed=seconds, update=seconds)
@settings(max_examples=30)
def test_twice_the_bandwidth_never_hurts(workers, compute, pulled, pushed, update):
    slow = with_server(Constant(compute), pulled=pulled, pushed=pushed, update=update)
    quick = replace(slow, servers=replace(slow.servers, link=2.0))
    # A window that begins and ends within a step may count one step less of each worker.
    assert rate(quick, workers, steps=100) >= rate(slow, workers, steps=100) * (1.0 - 1e-2)


@given(workers=st.integers(1, 30), count=st.integers(1, 4))
@settings(max_examples=20)
def test_with_a_barrier_and_equal_times_all_pull_compute_push_and_wait_for_cores(workers, count):
    training = with_server(
        Constant(0.3), updates=SYNCHRONOUS, update=0.04, latency=0.01, count=count, cores=2
    )
    parts = simulate(training, workers, steps=40, seed=0).phases
    bytes_per_second = min(9.0, count * 1.0 / workers)
    turns = -(-workers // 2)
    step = 0.01 * 2 + 2 * 0.05 / bytes_per_second + 0.3 + turns * 0.04 / count
    assert parts.total == pytest.approx(step)
    assert rate(training, workers) == pytest.approx(workers / step)


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_a_barrier_waits_for_the_slowest(workers):
    training = with_server(Exponential(mean=1.0), updates=SYNCHRONOUS, pulled=0.0, pushed=0.0)
    expected = workers / harmonic(workers)
    assert rate(training, workers, steps=6_000) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("backup", [1, 4])
def test_backup_workers_leave_the_slowest_behind(backup):
    """The largest of what is waited for: of exponential times, a difference of harmonic numbers."""
    training = with_server(
        Exponential(mean=1.0), updates=Updates(backup=backup), pulled=0.0, pushed=0.0
    )
    expected = (12 - backup) / (harmonic(12) - harmonic(backup))
    assert rate(training, 12, steps=4_000) == pytest.approx(expected, rel=0.02)


def test_gradients_that_come_too_late_are_dropped():
    """Both compute; one pushes and has its gradients applied; those of the other wait in vain."""
    training = with_server(
        Constant(1.0), updates=Updates(backup=1), pulled=0.0, pushed=1.0, update=10.0
    )
    assert rate(training, 2, policy=LinkPolicy.FIFO) == pytest.approx(1.0 / (1.0 + 1.0 + 10.0))


def test_whoever_is_left_behind_stops_computing():
    training = with_server(Samples((1.0, 100.0)), updates=Updates(backup=3), pulled=0.0, pushed=0.0)
    found = simulate(training, 4, steps=200, seed=0)
    assert found.utilisation["worker compute"] == pytest.approx(1.0)


def test_what_a_step_that_was_left_still_sends_shares_the_link_of_its_worker():
    training = with_server(
        Samples((0.01, 1.5)), updates=Updates(backup=1), pulled=0.0, pushed=3.0, link=1.0, count=99
    )
    recording = Recording()
    simulate(training, 2, steps=40, seed=0, recording=recording)
    for worker in range(2):
        pushes = [it for it in recording.transfers if it.source == worker]
        for first, second in pairwise(sorted(pushes, key=lambda it: it.start)):
            both = max(first.end, second.end) - first.start
            assert first.size + second.size <= both * 1.0 * (1.0 + 1e-9)


@pytest.mark.parametrize("stale", [0, 1, 5])
def test_bounded_staleness_follows_the_recursion_of_its_definition(stale):
    """A step begins when one's own last and all of `stale` + 1 steps ago have ended."""
    workers, steps = 8, 6_000
    drawn = np.random.default_rng(1).exponential(size=(steps, workers))
    ends = np.zeros((steps + stale + 1, workers))
    for step in range(steps):
        at = step + stale + 1
        ends[at] = np.maximum(ends[at - 1], ends[at - 1 - stale].max()) + drawn[step]
    training = with_server(
        Exponential(mean=1.0), updates=Updates(stale=stale), pulled=0.0, pushed=0.0
    )
    expected = workers * steps / ends[-1].max()
    assert rate(training, workers, steps=4_000) == pytest.approx(expected, rel=0.02)


def test_nobody_is_further_ahead_than_the_bound():
    training = with_server(Samples((0.1, 5.0)), updates=Updates(stale=3))
    found = [rate(training, 6, steps=500, seed=2)]
    found += [rate(replace(training, updates=it), 6, steps=500, seed=2)
              for it in (SYNCHRONOUS, ASYNCHRONOUS)]  # fmt: skip
    assert found[1] < found[0] < found[2]


@given(workers=st.integers(2, 9), pushed=seconds, latency=st.floats(0.0, 1.0))
@settings(max_examples=20)
def test_a_ring_begins_when_the_slowest_has_come(workers, pushed, latency):
    worker = Worker(compute=Constant(0.5), samples=2.0, pulled=0.0, pushed=pushed, link=4.0)
    training = Training(worker=worker, aggregation=Aggregation.ALL_REDUCE, latency=latency)
    found = simulate(training, workers, steps=40, seed=0)
    hops = 2 * (workers - 1)
    step = 0.5 + hops * (latency + pushed / workers / 4.0)
    assert found.throughput == pytest.approx(2.0 * workers / step)
    assert found.phases.exchange == pytest.approx(step - 0.5)


def test_two_that_average_are_a_closed_network_of_two_customers():
    """One station, which is the link between them: D (1 + Q(1)), by hand. Source: reiser1980."""
    worker = Worker(compute=Exponential(mean=1.0), samples=1.0, pulled=1.0, pushed=1.0, link=1.0)
    training = Training(worker=worker, aggregation=Aggregation.PAIRWISE, updates=ASYNCHRONOUS)
    expected = 2.0 / (1.0 + 1.0 * (1.0 + 0.5))
    assert rate(training, 2, steps=20_000) == pytest.approx(expected, rel=0.02)


def test_colocated_servers_of_two_nodes_carry_half_over_each_link():
    """Half of what each worker pulls lies on its own node; links carry both ways at once."""
    training = with_server(
        Constant(1.0), updates=SYNCHRONOUS, pulled=2.0, pushed=2.0, link=1.0, count=2,
        colocated=True,
    )  # fmt: skip
    assert rate(training, 2) == pytest.approx(2.0 / (1.0 + 1.0 + 1.0))


def test_one_colocated_server_is_a_bottleneck_for_all_but_its_own_worker():
    training = with_server(
        Constant(1.0), updates=SYNCHRONOUS, pulled=2.0, pushed=1.0, link=1.0, colocated=True
    )
    assert rate(training, 4) == pytest.approx(4.0 / (3 * 2.0 + 1.0 + 3 * 1.0))


@given(workers=counts, policy=st.sampled_from(LinkPolicy))
@settings(max_examples=10)
def test_a_resource_is_used_as_much_as_it_is_asked_for(workers, policy):
    """The utilisation law: throughput times demand."""
    training = with_server(Exponential(mean=0.2), update=0.01, count=2, cores=3)
    found = simulate(training, workers, steps=2_000, seed=1, policy=policy)
    used = found.utilisation
    assert used["server egress"] == pytest.approx(found.throughput * 0.05 / 2, rel=0.05)
    assert used["server cores"] == pytest.approx(found.throughput * 0.01 / 2 / 3, rel=0.05)
    assert used["worker compute"] == pytest.approx(found.throughput * 0.2 / workers, rel=0.05)
    assert found.step == pytest.approx(found.phases.total, rel=0.02)


def test_the_interval_holds_the_mean_of_a_long_run():
    training = with_server(Exponential(mean=0.2))
    truth = rate(training, 4, steps=5_000, seed=9)
    found = [simulate(training, 4, steps=200, seed=seed) for seed in range(20)]
    assert sum(it.low <= truth <= it.high for it in found) >= 17
    assert all(it.low < it.throughput < it.high for it in found)


def test_equal_seeds_give_equal_histories():
    training = with_server(Exponential(mean=0.2))
    assert simulate(training, 3, steps=50, seed=4) == simulate(training, 3, steps=50, seed=4)
    assert rate(training, 3, seed=4) != rate(training, 3, seed=5)


@pytest.mark.parametrize(
    ("workers", "settings", "message"),
    [
        (0, {}, "workers must be at least 1 .* got 0"),
        (2, {"updates": Updates(backup=2)}, "more than backup, 2, got 2"),
        (2, {"steps": 39}, "steps must be at least 40, got 39"),
        (2, {"window": 0.0}, "window must be above 0 B, got 0.0"),
    ],
)
def test_what_cannot_be_simulated_is_refused(workers, settings, message):
    training = with_server(Constant(1.0), updates=settings.pop("updates", ASYNCHRONOUS))
    with pytest.raises(InputError, match=message):
        simulate(training, workers, seed=0, **{"steps": 40, **settings})


def test_colocated_servers_have_no_policy_but_fairness():
    training = with_server(Constant(1.0), colocated=True)
    with pytest.raises(InputError, match="colocated servers share links fairly"):
        rate(training, 2, policy=LinkPolicy.FIFO)


def test_peers_have_no_backup_workers():
    worker = Worker(compute=Constant(1.0), samples=1.0, pulled=1.0, pushed=1.0, link=1.0)
    training = Training(
        worker=worker, aggregation=Aggregation.ALL_REDUCE, updates=Updates(backup=1)
    )
    with pytest.raises(InputError, match="those are for servers"):
        rate(training, 3)
