"""What describes jobs and policies: the last value that is allowed, and the first that is not."""

from math import inf, nan

import pytest
from tests.jobs.runs import dispatched, job, rigid_trace, trace
from validation.scheduling.goodput import Limits

from foretrain.cluster.mixed import Fleet, NodeFailures, Nodes, fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.admission import Admission
from foretrain.jobs.mix import DAY, Failing, JobSize, Killing, Length, Mix, Survival
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.gain import Pollux, Sia
from foretrain.jobs.policies.orders import fifo
from foretrain.jobs.rounds import Rules
from foretrain.throughput import (
    Amdahl,
    JobPhase,
    Point,
    PowerLaw,
    rigid,
)

LENGTH = {
    **{"median": 1.0, "spread": 1.0, "tail": 0.5, "begins": 10.0, "index": 1.0},
    "longest": 20.0,
}
MIX = {"sizes": (JobSize(devices=1, share=1.0),), "length": Length(**LENGTH)}
BETWEEN = {"between": 1.0, "repair": 1.0, "checkpoint": 1.0}
AMDAHL = {"serial": 0.5, "base": 2, "most": 4}
SMALL, BELOW, ABOVE = 1e-9, 1 - 1e-9, 1 + 1e-9

BOUNDS = [
    (JobSize, {"devices": 1, "share": 1.0}, "devices", (1,), (0, -1)),
    (JobSize, {"devices": 1, "share": 1.0}, "share", (SMALL, 2.0), (0.0, -1.0, inf, nan)),
    (JobSize, {"devices": 1, "share": 1.0}, "stretch", (SMALL, 2.0), (0.0, inf, nan)),
    (Length, LENGTH, "median", (SMALL, 99.0), (0.0, -1.0, nan)),
    (Length, LENGTH, "spread", (0.0, 9.0), (-SMALL, nan)),
    (Length, LENGTH, "tail", (0.0, 1.0), (-SMALL, ABOVE)),
    (Length, LENGTH, "index", (SMALL, 9.0), (0.0, nan)),
    (Length, LENGTH, "begins", (SMALL, 0.5, 19.9), (0.0, 20.0)),
    (Length, LENGTH, "longest", (10.1, 1e9), (10.0, inf)),
    (Failing, {"shape": 1.0, "scale": 1.0}, "shape", (0.0, 1.0), (-SMALL, inf)),
    (Failing, {"shape": 1.0, "scale": 1.0}, "scale", (SMALL,), (0.0, inf)),
    *(
        (Killing, {"half": 2.0, "steepness": 2.0, "late": 2.0}, name, (SMALL, 0.5), (0.0, nan))
        for name in ("half", "steepness", "late")
    ),
    (Mix, MIX, "sizes", (MIX["sizes"],), ((),)),
    (Mix, MIX, "swing", (0.0, BELOW), (-SMALL, 1.0)),
    (Mix, MIX, "peak", (0.0, DAY - 1), (-SMALL, DAY)),
    (Mix, MIX, "groups", ({}, {"a": SMALL}), ({"a": 0.0},)),
    (Pollux, {}, "fairness", (-SMALL,), (0.0,)),
    (Pollux, {}, "delay", (0.0,), (-SMALL,)),
    (Pollux, {}, "idle", (SMALL, BELOW), (0.0, 1.0)),
    (Sia, {}, "fairness", (-SMALL,), (0.0,)),
    (Sia, {}, "left_out", (SMALL,), (0.0,)),
    (Sia, {}, "delay", (0.0,), (-SMALL,)),
    (Rules, {}, "period", (SMALL,), (0.0, nan)),
    (Rules, {}, "renewal", (0.0,), (-SMALL, nan)),
    *(
        (Limits, {"smallest": 2, "largest": 4, "least": 2, "most": 4}, name, ends, beyond)
        for name, ends, beyond in (
            *(("smallest", (1, 4), (0, 5)), ("largest", (2,), (1,))),
            *(("least", (1, 4), (0, 5)), ("most", (2,), (1,))),
        )
    ),
    (Survival, {"left": (1.0, 0.5)}, "at", ((0.0, SMALL),), ((0.0, 0.0), (0.0,), (0.0, 1.0, 2.0))),
    (Survival, {"at": (0.0, 1.0)}, "left", ((1.0, 1.0),), ((0.5, 0.6), (ABOVE, 1.0), (0.5, 0.0))),
    (Nodes, {"count": 2, "devices": 2}, "count", (1,), (0,)),
    (Nodes, {"count": 2, "devices": 2}, "devices", (1,), (0,)),
    (Nodes, {"count": 2, "devices": 2}, "rack", (0,), (-1,)),
    (Nodes, {"count": 2, "devices": 2}, "price", (0.0,), (-SMALL,)),
    (NodeFailures, BETWEEN, "between", (SMALL,), (0.0, nan)),
    (NodeFailures, BETWEEN, "repair", (0.0,), (-SMALL, nan)),
    (NodeFailures, BETWEEN, "checkpoint", (SMALL,), (0.0, nan)),
    (Fleet, {}, "nodes", ((Nodes(count=1, devices=1),),), ((),)),
    (Fleet, {"nodes": (Nodes(count=1, devices=1),)}, "quota", ({"a": 1},), ({"a": 0},)),
    (JobPhase, {"begins": 1.0, "curve": rigid(1)}, "begins", (0.0,), (-SMALL, nan)),
    (JobPhase, {"begins": 1.0, "curve": rigid(1)}, "scale", (SMALL,), (0.0, nan)),
    (Amdahl, AMDAHL, "serial", (0.0, 1.0), (-SMALL, ABOVE)),
    (Amdahl, AMDAHL, "base", (1, 4), (0, 5)),
    (PowerLaw, {"exponent": 0.5, "most": 2}, "exponent", (SMALL, 1.0), (0.0, ABOVE)),
    (PowerLaw, {"exponent": 0.5, "most": 2}, "most", (1,), (0,)),
    (Point, {"devices": 2, "rate": 1.0}, "devices", (1,), (0,)),
    (Point, {"devices": 2, "rate": 1.0}, "rate", (SMALL,), (0.0, nan)),
    (Point, {"devices": 2, "rate": 1.0}, "nodes", (0, 2), (-1, 3)),
]


