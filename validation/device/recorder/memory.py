"""Peak memory of a training."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from recorder.machine import Machine
from recorder.outcome import Memory

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def start_of_memory(machine: Machine) -> int:
    """Forgets earlier peaks; bytes that the process holds now."""
    if machine.is_gpu:
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        return 0
    if not RESET.exists():
        return 0
    ctypes.CDLL(None).malloc_trim(0)  # what earlier trainings freed goes back to the system
    RESET.write_text("5")  # the kernel's word for: the peak starts again here
    return _status("VmRSS")


def memory_of(machine: Machine, before: int) -> Memory | None:
    """The peak since the start; None where the system does not tell."""
    if machine.is_gpu:
        import torch

        free, whole = torch.cuda.mem_get_info()
        return Memory(
            used=torch.cuda.max_memory_allocated(),
            reserved=torch.cuda.max_memory_reserved(),
            device=whole - free,
        )
    return Memory(used=_status("VmHWM") - before) if RESET.exists() else None


def _status(name: str) -> int:
    found = re.search(rf"{name}:\s+([0-9]+) kB", STATUS.read_text())
    assert found
    return 1024 * int(found[1])
