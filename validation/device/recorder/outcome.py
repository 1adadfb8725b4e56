"""What became of a training."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.timing import Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes at the peak.

    Attributes:
        used: of tensors on a GPU; what the process grew by on a processor.
        reserved: what PyTorch's allocator held, 0 on a processor.
        device: all that was taken of the device, 0 on a processor.
    """

    used: int
    reserved: int = 0
    device: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Time and memory of a training.

    Attributes:
        timing: of a step and its phases: forward, backward, update; None if it ran out of memory.
        memory: at the peak; None if it ran out of memory, or where the system does not tell.
        parameters: of the network; 0 if there was no room for them.
    """

    timing: Timing | None
    memory: Memory | None
    parameters: int
