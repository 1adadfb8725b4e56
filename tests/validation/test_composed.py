"""What the table of small GPTs is: steps put together of parts that were timed alone."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest

TABLE = Path(__file__).parents[2] / "validation" / "tables" / "more" / "llm_training.csv"


@pytest.fixture(scope="module")
def steps():
    """Seconds by what stays, then by replicas and micro-batches of each."""
    found = defaultdict(dict)
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["source_id"] == "vtrain-single":
                replicas, size = int(row["dp"]), int(row["mbs"])
                passes = int(row["gbs"]) // (replicas * size)
                plan = row["layers"], row["tp"], row["pp"]
                found[plan][replicas, size, passes] = float(row["step_time_s"])
    return found


def test_reducing_among_more_replicas_takes_the_same_to_the_nanosecond_whatever_is_computed(steps):
    """No clock, and no network, does that: these rows are no runs that were timed whole."""
    compared = 0
    for its in steps.values():
        for few, many in ((1, 2), (2, 4), (4, 8)):
            more = [
                seconds - its[few, size, passes]
                for (replicas, size, passes), seconds in its.items()
                if replicas == many and (few, size, passes) in its
            ]
            if more:
                assert max(more) - min(more) < 1e-8
                compared += len(more)
    assert compared > 200


def test_every_further_micro_batch_takes_the_same_to_the_last_digit(steps):
    for its in steps.values():
        lines = defaultdict(dict)
        for (replicas, size, passes), seconds in its.items():
            lines[replicas, size][passes] = seconds
        for line in lines.values():
            rises = [
                (line[two] - line[one]) / (two - one)
                for one, two in zip(sorted(line), sorted(line)[1:], strict=False)
            ]
            assert not rises or max(rises) - min(rises) < 1e-8
