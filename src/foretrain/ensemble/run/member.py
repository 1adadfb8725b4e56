"""A tally: what a member has done, added up as it goes and told now and then.

Members: a process that trains one model or several on what loaders give, and tells how it goes.
"""

from __future__ import annotations

import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from math import inf
from multiprocessing.connection import Connection
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any, Final

from batchcast.order import Generators, generators_kept
from foretrain.ensemble.result import MemberState
from foretrain.ensemble.run.home import MENDABLE, Loaded
from foretrain.ensemble.run.inputs import Loader, SharedLoader, TakenInTurns, opens
from foretrain.ensemble.run.looks import Report, send
from foretrain.ensemble.run.trainee import Trainee, size_of, trainee
from foretrain.ensemble.run.written import RunFolder
from foretrain.measured.ensemble_study import Recipe

if TYPE_CHECKING:
    import torch


OFTEN: Final = 0.2
"""Seconds between two reports: often enough for a live table, too seldom to cost anything."""

Stats = Callable[[], Mapping[str, Any]]


@dataclass(slots=True)
class Mean:
    """A mean of losses, which stay on their device until somebody asks.

    Attributes:
        total: of loss times samples.
        samples: how many.
    """

    total: torch.Tensor | float = 0.0
    samples: int = 0

    def add(self, loss: torch.Tensor, samples: int) -> None:
        """A step with this mean loss was done."""
        self.total = self.total + loss * samples
        self.samples += samples

    @property
    def value(self) -> float | None:
        """The mean; None of nothing."""
        return float(self.total) / self.samples if self.samples else None


