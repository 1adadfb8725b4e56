"""A job while it is in the cluster: what it holds, what it has done and what it has got."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from foretrain.measured.job import Job


class HeldDevices(NamedTuple):
    """Devices that a job holds.

    Attributes:
        kind: of the devices.
        devices: how many; a whole number but where devices are shared as a fluid.
        nodes: how many nodes they lie on.
        places: (node, devices there) of each node; empty where nodes are not told apart.
    """

    kind: str
    devices: float
    nodes: int
    places: tuple[tuple[int, int], ...] = ()


class Left(NamedTuple):
    """An interruption of a job.

    Attributes:
        when: in seconds since the trace began.
        held: the devices that it gave back.
    """

    when: float
    held: HeldDevices


class Active:
    """A job that has arrived and not ended; changed by the simulation alone.

    Attributes:
        job: the job.
        rank: its place among all jobs by (arrival, sequence): what breaks ties.
        held: its devices; None while it waits.
        rate: units of work per second on them.
        done: units of work up to `since`.
        since: when it goes on with work: later than now while it starts.
        attained: device-seconds up to `charged`.
        running: seconds with devices up to `charged`.
        anew: what `running` was when it last began from nothing, or after it lost its node: from
            there its time limit counts.
        charged: when `attained` and `running` were last worked out.
        begun: when it first held devices; None before.
        stops: how often it was interrupted.
        left: when that last was, and what it gave back; None before, and after a failure.
        ending: id of the event that ends it, -1 while it waits.
        until: when it ends if it goes on; infinite where its rate changes before. No policy may
            look at it.
    """

    __slots__ = (
        "anew", "attained", "begun", "charged", "done", "ending", "held", "job", "left", "rank",
        "rate", "running", "since", "stops", "until",
    )  # fmt: skip

    def __init__(self, job: Job, rank: int) -> None:
        self.job = job
        self.rank = rank
        self.held: HeldDevices | None = None
        self.rate = 0.0
        self.done = 0.0
        self.since = job.arrival
        self.attained = 0.0
        self.running = 0.0
        self.anew = 0.0
        self.charged = job.arrival
        self.begun: float | None = None
        self.stops = 0
        self.left: Left | None = None
        self.ending = -1
        self.until = inf

    def done_at(self, now: float) -> float:
        """Units of work that it has done."""
        return self.done + self.rate * max(0.0, now - self.since) if self.held else self.done

    def attained_at(self, now: float) -> float:
        """Device-seconds that it has held."""
        held = self.held
        return self.attained + held.devices * (now - self.charged) if held else self.attained
