"""Closed forms of training: laws, limits worked by hand, and simulations beside them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.distributions import (
    Constant,
    Exponential,
    LogNormal,
    Normal,
    Pareto,
    Samples,
    Weibull,
)
from foretrain.plan.servers import (
    ASYNCHRONOUS,
    SYNCHRONOUS,
    Aggregation,
    Servers,
    Training,
    Updates,
    Worker,
)
from foretrain.queueing.closed_form import (
    CORES,
    EGRESS,
    INGRESS,
    all_served,
    by_formula,
    closed_network,
    mean_of,
    pairwise_rate,
    ring_rate,
    synchronous_rate,
)
from foretrain.queueing.servers.simulate import simulate

SECONDS = st.floats(0.01, 10.0)
LAWS = (Constant(0.2), Exponential(mean=0.2), LogNormal(mean=0.2, deviation=0.1))


EQUAL = Constant(0.2)


def training(compute=EQUAL, *, updates=SYNCHRONOUS, worker=10.0, **servers):
    """A byte takes a second on the servers' link, a step 0.05 each way."""
    known = {"link": 1.0, "update": 0.01, **servers}
    step = Worker(compute=compute, samples=2.0, pulled=0.05, pushed=0.05, link=worker)
    return Training(worker=step, servers=Servers(**known), updates=updates)


def test_worker_alone_takes_what_its_parts_add_up_to():
    alone = 0.2 + 0.05 + 0.05 + 0.01 + 2 * 0.001
    for updates in (SYNCHRONOUS, ASYNCHRONOUS):
        found = by_formula(training(latency=0.001, updates=updates), 1)
        assert found.throughput == pytest.approx(2.0 / alone, rel=1e-9)
        assert found.high == pytest.approx(2.0 / alone, rel=1e-9)


def test_published_network_is_that_of_workers_with_a_server():
    # Z = 0.2, D = (0.05, 0.05, 0.01): check values of the analytic model of asynchronous training.
    network = closed_network(training(updates=ASYNCHRONOUS))
    demands = {EGRESS: 0.05, CORES: 0.01, INGRESS: 0.05}
    assert dict(network.demands) == pytest.approx(demands)
    found = by_formula(training(updates=ASYNCHRONOUS), 8).throughput
    assert found / 2.0 == pytest.approx(15.9365, abs=5e-5)


def test_equal_workers_behind_a_barrier_do_everything_one_after_the_other():
    # All pull for 0.2 s, compute for 0.2, push for 0.2; then four updates queue for one core.
    assert synchronous_rate(training(), 4) == pytest.approx(4 / (0.2 + 0.2 + 0.2 + 0.04), rel=1e-9)


def test_worker_cannot_take_more_of_a_link_than_its_own_allows():
    slow = closed_network(training(worker=0.5, updates=ASYNCHRONOUS))
    assert slow.demands[EGRESS] == pytest.approx(0.1)
    assert slow.capacity == pytest.approx(20.0)


def test_twice_the_servers_move_the_knee_twice_as_far_where_computing_is_long():
    one, two = (closed_network(training(Constant(100.0), count=count)) for count in (1, 2))
    assert two.knee == pytest.approx(2 * one.knee, rel=0.01)


