"""Looks at a run: what members tell and the stream counts, between one look and the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from time import monotonic
from typing import Final

from foretrain.ensemble.bottleneck import Pressure, bottleneck
from foretrain.measured.bottleneck import Bottleneck
from foretrain.results.ensemble_run import MemberNow, Snapshot, State
from foretrain.run.members.machine import memory_of_descendants
from foretrain.run.members.reports import Report

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
