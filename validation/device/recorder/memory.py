"""Peak memory of a training."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import torch

from recorder.machine import Machine

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


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


def start_of_memory(machine: Machine) -> int:
    """Forgets earlier peaks; bytes that the process holds now."""
    if machine.is_gpu:
        torch.cuda.reset_peak_memory_stats()
        return 0
    if not RESET.exists():
        return 0
    RESET.write_text("5")  # the kernel's word for: the peak starts again here
    return _status("VmRSS")


def memory_of(machine: Machine, before: int) -> Memory | None:
    """The peak since the start; None where the system does not tell."""
    if machine.is_gpu:
        free, whole = torch.cuda.mem_get_info()
        return Memory(
            used=torch.cuda.max_memory_allocated(),
            reserved=torch.cuda.max_memory_reserved(),
            device=whole - free,
        )
    return Memory(used=_status("VmHWM") - before) if STATUS.exists() else None


def _status(name: str) -> int:
    found = re.search(rf"{name}:\s+([0-9]+) kB", STATUS.read_text())
    assert found
    return 1024 * int(found[1])
