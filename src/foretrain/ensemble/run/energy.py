"""Energy of a run: what the processor's own counters say, else what the power model says.

Processors with running average power limits count the joules of each socket and its memory in
files of the kernel. Counters start again from 0 at their range, after minutes under full load: read
the meter more often than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foretrain.ensemble.costs import Watts

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

    def energy(self, watts: Watts, *, core_seconds: float, device_seconds: float = 0.0) -> Energy:
        """What was used: counted if it can be, otherwise by the power model.

        Args:
            watts: of a busy core and a busy device above idle.
            core_seconds: CPU time since the meter was made.
            device_seconds: time for which devices were busy.
        """
        if self.measures:
            names = ", ".join(sorted(zone.name for zone in self._zones))
            return Energy(joules=self.read(), source="RAPL", note=f"counted by {names}")
        return Energy(
            joules=watts.drawn(core_seconds, device_seconds),
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
