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
        memory: bytes that a process which prepares samples holds by itself.
        count: samples of an epoch; None where the data set does not tell.
    """

    prepare: float
    seconds: float
    size: float
    memory: float = 0.0
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
class HandingCosts:
    """What it costs to hand one sample on, once it is prepared.

    Attributes:
        store: core-seconds to put it where members read it, the stream's bookkeeping included.
        deliver: core-seconds in which a reader of a stream is given it.
        collate: core-seconds in which a member without a stream puts it into a batch.
    """

    store: float = 0.0
    deliver: float = 0.0
    collate: float = 0.0

    def __post_init__(self) -> None:
        for name in ("store", "deliver", "collate"):
            if not 0 <= getattr(self, name) < inf:
                raise InputError(f"HandingCosts.{name} must be at least 0, got {self}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What is known of an ensemble before it runs.

    Attributes:
        sample: of the data set.
        handing: a sample from one process to another.
        members: each on its own, by name.
        measured: whether this machine measured it, a moment ago; otherwise the study says it.
    """

    sample: SampleCosts
    handing: HandingCosts
    members: Mapping[str, StepCosts]
    measured: bool = True
