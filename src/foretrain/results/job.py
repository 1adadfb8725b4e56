"""What `estimate` answers about a whole job, beyond its step."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.results.parts import added_up


@dataclass(frozen=True, slots=True, kw_only=True)
class JobParts:
    """Expected seconds of a whole job; they add up to the time to train.

    Attributes:
        start: from granted nodes to the first step.
        steps: steps that count, smaller ones of a batch ramp included.
        cold_input: waiting for samples in the first epoch, beyond what later ones wait.
        evaluation: passes over held-out samples.
        checkpoints: standing still while a checkpoint is written or copied.
        lost: work that failures undo.
        restarts: from failures to the next steps.
    """

    start: float = 0.0
    steps: float = 0.0
    cold_input: float = 0.0
    evaluation: float = 0.0
    checkpoints: float = 0.0
    lost: float = 0.0
    restarts: float = 0.0

    @property
    def total(self) -> float:
        """The job, in seconds: the parts added in the order of their fields."""
        return added_up(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTime:
    """A whole job.

    Attributes:
        start_time: seconds before the first step; 0 where the study has no [job].
        goodput: share of the time after it that goes into steps that count; None if not known.
        parts: what the job consists of; None without an amount, or if not known.
        checkpoint_bytes: what one checkpoint stores.
        checkpoint_interval: seconds of work between two; None without any, or if not known.
        checkpoint_seconds: seconds that training stands still for one; None as before.
        failures: how many are expected after the start; None without an amount, or if not known.
    """

    start_time: float
    goodput: float | None
    parts: JobParts | None
    checkpoint_bytes: float
    checkpoint_interval: float | None
    checkpoint_seconds: float | None
    failures: float | None
