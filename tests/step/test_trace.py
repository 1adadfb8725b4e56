"""The simulated step as a trace: the same seconds, the same bytes, in the format of Perfetto."""

import json
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from time import process_time

import pytest

from foretrain.plan.plan import Schedule, Sends
from foretrain.step.estimate import estimate
from foretrain.step.simulated_step import simulate
from foretrain.step.software import study_setting
from foretrain.step.timeline import StageTimes, StepTimes
from foretrain.step.trace import (
    COMPUTE,
    DATA,
    HOST,
    LINK,
    STREAMS,
    StageBytes,
    StageHost,
    StepTrace,
    chrome_step,
    step_trace,
)
from foretrain.study.coefficients import DEFAULT
from foretrain.study.study import study_from


def times(stages=4, micro_batches=8, **changes):
    return StepTimes(
        **{
            "stages": tuple(
                StageTimes(
                    forward=0.011 + 0.0003 * (place % 3),
                    backward=0.022,
                    gradients=0.05,
                    buckets=4,
                    update=0.003,
                    parameters=0.01,
                    weights=0.009,
                )
                for place in range(stages)
            ),
            "micro_batches": micro_batches,
            "interleaving": 1,
            "send": 0.0007,
            "sends": Sends.OVERLAPPED,
            "overlap": 0.9,
            **changes,
        }
    )


def trace(step=None, **changes):
    step = step or times()
    many = len(step.stages)
    return StepTrace(
        **{
            "times": step,
            "memory": (StageBytes(base=2e10, activations=3e10),) * many,
            "host": (StageHost(forward=0.002, backward=0.004),) * many,
            "input": 0.0,
            "step_time": 1.0,
            **changes,
        }
    )


STEPS = {
    "1f1b": times(),
    "interleaved": times(interleaving=2),
    "gpipe": times(schedule=Schedule.GPIPE),
    "zero bubble": times(schedule=Schedule.ZERO_BUBBLE),
    "blocking": times(sends=Sends.BLOCKING),
    "one stage": times(stages=1, send=0.0),
}


def events(found):
    return json.loads(chrome_step(found))["traceEvents"]


def slices(found):
    return [each for each in events(found) if each["ph"] == "X"]


@pytest.mark.parametrize("name", STEPS)
def test_a_trace_ends_when_the_event_simulation_does(name):
    last = max(each["ts"] + each["dur"] for each in slices(trace(STEPS[name])))
    assert last / 1e6 == pytest.approx(simulate(STEPS[name]).seconds, rel=0, abs=1e-9)


@pytest.mark.parametrize("name", STEPS)
def test_the_compute_of_every_stage_adds_up_to_what_the_simulation_says(name):
    busy = defaultdict(list)
    for each in slices(trace(STEPS[name])):
        if each["tid"] == COMPUTE:
            busy[each["pid"]].append(each["dur"] / 1e6)
    for stage, own in enumerate(simulate(STEPS[name]).stages):
        told = own.forward + own.backward + own.update
        assert sum(busy[stage]) == pytest.approx(told, rel=0, abs=1e-9 * len(busy[stage]))


@pytest.mark.parametrize("name", STEPS)
def test_parts_of_every_stage_in_the_trace_add_up_to_the_step(name):
    about = json.loads(chrome_step(trace(STEPS[name])))["otherData"]
    for own in about["stages"]:
        assert sum(own.values()) == pytest.approx(about["simulated"], rel=1e-12)


@pytest.mark.parametrize("name", STEPS)
def test_a_stream_does_one_thing_at_a_time(name):
    rows = defaultdict(list)
    for each in slices(trace(STEPS[name])):
        rows[each["pid"], each["tid"]].append((each["ts"], each["ts"] + each["dur"]))
    for own in rows.values():
        own.sort()
        for (_, end), (start, _) in pairwise(own):
            # In whole nanoseconds, as Perfetto counts.
            assert round(1e3 * start) >= round(1e3 * end)


