"""The engines of the event kernel's benchmark play the same network."""

import pytest
from benchmarks.events import (
    CUSTOMERS,
    SERVICE,
    THINK,
    bare,
    kernel,
    rates,
    ratio,
    simpy_processes,
)
from tests.needs import needs

from foretrain.queueing.closed import ClosedNetwork, mean_values

NETWORK = ClosedNetwork(think=THINK, demands={"server": SERVICE})


def test_kernel_and_bare_heap_draw_the_same_history():
    assert kernel(500.0) == bare(500.0)


def test_every_engine_has_two_events_per_cycle_of_mean_value_analysis():
    needs("simpy")
    exact = mean_values(NETWORK, CUSTOMERS).throughput[-1]
    for engine in (kernel, simpy_processes):
        assert engine(1_000.0) / 2_000.0 == pytest.approx(exact, rel=0.03)


def test_rates_are_taken_in_turns_and_compared_turn_by_turn():
    played = []

    def engine(name, events):
        return lambda _: played.append(name) or sum(range(20_000)) * 0 + events

    rates({"kernel": engine("kernel", 4), "bare heap": engine("bare heap", 2)}, turns=2, until=1.0)
    assert played == ["kernel", "bare heap"] * 2
    found = {"kernel": [4.0, 6.0, 50.0], "bare heap": [8.0, 8.0, 5.0]}
    assert ratio(found, "bare heap") == pytest.approx(0.75)
