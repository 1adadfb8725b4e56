"""What `benchmarks/cluster.py` says of a cost that grows, on a machine that is busy at times."""

from collections.abc import Sequence
from itertools import chain, repeat
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def ratio(monkeypatch):
    """Time per job among many over that among few, where turns of both take given times."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import cluster

    few, many = cluster.drawn(10, 64), cluster.drawn(100, 64)

    def told(of_few: Sequence[float], of_many: Sequence[float]) -> float:
        left = {id(few): chain(of_few, repeat(1.0)), id(many): chain(of_many, repeat(of_many[-1]))}
        monkeypatch.setattr(cluster, "seconds", lambda trace, *_: next(left[id(trace)]))
        return cluster.longer((few, many), (64, 64), cluster.ORDERS["FIFO"])

    return told


def test_cost_that_is_the_same_for_each_job_is_told_as_such(ratio):
    assert ratio([1.0], [10.0]) == pytest.approx(1.0)


def test_machine_that_is_busy_for_some_turns_does_not_hide_that_a_cost_stays(ratio):
    assert ratio([1.0], [16.0, 19.0, 17.0, 18.0, 11.0]) == pytest.approx(1.1)


def test_cost_that_grows_is_told_however_many_turns_there_are(ratio):
    assert ratio([1.2, 0.9], [40.0, 30.0, 25.0]) == pytest.approx(2.5 / 0.9)
