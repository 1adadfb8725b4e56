"""What a source counts as memory: what was handed out, what was reserved, or the whole device.

PyTorch's allocator hands out blocks of what it has reserved; a device holds besides what the
context, libraries and communication take, and what other processes do.

Source: pytorch, torch.cuda.max_memory_allocated and max_memory_reserved.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from foretrain.measured import lore
from foretrain.measured.run import MeasuredRun


class MemoryCount(StrEnum):
    """Quantities that sources call the memory of a device."""

    ALLOCATED = "what the framework's allocator handed out"
    RESERVED = "what the framework's allocator held"
    DEVICE = "all that is taken of the device"


WORDS: Final = (
    (re.compile(r"in use when|nvidia-smi|gpu memory per device", re.I), MemoryCount.DEVICE),
    (re.compile(r"reserved", re.I), MemoryCount.RESERVED),
    (re.compile(r"(peak|max\w*) (memory )?(allocated|active)|max_memory_allocated", re.I),
     MemoryCount.ALLOCATED),
)  # fmt: skip
"""How notes say it; the first that is found counts."""


def counted_of(run: MeasuredRun) -> MemoryCount:
    """What a source counts: by its words, by its software, or else the whole device."""
    for pattern, counted in WORDS:
        if pattern.search(run.notes):
            return counted
    return MemoryCount.ALLOCATED if lore.ALLOCATED.of(run) else MemoryCount.DEVICE


def share(counted: MemoryCount, *, allocated: float, total: float, fragmentation: float) -> float:
    """A count over all that is taken of the device.

    Args:
        counted: what is counted.
        allocated: bytes that the allocator handed out.
        total: bytes of the whole device.
        fragmentation: what the allocator holds and cannot hand out, over what it has handed out.
    """
    held = {
        MemoryCount.ALLOCATED: allocated,
        MemoryCount.RESERVED: allocated * (1.0 + fragmentation),
        MemoryCount.DEVICE: total,
    }
    return held[counted] / total