@dataclass(slots=True)
class MemberProgress:
    """What a member has done since its process began.

    Attributes:
        pipe: to whom it is told.
        stats: of the loader.
        attached: whether there is a loader.
        epoch: that it is in.
        samples: that it trained on.
        recent: loss since the last report.
        whole: loss of the epoch so far.
        last: loss of the epoch before.
    """

    pipe: Connection
    stats: Stats = dict
    attached: bool = False
    epoch: int = 0
    samples: int = 0
    recent: Mean = field(default_factory=Mean)
    whole: Mean = field(default_factory=Mean)
    last: float | None = None
    _began: float = field(default_factory=monotonic)
    _told: float = 0.0
    _cpu: float = 0.0

    def attach(self, stats: Stats) -> None:
        """There is a loader, with these statistics."""
        self.stats, self.attached = stats, True
        self.tell(MemberState.WAITING)

    def begin(self) -> None:
        """The first batch is asked for now."""
        self._began, self._cpu = monotonic(), process_time()
        self.tell(MemberState.TRAINING)

    def add(self, loss: torch.Tensor, samples: int) -> None:
        """One step was done on so many samples."""
        self.samples += samples
        self.recent.add(loss, samples)
        self.whole.add(loss, samples)
        if monotonic() - self._told > OFTEN:
            self.tell(MemberState.TRAINING)

    def leave_out(self, spent: float) -> None:
        """Another member of this process spent so many seconds of processor time meanwhile."""
        self._cpu += spent

    def end_epoch(self) -> None:
        """All batches of the epoch were trained on."""
        self.epoch, self.last, self.whole = self.epoch + 1, self.whole.value, Mean()

    def tell(self, state: MemberState, *, reason: str = "") -> None:
        """Report; quietly nothing where nobody listens any more."""
        now, stats = monotonic(), self.stats()
        report = Report(
            state=state,
            attached=self.attached,
            epoch=self.epoch,
            samples=self.samples,
            seconds=now - self._began if self.attached else 0.0,
            waited=stats.get("wait_seconds", 0.0),
            loss=self.recent.value,
            epoch_loss=self.whole.value if self.last is None else self.last,
            cpu=process_time() - self._cpu,
            dropped=stats.get("dropped", 0),
            skipped=stats.get("skipped", 0),
            reason=reason,
        )
        self.recent, self._told = Mean(), now
        try:
            send(self.pipe, report)
        except BrokenPipeError:
            raise SystemExit(1) from None

    def state_dict(self) -> dict[str, Any]:
        """What a later process needs to go on counting."""
        return {
            "epoch": self.epoch,
            "total": float(self.whole.total),
            "samples": self.whole.samples,
            "last": self.last,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a state was taken."""
        self.epoch, self.last = state["epoch"], state["last"]
        self.whole = Mean(state["total"], state["samples"])


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberJob:
    """What a member's process does for it.

    Attributes:
        recipe: how it trains.
        reader: the member of this process whose batches it takes, often its own.
        reads: name of the stream that it reads; nothing where it prepares its samples itself.
        samples: of an epoch; None where only its end tells.
        ends: the epoch before which it ends, in this part of the run.
        threads: of its own for computing.
        folder: where its state is kept.
        every: seconds between two states within an epoch; inf to keep only what the next part of
            the run needs.
    """

    recipe: Recipe
    reader: str
    reads: str | None
    samples: int | None
    ends: int
    threads: int
    folder: RunFolder
    every: float


class Loaders:
    """The loaders of a process: one for all of its members that share a reader.

    All are opened at once, for a stream answers its readers when all of them are there.
    """

    def __init__(self, loaded: Loaded, jobs: Sequence[MemberJob]) -> None:
        self._loaded = loaded
        self._left = Counter(job.reader for job in jobs)
        self._alone = {reader for reader, members in self._left.items() if members == 1}
        first = {job.reader: job for job in reversed(jobs)}
        if len(first) == 1:
            self._opened = {reader: self._open(job) for reader, job in first.items()}
            return
        with ThreadPoolExecutor(len(first)) as pool:
            self._opened = dict(zip(first, pool.map(self._open, first.values()), strict=True))

    def _open(self, job: MemberJob) -> _Opened:
        """The loader of a member, at the place of its state, or why there is none."""
        stack = ExitStack()
        try:
            state = job.folder.load(job.recipe.name)
            place = state["loader"] if state else None
            opening = opens(self._loaded, job.recipe, place, reads=job.reads)
            return _Opened(stack, SharedLoader(stack.enter_context(opening)), None)
        except Exception as error:  # each of its members tells
            return _Opened(stack, None, error)

    def of(self, job: MemberJob) -> Loader:
        """The loader of a member.

        Raises:
            Exception: it could not be opened.
        """
        opened = self._opened[job.reader]
        if opened.loader is None:
            assert opened.failure is not None
            raise opened.failure
        return opened.loader.loader if job.reader in self._alone else TakenInTurns(opened.loader)

    def place(self, job: MemberJob) -> tuple[int, int]:
        """How far a member's loader is; before everything where there is none."""
        opened = self._opened[job.reader].loader
        return (opened.loader.epoch, opened.loader.position) if opened else (-1, 0)

    def leave(self, job: MemberJob) -> None:
        """A member has ended; with the last one that shares it, so has its loader."""
        self._left[job.reader] -= 1
        if not self._left[job.reader]:
            self._opened[job.reader].stack.close()


@dataclass(frozen=True, slots=True)
class _Opened:
    """A loader until its stack is closed, or why there is none."""

    stack: ExitStack
    loader: SharedLoader | None
    failure: Exception | None


def live(jobs: Sequence[MemberJob], loaded: Loaded, descriptors: Sequence[int]) -> None:
    """The whole life of a process of members; whatever goes wrong with one ends as its report."""
    # SIGTERM is sent too when whoever runs the ensemble dies.
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: asked.append(number))
    tallies = [MemberProgress(Connection(each, readable=False)) for each in descriptors]
    try:
        in_turns(jobs, loaded, tallies=tallies, stop=lambda: bool(asked))
    finally:
        for each in tallies:
            each.pipe.close()