@pytest.mark.parametrize("updates", [SYNCHRONOUS, ASYNCHRONOUS])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("workers", [2, 8, 70])
def test_formula_is_near_the_simulation(law, updates, workers):
    # Constant updates are no product form, and many order statistics are weighed by their means.
    # Equal workers that begin together and wait for nobody would meet for ever.
    if law == EQUAL and updates == ASYNCHRONOUS:
        law = LogNormal(mean=0.2, deviation=0.05)
    asked = training(law, updates=updates)
    found = simulate(asked, workers, steps=max(300, 6000 // workers), seed=3)
    assert by_formula(asked, workers).throughput == pytest.approx(found.throughput, rel=0.04)


def test_bounded_staleness_and_servers_on_the_workers_nodes_have_no_formula():
    assert by_formula(training(updates=Updates(stale=2)), 4).throughput is None
    assert by_formula(training(colocated=True), 4).throughput is None


@given(compute=SECONDS, size=SECONDS, factor=st.floats(0.1, 10.0), workers=st.integers(1, 20))
@few(30)
def test_everything_twice_as_quick_does_twice_as_much(compute, size, factor, workers):
    def of(scale):
        step = Worker(
            compute=Constant(compute / scale), samples=1.0, pulled=size, pushed=size, link=scale
        )
        return Training(worker=step, servers=Servers(link=scale, update=0.1 / scale))

    for updates in (SYNCHRONOUS, ASYNCHRONOUS):
        slow, quick = (replace(of(scale), updates=updates) for scale in (1.0, factor))
        assert by_formula(quick, workers).throughput == pytest.approx(
            factor * by_formula(slow, workers).throughput, rel=1e-6
        )


@given(law=st.sampled_from(LAWS), workers=st.integers(1, 30))
@few(30)
def test_barrier_never_makes_workers_quicker(law, workers):
    behind = by_formula(training(law), workers)
    free = by_formula(training(law, updates=ASYNCHRONOUS), workers)
    assert behind.throughput <= free.throughput * (1 + 1e-9)
    assert free.throughput <= free.high * (1 + 1e-9)


def test_ring_of_equal_workers_takes_its_computing_and_its_hops():
    step = Worker(compute=Constant(0.2), samples=1.0, pulled=0.0, pushed=1.0, link=10.0)
    ring = Training(worker=step, aggregation=Aggregation.ALL_REDUCE, latency=0.01)
    assert ring_rate(ring, 4) == pytest.approx(4 / (0.2 + 6 * 0.01 + 6 / 4 * 0.1))
    assert ring_rate(ring, 1) == pytest.approx(5.0)


def test_pairs_that_send_nothing_only_compute():
    step = Worker(compute=Constant(0.2), samples=1.0, pulled=0.0, pushed=0.0, link=10.0)
    pairs = Training(worker=step, aggregation=Aggregation.PAIRWISE, updates=ASYNCHRONOUS)
    assert pairwise_rate(pairs, 8) == pytest.approx(40.0)


def test_samples_that_are_measured_stand_for_their_law():
    asked = training(Samples((0.1, 0.2, 0.3)))
    found = simulate(asked, 4, steps=2000, seed=1)
    assert by_formula(asked, 4).throughput == pytest.approx(found.throughput, rel=0.02)


@pytest.mark.parametrize("workers", [2, 5])
def test_the_last_gradient_is_served_as_late_as_random_numbers_say(workers):
    law, random = LogNormal(mean=0.2, deviation=0.1), np.random.default_rng(1)
    spread = np.log(1.0 + (law.deviation / law.mean) ** 2)
    drawn = random.lognormal(np.log(law.mean) - spread / 2, np.sqrt(spread), (100_000, workers))
    ends = np.zeros(len(drawn))
    for column in np.sort(drawn, axis=1).T:
        ends = np.maximum(ends, column) + 0.05
    times = np.linspace(0.05 * workers, 4.0, 400)
    mean = mean_of(lambda seconds: all_served(law, seconds, workers, each=0.05), times)
    assert mean == pytest.approx(ends.mean(), rel=0.003)
    share = (ends <= 0.4).mean()
    assert all_served(law, np.array([0.4]), workers, each=0.05)[0] == pytest.approx(
        share, abs=0.006
    )


@pytest.mark.parametrize(
    "law",
    [
        Normal(mean=0.2, deviation=0.04),
        Weibull(mean=0.2, shape=0.7),
        Pareto(mean=0.2, shape=2.5),
        Samples((0.1, 0.2, 0.3)),
        Exponential(mean=0.2, least=0.1),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_behind_a_barrier_every_law_has_a_formula_that_its_simulation_keeps(law, count):
    worker = Worker(compute=law, samples=1.0, pulled=0.05, pushed=0.05, link=10.0)
    training = Training(worker=worker, servers=Servers(count=count, link=1.0))
    for workers in (2, 8):
        formula = by_formula(training, workers)
        found = simulate(training, workers, steps=1000, seed=1)
        assert formula.throughput == pytest.approx(found.throughput, rel=0.04)
        assert formula.throughput <= formula.high * (1.0 + 1e-9)
