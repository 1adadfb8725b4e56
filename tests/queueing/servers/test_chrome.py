"""Traces of many workers: valid, and with the utilisation that the simulation says."""

import json

import pytest
from tests.recorded_steps import TWO_LAYERS

from foretrain.distributions import Exponential
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
from foretrain.queueing.servers.chrome import chrome_trace, trace_utilisation
from foretrain.queueing.servers.simulate import simulate
from foretrain.queueing.servers.tally import Recording

WORKER = Worker(compute=Exponential(mean=0.3), samples=4.0, pulled=0.1, pushed=0.2, link=3.0)
SERVERS = Servers(count=2, link=1.0, latency=0.01, update=0.05, cores=2)
COLOCATED = Servers(count=3, link=3.0, update=0.05, colocated=True)


CASES = {
    "asynchronous": (Training(worker=WORKER, servers=SERVERS, updates=ASYNCHRONOUS), {}),
    "queue": (Training(worker=WORKER, servers=SERVERS), {"policy": LinkPolicy.FIFO}),
    "backup": (Training(worker=WORKER, servers=SERVERS, updates=Updates(backup=2)), {}),
    "colocated": (Training(worker=WORKER, servers=COLOCATED, updates=SYNCHRONOUS), {}),
    "ring": (Training(worker=WORKER, aggregation=Aggregation.ALL_REDUCE, latency=0.01), {}),
    "pairs": (
        Training(
            worker=WORKER, aggregation=Aggregation.PAIRWISE, updates=ASYNCHRONOUS, latency=0.01
        ),
        {},
    ),
    "operations": (
        Training(worker=WORKER, servers=SERVERS, updates=Updates(stale=1)),
        {"policy": LinkPolicy.ORDER, "recorded": [TWO_LAYERS]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_utilisation_of_the_trace_is_that_of_the_simulation(case):
    training, settings = CASES[case]
    recording = Recording()
    found = simulate(training, 5, steps=40, seed=1, recording=recording, **settings)
    trace = json.loads(json.dumps(chrome_trace(training, found, recording)))
    told = trace_utilisation(trace)
    for name, share in found.utilisation.items():
        assert 0.0 <= share <= 1.0
        assert told.get(name, 0.0) == pytest.approx(share, abs=1e-9), name
    assert set(told) <= set(found.utilisation)
    assert found.utilisation["worker compute"] > 0.01


@pytest.mark.parametrize("case", CASES)
def test_every_transfer_begins_and_ends_in_a_process_that_has_a_name(case):
    training, settings = CASES[case]
    recording = Recording()
    found = simulate(training, 5, steps=40, seed=1, recording=recording, **settings)
    events = chrome_trace(training, found, recording)["traceEvents"]
    named = {it["pid"] for it in events if it["name"] == "process_name"}
    assert {it["pid"] for it in events} <= named
    begun = {(it["id"], it["pid"]) for it in events if it["ph"] == "b"}
    ended = {(it["id"], it["pid"]) for it in events if it["ph"] == "e"}
    assert begun == ended
    assert begun


def test_recording_changes_nothing():
    training, settings = CASES["asynchronous"]
    silent = simulate(training, 5, steps=40, seed=1, **settings)
    assert simulate(training, 5, steps=40, seed=1, recording=Recording(), **settings) == silent
