"""A tally: what a member has done, added up as it goes and told now and then.

One member: a process that trains a model on what a loader gives it, and tells how it goes.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from multiprocessing.connection import Connection
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any, Final

from batchcast.order import generators_kept
from foretrain.ensemble.result import MemberState
from foretrain.ensemble.run.home import MENDABLE, Loaded
from foretrain.ensemble.run.inputs import Loader, opens
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
    """What a member's process does.

    Attributes:
        recipe: how it trains.
        reads: name of the stream that it reads; nothing where it prepares its samples itself.
        samples: of an epoch; None where only its end tells.
        ends: the epoch before which it ends, in this part of the run.
        threads: of its own for computing.
        folder: where its state is kept.
        every: seconds between two states within an epoch; inf to keep only what the next part of
            the run needs.
    """

    recipe: Recipe
    reads: str | None
    samples: int | None
    ends: int
    threads: int
    folder: RunFolder
    every: float


def live(job: MemberJob, loaded: Loaded, descriptors: Sequence[int]) -> None:
    """The whole life of a member's process; whatever goes wrong ends as a report."""
    # SIGTERM is sent too when whoever runs the ensemble dies.
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: asked.append(number))
    pipe = Connection(descriptors[0], readable=False)
    tally = MemberProgress(pipe)
    try:
        _train(job, loaded, tally=tally, stop=lambda: bool(asked))
    except MENDABLE as error:
        tally.tell(MemberState.FAILED, reason=str(error))
    except Exception as error:
        where = traceback.format_tb(error.__traceback__)[-1].strip()
        tally.tell(MemberState.FAILED, reason=f"{type(error).__name__}: {error}\n{where}")
    finally:
        pipe.close()


def _train(
    job: MemberJob, loaded: Loaded, *, tally: MemberProgress, stop: Callable[[], bool]
) -> None:
    import torch

    torch.set_num_threads(job.threads)
    state = job.folder.load(job.recipe.name)
    place = state["loader"] if state else None
    with opens(loaded, job.recipe, place, reads=job.reads) as loader:
        tally.attach(loader.stats)
        trained = trainee(job.recipe, loaded.study.folder, seed=loaded.study.seed)
        if state is not None:
            trained.load_state_dict(state["trainee"])
            tally.load_state_dict(state["tally"])
        tally.begin()
        while tally.epoch < job.ends and not stop():
            _epoch(job, trained, loader, tally=tally, stop=stop)
        tally.tell(MemberState.DONE if tally.epoch >= job.ends else MemberState.STOPPED)


def _epoch(
    job: MemberJob,
    trained: Trainee,
    loader: Loader,
    *,
    tally: MemberProgress,
    stop: Callable[[], bool],
) -> None:
    """Train until the epoch ends, or somebody asks to stop before."""
    with generators_kept():  # a stream's loop draws, a private one's does not, nor one resumed
        batches = iter(loader)
    kept = monotonic()
    for batch in batches:
        tally.add(trained.step(batch), size_of(batch))
        if loader.position == job.samples:
            continue  # the epoch is over, which the end of the loop will keep
        ends = stop()  # asked once: who is asked to stop meanwhile keeps its state too
        if job.every < inf and (ends or monotonic() - kept > job.every):
            _keep(job, trained, loader, tally=tally)
            kept = monotonic()
        if ends:
            return
    tally.end_epoch()
    if job.every < inf or tally.epoch == job.ends < job.recipe.epochs:
        _keep(job, trained, loader, tally=tally)


def _keep(job: MemberJob, trained: Trainee, loader: Loader, *, tally: MemberProgress) -> None:
    state = {"trainee": trained.state_dict(), "loader": loader.state_dict()}
    job.folder.save(job.recipe.name, {**state, "tally": tally.state_dict()})
