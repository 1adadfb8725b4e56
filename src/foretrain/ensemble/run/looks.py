"""Reports: what a member tells the process that started it, as lines of JSON through a pipe.

Looks at a run: what members tell and the stream counts, between one look and the next.

The bottleneck: which stage of a shared stream sets the pace of the members.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection
from statistics import fmean
from time import monotonic
from typing import Final

from foretrain.ensemble.result import MemberNow, MemberState, Snapshot
from foretrain.ensemble.run.machine import memory_of_descendants
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import Bottleneck, Stage

SATURATED: Final = 0.75
"""Share of the time that a stage works from which on it holds the others up.

A stage that sets the pace works all the time, but for the noise of a machine and the first samples.
"""

REMEDIES: Final = {
    Stage.READER: "More workers read at once, or faster storage; or a smaller form of the samples.",
    Stage.DECODER: "More workers, if cores are left; or less work in the shared transform.",
    Stage.TRANSPORT: "More cores or fewer processes, if cores are short; else more memory, so that"
    " more samples lie ready, or smaller samples.",
    Stage.TRAINER: "Nothing is lost: members train as quickly as they can.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """What the stages of a stream did in an interval, in shares of it.

    Attributes:
        reading: time of the workers in the data set, over all their time.
        decoding: in the shared transform, likewise.
        storing: writing samples where members read them, likewise.
        waiting: time without a batch of the member that waits least, over all its time.
        fill: slots that hold samples which not all have read, over all slots.
    """

    reading: float
    decoding: float
    storing: float
    waiting: float
    fill: float

    def __post_init__(self) -> None:
        for name in ("reading", "decoding", "storing", "waiting", "fill"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"Pressure.{name} must be a share, got {getattr(self, name)}.")

    @property
    def producing(self) -> float:
        """Share of the time in which workers were not held up by those behind them."""
        return min(1.0, self.reading + self.decoding + self.storing)

    @property
    def training(self) -> float:
        """Share of the time in which the member that sets the pace trained."""
        return 1.0 - self.waiting


def bottleneck(pressure: Pressure) -> Bottleneck:
    """The stage that sets the pace.

    The stage before a bottleneck finds its queue full and the one behind it empty. Workers that
    are never held up mean that it is one of their own; members that never wait, that it is they;
    where both wait, what lies between them. Where both are busy all the time, which happens when
    they share cores, the queue between them tells.

    Source: pittman2018, section 4: full upstream and empty downstream queues locate the stage.
    """
    producing, training = pressure.producing, pressure.training
    if max(producing, training) < SATURATED:
        return _found(Stage.TRANSPORT, 1.0 - max(producing, training), pressure)
    both = min(producing, training) >= SATURATED
    if pressure.fill >= 0.5 if both else training > producing:
        return _found(Stage.TRAINER, training, pressure)
    parts = {
        Stage.READER: pressure.reading,
        Stage.DECODER: pressure.decoding,
        Stage.TRANSPORT: pressure.storing,
    }
    stage = max(parts, key=lambda each: parts[each])
    return _found(stage, parts[stage], pressure)


def _found(stage: Stage, share: float, pressure: Pressure) -> Bottleneck:
    evidence = (
        f"workers read {pressure.reading:.0%}, decode {pressure.decoding:.0%} and store"
        f" {pressure.storing:.0%} of the time; the member that sets the pace waits"
        f" {pressure.waiting:.0%}; {pressure.fill:.0%} of the slots are full"
    )
    return Bottleneck(stage=stage, share=share, evidence=evidence, remedy=REMEDIES[stage])


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

    state: MemberState = MemberState.WAITING
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
        return self.state in {MemberState.DONE, MemberState.STOPPED, MemberState.FAILED}


def send(pipe: Connection, report: Report) -> None:
    """Send one report."""
    pipe.send_bytes(json.dumps(asdict(report)).encode())


def received(pipe: Connection) -> Iterator[Report]:
    """The reports that have arrived; the end of the pipe raises EOFError."""
    while pipe.poll():
        told = json.loads(pipe.recv_bytes())
        yield Report(**{**told, "state": MemberState(told["state"])})


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
        training = any(each.state is MemberState.TRAINING for each in members)
        if training and (now - self._weighed > SELDOM or self.memory is None):
            self._weighed = now
            self.memory = max(self.memory or 0.0, memory_of_descendants()) or None
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
        spent = _Spent(
            read=stream.read - before.read,
            transform=stream.transform - before.transform,
            store=stream.store - before.store,
            capacity=(now - since) * stream.workers,
        )
        active = [each.wait for each in members if each.rate > 0]
        if not (active and spent.capacity):
            return None
        self._spent = self._spent + spent
        self.fills.append(stream.fill)
        return bottleneck(spent.pressure(waiting=min(active), fill=stream.fill))