@pytest.mark.parametrize(
    ("kind", "others", "name", "allowed", "refused"),
    BOUNDS,
    ids=[f"{kind.__name__}.{name}-{place}" for place, (kind, _, name, *_) in enumerate(BOUNDS)],
)
def test_last_allowed_value_is_taken_and_the_next_is_refused(kind, others, name, allowed, refused):
    for value in allowed:
        assert getattr(kind(**others | {name: value}), name) == value
    for value in refused:
        with pytest.raises(InputError, match=f"{name}|{kind.__name__}"):
            kind(**others | {name: value})


def test_admission_needs_a_cap():
    with pytest.raises(InputError, match="above 0 s"):
        Admission(OrderedDispatcher(fifo()), fleet(1), most=0.0)


class Gate:
    """Who was let in, in order."""

    def __init__(self):
        self.came = []

    def arrive(self, active, simulation):
        self.came.append(active.rank)

    def leave(self, active, simulation):
        pass


def test_who_comes_back_after_a_failure_waits_outside_where_its_arrival_puts_it():
    inside = Gate()
    gate = Admission(inside, fleet(1), most=10.0)
    jobs = [Active(each, rank) for rank, each in enumerate(rigid_trace(*[(0, 8, 1)] * 4).jobs)]
    for each in (jobs[1], jobs[2], jobs[3]):
        gate.arrive(each, None)
    jobs[0].begun = 0.0  # it had begun before the others came
    gate.arrive(jobs[0], None)
    for each in (jobs[1], jobs[0], jobs[2]):
        gate.leave(each, None)
    assert inside.came == [1, 0, 2, 3]


def test_books_begin_with_nothing():
    """Seconds on devices and interruptions of a job are its own alone."""
    found = dispatched(trace([job(0, work=3.0, devices=2)]), OrderedDispatcher(fifo()), 2)
    assert (list(found.attained), list(found.held), list(found.stops)) == ([6.0], [3.0], [0])
