"""Formulas of many workers: limits, and what a draw of random numbers says."""

import numpy as np
import pytest
from validation.servers import (
    COMPUTE,
    LATENCY,
    PULL,
    PUSH,
    UPDATE,
    all_pushed,
    barrier,
    closed_network,
    compared,
    expected,
    main,
    pairs,
    ring,
)

from validation import servers


def test_a_single_worker_takes_the_sum_of_its_parts():
    parts = COMPUTE.mean + PULL + PUSH + UPDATE + 2.0 * LATENCY
    assert 1.0 / barrier(1) == pytest.approx(parts, rel=1e-4)
    alone = closed_network(1, delay=COMPUTE.mean + UPDATE + 2 * LATENCY, demands=[PULL, PUSH])
    assert 1.0 / alone == pytest.approx(parts)
    assert 1.0 / ring(1) == pytest.approx(COMPUTE.mean, rel=1e-4)
    assert 1.0 / pairs(1) == pytest.approx(COMPUTE.mean)


def test_closed_networks_have_the_published_throughput():
    """To the digits that are printed there."""
    rates = [closed_network(n, delay=0.2, demands=[0.05, 0.05, 0.01]) for n in (1, 2, 4, 8, 16)]
    assert rates == pytest.approx([3.2258, 6.1265, 10.8207, 15.9365, 18.4314], abs=5e-5)


@pytest.mark.parametrize("workers", [2, 5])
def test_the_last_push_ends_as_late_as_random_numbers_say(workers):
    random = np.random.default_rng(1)
    spread = np.log(1.0 + (COMPUTE.deviation / COMPUTE.mean) ** 2)
    drawn = random.lognormal(np.log(COMPUTE.mean) - spread / 2, np.sqrt(spread), (100_000, workers))
    ends = np.zeros(len(drawn))
    for column in np.sort(drawn, axis=1).T:
        ends = np.maximum(ends, column) + PUSH
    mean = expected(lambda seconds: all_pushed(seconds, workers), least=workers * PUSH)
    assert mean == pytest.approx(ends.mean(), rel=0.003)
    share = (ends <= 0.4).mean()
    assert all_pushed(np.array([0.4]), workers)[0] == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize("combination", servers.COMBINATIONS, ids=lambda it: it.name)
def test_a_row_is_within_the_bar(combination, monkeypatch):
    monkeypatch.setattr(servers, "STEPS", 8_000)
    monkeypatch.setattr(servers, "FEWEST", 1_000)
    assert abs(compared(combination, 4).difference) < servers.MOST


def test_a_formula_that_is_wrong_is_missed(monkeypatch, capsys):
    wrong = servers.Combination(
        name="wrong", training=servers.COMBINATIONS[0].training, rate=lambda workers: 1.0
    )
    monkeypatch.setattr(servers, "COMBINATIONS", (wrong,))
    monkeypatch.setattr(servers, "COUNTS", (1,))
    monkeypatch.setattr(servers, "STEPS", 100)
    monkeypatch.setattr(servers, "FEWEST", 100)
    assert main([]) == 1
    assert "MISSED" in capsys.readouterr().out
