"""The machine of a run: cores, memory and energy.

The machine: cores that a run may use, processor time and memory of all its processes.

Energy of a run: what the processor's own counters say, else what the power model says.

Processors with running average power limits count the joules of each socket and its memory in
files of the kernel. Counters start again from 0 at their range, after minutes under full load: read
the meter more often than that.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic, process_time
from typing import Final

from foretrain.ensemble.costs import Watts
from foretrain.ensemble.run.home import apart
from foretrain.errors import InputError, require

_TICKS = os.sysconf("SC_CLK_TCK")
"""Of a second."""


@contextmanager
def limited(cores: int | None) -> Iterator[int]:
    """Keep this process, and all that are forked from it here, to so many cores.

    Args:
        cores: at most; None for all that this process may use.

    Yields:
        How many there are.

    Raises:
        InputError: this process may use fewer.
    """
    allowed = _cores()
    if cores is not None and cores > len(allowed):
        raise InputError(
            f"ensemble.cores is {cores} and this process may use {len(allowed)}. Write at most "
            "that, or leave it out to use them all."
        )
    used = allowed if cores is None else allowed[:cores]
    _keep_to(used)
    try:
        yield len(used)
    finally:
        _keep_to(allowed)


def _cores() -> list[int]:
    """The cores that this process may use: all of them, where the system keeps nobody to some."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _keep_to(cores: Collection[int]) -> None:
    """Keep this process to these cores, where the system can: nothing is started elsewhere."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def cores_here() -> int:
    """Cores that this process may use."""
    return len(_cores())


AUTOGROUP: Final = Path("/proc/sys/kernel/sched_autogroup_enabled")

CGROUPS: Final = Path("/proc/self/cgroup")


def by_session(autogroup: Path = AUTOGROUP, cgroups: Path = CGROUPS) -> bool:
    """Whether the kernel deals cores out to sessions: not within a group of its own for cores.

    Args:
        autogroup: the kernel's setting.
        cgroups: those of this process; of the second version there is one for everything.
    """
    if not (autogroup.exists() and cgroups.exists()):
        return False
    groups = [line.split(":", 2)[1:] for line in cgroups.read_text("utf-8").splitlines()]
    places = {place for kinds, place in groups if not kinds or "cpu" in kinds.split(",")}
    return autogroup.read_text("utf-8").strip() == "1" and places <= {"/"}


TURNS: Final = 8
"""In which work is done alone and beside others."""

MOST_CONTENTION: Final = 0.99
"""Cores that slow each other by more would do less together than one of them."""


def contention(work: Callable[[], object], *, cores: int, seconds: float) -> float:
    """Share of its time alone by which work slows down per further core that does the same.

    A process for each further core works and is stopped in turns, so that a machine that gets
    slower or quicker meanwhile does so for both.

    Args:
        work: is done again and again.
        cores: that may be used.
        seconds: that it may take, about.
    """
    beside = [_forever(work) for _ in range(cores - 1)]
    taken: dict[int, list[float]] = {signal.SIGSTOP: [], signal.SIGCONT: []}
    try:
        for order in [*taken] * TURNS:
            for process in beside:
                os.kill(process, order)
            taken[order].append(_core_seconds(work, seconds / (2 * TURNS)))
    finally:
        for process in beside:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    alone, together = (median(each) for each in taken.values())
    return min(MOST_CONTENTION, max(0.0, (together / alone - 1.0) / max(1, cores - 1)))


def _core_seconds(work: Callable[[], object], long_enough: float) -> float:
    """That work takes each time."""
    times, began, cpu = 0, monotonic(), process_time()
    while not times or monotonic() - began < long_enough:
        work()
        times += 1
    return (process_time() - cpu) / times


def _forever(work: Callable[[], object]) -> int:
    """A forked process that works until it is killed, or left alone."""
    ours, process = os.getpid(), os.fork()
    if process:
        return process
    with suppress(BaseException):
        while os.getppid() == ours:
            work()
    os._exit(1)


def processor_time() -> float:
    """Seconds of processor time of this process and of all descendants that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(each.ru_utime + each.ru_stime for each in used)


def time_of_everything() -> float:
    """Seconds of processor time of this process and all its descendants, ended or not."""
    return (
        processor_time()
        + sum(ticks_of(process) for process in descendants_of(os.getpid())) / _TICKS
    )


def time_of_descendants() -> float:
    """Seconds of processor time of the descendants of this process that are still there."""
    return 1e-9 * sum(nanoseconds_of(process) for process in descendants_of(os.getpid()))


def memory_free() -> float:
    """Bytes that new processes can have without anything being swapped.

    A system other than Linux tells what it has, not what is free; nothing is started there.
    """
    if not sys.platform.startswith("linux"):
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    found = next(line for line in lines if line.startswith("MemAvailable"))
    return 1024.0 * int(found.split()[1])