@pytest.mark.parametrize("name", STEPS)
def test_memory_is_highest_where_the_estimate_says_and_falls_back(name):
    counters = defaultdict(list)
    for each in events(trace(STEPS[name])):
        if each["ph"] == "C":
            counters[each["pid"]].append(each["args"]["bytes"])
    for own in counters.values():
        assert max(own) == 5e10
        assert own[-1] == 2e10
        assert min(own) >= 2e10


@pytest.mark.parametrize("name", [each for each in STEPS if each != "one stage"])
def test_every_send_has_an_arrow_to_the_pass_that_waits_for_it(name):
    found = events(trace(STEPS[name]))
    starts = {each["id"]: each for each in found if each["ph"] == "s"}
    ends = {each["id"]: each for each in found if each["ph"] == "f"}
    assert starts.keys() == ends.keys() != set()
    for number, each in starts.items():
        assert each["ts"] <= ends[number]["ts"]
        assert each["tid"] == LINK
        assert ends[number]["pid"] != each["pid"]


def test_every_event_is_one_that_the_format_knows():
    """Trace Event Format: X has ts and dur, C numbers, M a name; all have a process."""
    found = events(trace(input=0.5))
    for each in found:
        assert each["ph"] in {"X", "C", "M", "s", "f"}
        assert isinstance(each["pid"], int)
        if each["ph"] == "X":
            assert each["ts"] >= 0
            assert each["dur"] >= 0
            assert each["name"]
        if each["ph"] == "C":
            assert all(isinstance(value, int | float) for value in each["args"].values())
    named = {each["args"]["name"] for each in found if each["name"] == "thread_name"}
    assert named == {*STREAMS}


def test_waiting_for_samples_is_on_the_host_behind_the_step():
    found = slices(trace(input=0.5))
    waits = [each for each in found if each["name"] == "input"]
    assert {each["tid"] for each in waits} == {HOST}
    assert all(each["dur"] == 0.5e6 for each in waits)
    about = json.loads(chrome_step(trace(input=0.5)))["otherData"]
    assert about["simulated"] == pytest.approx(simulate(times()).seconds + 0.5)


def test_gradients_and_parameters_are_on_the_link_among_replicas():
    names = {each["name"] for each in slices(trace()) if each["tid"] == DATA}
    assert names == {"reduce gradients", "gather parameters"}


def test_64_stages_and_512_micro_batches_take_two_seconds_and_50_megabytes():
    large = trace(times(stages=64, micro_batches=512))
    start = process_time()
    text = chrome_step(large)
    assert process_time() - start <= 2.0
    assert len(text) <= 50e6
    assert text.count('"ph":"X"') > 100_000


def test_the_trace_of_a_study_is_that_of_its_estimate():
    study = study_from(
        {
            "workload": {"model": "llama-3-8b", "global_batch": 64, "sequence": 4096},
            "cluster": {"name": "dgx-h100", "nodes": 2},
            "plan": {"tensor": 4, "pipeline": 2, "micro_batch": 1},
        },
        "study",
    )
    found = estimate(study)
    known = study_setting(study, study.cluster, DEFAULT)
    made = step_trace(known, found)
    last = max(each["ts"] + each["dur"] for each in slices(made))
    assert last / 1e6 == pytest.approx(found.simulated, rel=1e-9)
    most = defaultdict(float)
    for each in events(made):
        if each["ph"] == "C":
            most[each["pid"]] = max(most[each["pid"]], each["args"]["bytes"])
    for stage in found.memory.stages:
        assert most[stage.stage] == pytest.approx(stage.total, abs=1.0)
    assert all(each.forward > 0 for each in made.host)


def test_a_host_is_never_busy_longer_than_the_pass_that_it_feeds():
    slow = replace(trace(), host=(StageHost(forward=1.0, backward=1.0),) * 4)
    for each in slices(slow):
        if each["name"] == "calls":
            assert each["dur"] <= 0.0231e6