@dataclass(slots=True)
class _Seat:
    """One member of a process.

    Attributes:
        job: what it does.
        tally: what it has done.
        turns: each trains on one batch.
        generators: that it draws from; nothing where it is alone.
    """

    job: MemberJob
    tally: MemberProgress
    turns: Iterator[None]
    generators: Generators | None

    def turn(self) -> bool:
        """Whether another one follows this one."""
        try:
            with self.generators.in_use() if self.generators else nullcontext():
                next(self.turns)
        except StopIteration:
            return False
        except MENDABLE as error:
            self.tally.tell(MemberState.FAILED, reason=str(error))
            return False
        except Exception as error:
            where = traceback.format_tb(error.__traceback__)[-1].strip()
            reason = f"{type(error).__name__}: {error}\n{where}"
            self.tally.tell(MemberState.FAILED, reason=reason)
            return False
        return True


def in_turns(
    jobs: Sequence[MemberJob],
    loaded: Loaded,
    *,
    tallies: Sequence[MemberProgress],
    stop: Callable[[], bool],
) -> None:
    """Train the members of a process, a batch of each at a time, until all have ended.

    The loader that is farthest behind goes first: what the others wait for may wait for it. A
    member that fails leaves, and the others go on.
    """
    import torch

    torch.set_num_threads(jobs[0].threads)
    halted = [False]
    loaders = Loaders(loaded, jobs)
    own = Generators if len(jobs) > 1 else lambda: None
    seats = []
    for job, tally in zip(jobs, tallies, strict=True):
        halts = (lambda: halted[0]) if len(jobs) > 1 else stop
        turns = training(job, loaded, loaders, tally=tally, stop=halts)
        seats.append(_Seat(job, tally, turns, own()))
    while seats:
        reader = min(seats, key=lambda each: loaders.place(each.job)).job.reader
        halted[0] = len(jobs) > 1 and stop()  # once, so that who shares batches ends with the same
        for seat in [each for each in seats if each.job.reader == reader]:
            began = process_time()
            goes_on = seat.turn()
            spent = process_time() - began
            for other in seats:
                if other is not seat:
                    other.tally.leave_out(spent)
            if not goes_on:
                seats.remove(seat)
                loaders.leave(seat.job)


def training(
    job: MemberJob,
    loaded: Loaded,
    loaders: Loaders,
    *,
    tally: MemberProgress,
    stop: Callable[[], bool],
) -> Iterator[None]:
    """The turns of a member, in each of which it trains on a batch."""
    state = job.folder.load(job.recipe.name)
    loader = loaders.of(job)
    tally.attach(loader.stats)
    trained = trainee(job.recipe, loaded.study.folder, seed=loaded.study.seed)
    if state is not None:
        trained.load_state_dict(state["trainee"])
        tally.load_state_dict(state["tally"])
    tally.begin()
    while tally.epoch < job.ends and not stop():
        yield from _epoch(job, trained, loader, tally=tally, stop=stop)
        yield  # whoever shares the loader ends the epoch before the next begins
    tally.tell(MemberState.DONE if tally.epoch >= job.ends else MemberState.STOPPED)


def _epoch(
    job: MemberJob,
    trained: Trainee,
    loader: Loader,
    *,
    tally: MemberProgress,
    stop: Callable[[], bool],
) -> Iterator[None]:
    """Train until the epoch ends, or somebody asks to stop before."""
    with generators_kept():  # a stream's loop draws, a private one's does not, nor one resumed
        batches = iter(loader)
    kept = monotonic()
    for batch in batches:
        tally.add(trained.step(batch), size_of(batch))
        if loader.position == job.samples:
            yield  # the epoch is over, which the end of the loop will keep
            continue
        ends = stop()  # asked once: who is asked to stop meanwhile keeps its state too
        if job.every < inf and (ends or monotonic() - kept > job.every):
            _keep(job, trained, loader, tally=tally)
            kept = monotonic()
        if ends:
            return
        yield
    tally.end_epoch()
    if job.every < inf or tally.epoch == job.ends < job.recipe.epochs:
        _keep(job, trained, loader, tally=tally)


def _keep(job: MemberJob, trained: Trainee, loader: Loader, *, tally: MemberProgress) -> None:
    state = {"trainee": trained.state_dict(), "loader": loader.state_dict()}
    job.folder.save(job.recipe.name, {**state, "tally": tally.state_dict()})
