"""What is known of an ensemble before it runs: its samples, and each member on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from foretrain.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCosts:
    """What one sample costs whoever prepares it.

    Attributes:
        prepare: core-seconds to read and decode it: what members can share.
        seconds: from asking for it to having it, one at a time.
        size: bytes, as members get it.
        count: samples of an epoch; None where the data set does not tell.
    """

    prepare: float
    seconds: float
    size: float
    count: int | None = None

    def __post_init__(self) -> None:
        for name in ("prepare", "seconds", "size"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"SampleCosts.{name} must be above 0, got {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCosts:
    """One member on its own, with samples always at hand.

    Attributes:
        rate: samples per second.
        cpu: core-seconds per sample: its own transform and its step.
        memory: bytes of the host that its process holds by itself.
        device_memory: bytes of a GPU that it holds; 0 on the CPU.
    """

    rate: float
    cpu: float
    memory: float
    device_memory: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.rate < inf:
            raise InputError(f"StepCosts.rate must be above 0 samples/s, got {self.rate}.")
        for name in ("cpu", "memory", "device_memory"):
            if not 0 <= getattr(self, name) < inf:
                raise InputError(f"StepCosts.{name} must be at least 0, got {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What is known of an ensemble before it runs.

    Attributes:
        sample: of the data set.
        members: each on its own, by name.
        measured: whether this machine measured it, a moment ago; otherwise the study says it.
    """

    sample: SampleCosts
    members: Mapping[str, StepCosts]
    measured: bool = True