def gpus() -> tuple[int, float]:
    """How many GPUs PyTorch can use here, and the bytes that are free on the fullest of them.

    Asked in a process of its own, as what asks a GPU holds memory on it until it ends.

    Raises:
        MissingExtra: PyTorch is not installed.
    """
    require("torch", what="device = 'auto', which asks for the GPUs of this machine,")
    count, memory = apart(_gpus, what="the GPUs of this machine")
    return int(count), float(memory)


def memory_of_descendants() -> float:
    """Bytes that the descendants of this process hold; what several share is counted once."""
    return 1024.0 * sum(kibibytes_of(process) for process in descendants_of(os.getpid()))


def _gpus() -> tuple[int, float]:
    import torch

    count = torch.cuda.device_count()
    return count, min((torch.cuda.mem_get_info(n)[0] for n in range(count)), default=0.0)


def kibibytes_of(process: int) -> int:
    """Kibibytes of a process, those shared by n processes as 1/n; 0 of one that is gone."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))


def nanoseconds_of(process: int) -> int:
    """On a core, in nanoseconds; 0 of a process that is gone."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0


def ticks_of(process: int) -> int:
    """Ticks of a process and of those of its descendants that have ended; 0 of one that is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return sum(map(int, text.rsplit(")", 1)[1].split()[11:15]))


def descendants_of(process: int) -> Iterator[int]:
    """Ids of the processes below one, of those that are still there."""
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    except OSError:
        return
    for child in map(int, text.split()):
        yield child
        yield from descendants_of(child)


POWERCAP = Path("/sys/class/powercap")

COUNTED = ("package", "dram")
"""Zones that add up: a package holds its cores, memory is beside it. Source: the kernel's
documentation of the power capping framework."""

MICRO = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Joules, and who says so.

    Attributes:
        joules: since the meter was made; with the power model only those above idle.
        source: "RAPL" or "power model".
        note: what is counted, and why it is not RAPL where it is not.
    """

    joules: float
    source: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """One counter of the kernel.

    Attributes:
        folder: where its files lie.
        name: as the kernel calls it.
        span: joules at which it starts again from 0.
    """

    folder: Path
    name: str
    span: float

    def joules(self) -> float:
        """What it counts now."""
        return _number(self.folder / "energy_uj") * MICRO


class EnergyMeter:
    """Adds up the energy of this machine from the moment it is made."""

    def __init__(self, folder: Path = POWERCAP) -> None:
        """Start counting.

        Args:
            folder: where the kernel shows its counters.
        """
        self._zones, self._missing = _zones(folder)
        self._last = [zone.joules() for zone in self._zones]
        self._total = 0.0

    @property
    def measures(self) -> bool:
        """Whether this machine counts its energy and lets us read it."""
        return bool(self._zones)

    def read(self) -> float:
        """Joules so far; call it at least once per range of the counters."""
        now = [zone.joules() for zone in self._zones]
        for zone, before, after in zip(self._zones, self._last, now, strict=True):
            self._total += after - before + (zone.span if after < before else 0.0)
        self._last = now
        return self._total

    def energy(
        self,
        watts: Watts,
        *,
        core_seconds: float,
        device_seconds: float = 0.0,
        seconds: float = 0.0,
    ) -> Energy:
        """What was used: counted if it can be, otherwise by the power model.

        Args:
            watts: of a busy core and a busy device above idle.
            core_seconds: CPU time since the meter was made.
            device_seconds: time for which devices were busy.
            seconds: for which anything ran.
        """
        if self.measures:
            names = ", ".join(sorted(zone.name for zone in self._zones))
            return Energy(joules=self.read(), source="RAPL", note=f"counted by {names}")
        return Energy(
            joules=watts.core * core_seconds
            + watts.device * device_seconds
            + watts.running * seconds,
            source="power model",
            note=f"above idle, from busy cores and devices; {self._missing}",
        )


def _zones(folder: Path) -> tuple[list[Zone], str]:
    """The counters that can be read, and why there is none where there is none."""
    found = [
        each.parent
        for each in sorted(folder.glob("intel-rapl:*/name"))
        if each.read_text().strip().startswith(COUNTED)
    ]
    if not found:
        return [], f"this machine has no energy counters in {folder}"
    try:
        zones = [
            Zone(
                folder=each,
                name=(each / "name").read_text().strip(),
                span=_number(each / "max_energy_range_uj") * MICRO,
            )
            for each in found
        ]
        for zone in zones:
            zone.joules()  # perhaps we may not
        return zones, ""
    except PermissionError:
        return [], f"the energy counters in {folder} may be read by root only"


def _number(file: Path) -> int:
    return int(file.read_text())
