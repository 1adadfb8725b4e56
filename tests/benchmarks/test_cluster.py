"""What `benchmarks/cluster.py` says of a cost that grows, on a machine that is busy at times."""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def lasting(taken: Sequence[float]) -> Iterator[float]:
    """These times, and then the last of them for ever."""
    return chain(taken, repeat(taken[-1]))


@pytest.fixture
def ratio(monkeypatch):
    """Time per job among many over that among few, where turns of both take given times."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import cluster

    few, many = cluster.drawn(10, 64), cluster.drawn(100, 64)

    def told(of_few: Sequence[float], of_many: Sequence[float]) -> float:
        turns = {10: lasting(of_few), 100: lasting(of_many)}
        monkeypatch.setattr(cluster, "seconds", lambda trace, *_: next(turns[len(trace.jobs)]))
        return cluster.longer((few, many), (64, 64), cluster.ORDERS["FIFO"])

    return told


def test_cost_that_is_the_same_for_each_job_is_told_as_such(ratio):
    assert ratio([1.0], [10.0]) == pytest.approx(1.0)


def test_machine_that_is_busy_for_some_turns_does_not_hide_that_a_cost_stays(ratio):
    assert ratio([1.0], [16.0, 19.0, 17.0, 18.0, 11.0]) == pytest.approx(1.1)


def test_cost_that_grows_is_told_however_many_turns_there_are(ratio):
    assert ratio([1.2, 0.9], [40.0, 30.0, 25.0]) == pytest.approx(2.5 / 0.9)
