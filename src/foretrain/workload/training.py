"""Training: the data set, the evaluations between the steps, and a batch that grows."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """The data set.

    Attributes:
        samples: samples of one epoch.
        sample_bytes: bytes of one sample as it is stored; None if not known.
        prepare: seconds that one host core needs to make one sample ready; None if not known.
    """

    samples: float
    sample_bytes: float | None = None
    prepare: float | None = None

    def __post_init__(self) -> None:
        if not self.samples > 0:
            raise InputError(f"Data.samples must be above 0, got {self.samples}.")
        for name in ("sample_bytes", "prepare"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"Data.{name} must be at least 0, got {value}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Forward passes over held-out samples, again and again.

    Attributes:
        every: samples that are trained between two evaluations.
        samples: samples of one evaluation.
    """

    every: float
    samples: float

    def __post_init__(self) -> None:
        for name in ("every", "samples"):
            if not getattr(self, name) > 0:
                raise InputError(f"Evaluation.{name} must be above 0, got {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRamp:
    """A batch that grows in equal increments to the global batch.

    Attributes:
        start: samples of the first step.
        increment: samples by which the batch grows.
        samples: trained samples after which it has its full size; each size takes an equal part.
    """

    start: int
    increment: int
    samples: float

    def __post_init__(self) -> None:
        for name in ("start", "increment", "samples"):
            if not getattr(self, name) > 0:
                raise InputError(f"BatchRamp.{name} must be above 0, got {getattr(self, name)}.")

    def reaches(self, global_batch: int) -> bool:
        """Whether the batch grows to this one in whole increments."""
        rest = global_batch - self.start
        return rest >= 0 and rest % self.increment == 0
