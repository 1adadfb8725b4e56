"""A tally: what a member has done, added up as it goes and told now and then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any, Final

from foretrain.results.ensemble_run import State
from foretrain.run.members.reports import Report, send

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
class Tally:
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
        self.tell(State.WAITING)

    def begin(self) -> None:
        """The first batch is asked for now."""
        self._began, self._cpu = monotonic(), process_time()
        self.tell(State.TRAINING)

    def add(self, loss: torch.Tensor, samples: int) -> None:
        """One step was done on so many samples."""
        self.samples += samples
        self.recent.add(loss, samples)
        self.whole.add(loss, samples)
        if monotonic() - self._told > OFTEN:
            self.tell(State.TRAINING)

    def end_epoch(self) -> None:
        """All batches of the epoch were trained on."""
        self.epoch, self.last, self.whole = self.epoch + 1, self.whole.value, Mean()

    def tell(self, state: State, *, reason: str = "") -> None:
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
