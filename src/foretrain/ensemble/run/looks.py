"""Reports: what a member tells the process that started it, as lines of JSON through a pipe.

Looks at a run: what members tell and the stream counts, between one look and the next.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection
from statistics import fmean
from time import monotonic
from typing import Final

from foretrain.ensemble.bottleneck import Pressure, bottleneck
from foretrain.ensemble.result import MemberNow, Snapshot, State
from foretrain.ensemble.run.machine import memory_of_descendants
from foretrain.measured.ensemble_study import Bottleneck


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Where a member is; counts are since its process began.

    Attributes:
        state: what it does.
        attached: whether it has a loader.
        epoch: which it is in; after its last, how many it has done.
        samples: that it trained on.
        seconds: since its first batch was asked for.
        waited: seconds of these without a batch.
        lag: samples that it is behind the one that is furthest.
        loss: mean since the last report; None without a step since.
        epoch_loss: mean over the epoch that it is in or has just ended; None without a step.
        cpu: seconds of processor time since then.
        dropped: samples that it did not get because it was too slow.
        skipped: samples that could not be read.
        reason: why it failed.
    """

    state: State = State.WAITING
    attached: bool = False
    epoch: int = 0
    samples: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    lag: int = 0
    loss: float | None = None
    epoch_loss: float | None = None
    cpu: float = 0.0
    dropped: int = 0
    skipped: int = 0
    reason: str = ""

    @property
    def final(self) -> bool:
        """Whether nothing follows it."""
        return self.state in {State.DONE, State.STOPPED, State.FAILED}


def send(pipe: Connection, report: Report) -> None:
    """Send one report."""
    pipe.send_bytes(json.dumps(asdict(report)).encode())


def received(pipe: Connection) -> Iterator[Report]:
    """The reports that have arrived; the end of the pipe raises EOFError."""
    while pipe.poll():
        told = json.loads(pipe.recv_bytes())
        yield Report(**{**told, "state": State(told["state"])})


def added(before: Report | None, now: Report) -> Report:
    """What a member did in an earlier part of the run and in this one."""
    if before is None:
        return now
    return replace(
        now,
        samples=before.samples + now.samples,
        seconds=before.seconds + now.seconds,
        waited=before.waited + now.waited,
        cpu=before.cpu + now.cpu,
        dropped=before.dropped + now.dropped,
        skipped=before.skipped + now.skipped,
    )


SELDOM: Final = 3.0
"""Seconds between two looks at memory, which walks through the tables of every process."""

NOTHING: Final = Report()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamNow:
    """What a stream has counted since it began.

    Attributes:
        read: seconds of its workers in the data set.
        transform: in the shared transform.
        store: writing into slots.
        workers: how many there are.
        fill: share of the slots that hold samples which not all have read.
    """

    read: float = 0.0
    transform: float = 0.0
    store: float = 0.0
    workers: int = 1
    fill: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spent:
    """Seconds that all workers spent on each stage, of `capacity` that they had."""

    read: float = 0.0
    transform: float = 0.0
    store: float = 0.0
    capacity: float = 0.0

    def __add__(self, other: _Spent) -> _Spent:
        return _Spent(
            read=self.read + other.read,
            transform=self.transform + other.transform,
            store=self.store + other.store,
            capacity=self.capacity + other.capacity,
        )

    def pressure(self, *, waiting: float, fill: float) -> Pressure:
        """The same in shares."""
        return Pressure(
            reading=min(1.0, self.read / self.capacity),
            decoding=min(1.0, self.transform / self.capacity),
            storing=min(1.0, self.store / self.capacity),
            waiting=min(1.0, waiting),
            fill=min(1.0, fill),
        )


@dataclass(slots=True)
class Looks:
    """What is remembered from one look to the next.

    Attributes:
        names: of the members, in the order of the study.
        fills: share of full slots at each look.
        memory: most bytes that all processes held at once while members trained; None before
            that was seen.
    """

    names: Sequence[str]
    fills: list[float] = field(default_factory=list)
    memory: float | None = None
    _began: float = field(default_factory=monotonic)
    _weighed: float = 0.0
    _before: Mapping[str, Report] = field(default_factory=dict)
    _last: tuple[float, StreamNow] = (0.0, StreamNow())
    _spent: _Spent = field(default_factory=_Spent)

    def look(self, reports: Mapping[str, Report], stream: StreamNow | None) -> Snapshot:
        """What goes on now.

        Args:
            reports: the last of every member that was started.
            stream: what it has counted; None without one.
        """
        now = monotonic()
        members = tuple(self._member(name, reports.get(name, NOTHING)) for name in self.names)
        found = self._step(now, stream, members) if stream else None
        if any(each.state is State.TRAINING for each in members):
            self._weigh(now)
        self._before = dict(reports)
        fill = stream.fill if stream else None
        return Snapshot(seconds=now - self._began, members=members, fill=fill, bottleneck=found)

    def _member(self, name: str, report: Report) -> MemberNow:
        before = self._before.get(name, NOTHING)
        if before.seconds > report.seconds:
            before = NOTHING
        seconds = report.seconds - before.seconds
        return MemberNow(
            name=name,
            state=report.state,
            epoch=report.epoch,
            samples=report.samples,
            rate=(report.samples - before.samples) / seconds if seconds > 0 else 0.0,
            lag=report.lag,
            wait=min(1.0, (report.waited - before.waited) / seconds) if seconds > 0 else 0.0,
            loss=report.loss,
            cpu=report.cpu,
        )

    def begin(self, stream: StreamNow) -> None:
        """A stream has begun, and members that are new to it."""
        self._last, self._before = (monotonic(), stream), {}

    def overall(self, reports: Mapping[str, Report]) -> Bottleneck | None:
        """What set the pace of the whole run; None without a stream, or before any step."""
        waits = [each.waited / each.seconds for each in reports.values() if each.samples]
        if not (waits and self.fills and self._spent.capacity):
            return None
        return bottleneck(self._spent.pressure(waiting=min(waits), fill=fmean(self.fills)))

    def _step(
        self, now: float, stream: StreamNow, members: Sequence[MemberNow]
    ) -> Bottleneck | None:
        """What sets the pace since the last look."""
        since, before = self._last
        self._last = now, stream
        spent = _spent(before, stream, seconds=now - since)
        active = [each.wait for each in members if each.rate > 0]
        if not (active and spent.capacity):
            return None
        self._spent = self._spent + spent
        self.fills.append(stream.fill)
        return bottleneck(spent.pressure(waiting=min(active), fill=stream.fill))

    def _weigh(self, now: float) -> None:
        if now - self._weighed > SELDOM or self.memory is None:
            self._weighed = now
            self.memory = max(self.memory or 0.0, memory_of_descendants()) or None


def _spent(before: StreamNow, now: StreamNow, *, seconds: float) -> _Spent:
    return _Spent(
        read=now.read - before.read,
        transform=now.transform - before.transform,
        store=now.store - before.store,
        capacity=seconds * now.workers,
    )
