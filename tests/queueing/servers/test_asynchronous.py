"""Asynchronous training with servers: laws, and what mean-value analysis says."""

import pytest

from foretrain.distributions import Exponential
from foretrain.plan.servers import ASYNCHRONOUS, Servers, Training, Worker
from foretrain.queueing.servers.simulate import simulate


def by_mean_values(workers, *, delay, demands):
    """Steps per second of a closed network. Source: reiser1980."""
    queues = [0.0] * len(demands)
    for count in range(1, workers + 1):
        times = [demand * (1.0 + queue) for demand, queue in zip(demands, queues, strict=True)]
        rate = count / (delay + sum(times))
        queues = [rate * time for time in times]
    return rate


@pytest.mark.parametrize("workers", [1, 2, 4, 8, 16])
def test_throughput_is_that_of_mean_value_analysis(workers):
    """Shared links and a core for each worker are a product form whatever the computation takes."""
    training = Training(
        worker=Worker(
            compute=Exponential(mean=0.2), samples=1.0, pulled=0.05, pushed=0.05, link=9.0
        ),
        servers=Servers(link=1.0, update=0.01, cores=workers),
        updates=ASYNCHRONOUS,
    )
    expected = by_mean_values(workers, delay=0.21, demands=(0.05, 0.05))
    found = simulate(training, workers, steps=20_000 // workers, seed=1)
    assert found.throughput == pytest.approx(expected, rel=0.02)
