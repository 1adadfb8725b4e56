"""Jobs: how a training is run around its steps; no choice here changes what a step takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foretrain.errors import InputError


class Mode(StrEnum):
    """Who waits while a checkpoint is written."""

    BLOCKING = "blocking"
    """Training stands still until the last byte is stored."""
    ASYNCHRONOUS = "asynchronous"
    """Training stands still for a copy to the hosts' memory, which is stored in the background."""


class Writes(StrEnum):
    """When checkpoints are written, where no time between them is given."""

    OPTIMAL = "optimal"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """How a training is started, saved and restarted.

    Attributes:
        checkpoint: seconds of training between two checkpoints, or how to choose them.
        mode: who waits for them.
        restart: seconds from a failure to the next step; None for what foretrain predicts.
        start: seconds before the first step; None for what foretrain predicts.
    """

    checkpoint: float | Writes = Writes.OPTIMAL
    mode: Mode = Mode.BLOCKING
    restart: float | None = None
    start: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.checkpoint, Writes) and not self.checkpoint > 0:
            raise InputError(f"JobPlan.checkpoint must be above 0 s, got {self.checkpoint}.")
        for name in ("restart", "start"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"JobPlan.{name} must be at least 0 s, got {value}.")
