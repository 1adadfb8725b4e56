"""Devices: the accelerators that compute."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated

from foretrain.errors import InputError
from foretrain.units import BYTES, BYTES_PER_SECOND, FLOP_PER_SECOND, WATTS

FlopRate = Annotated[float, FLOP_PER_SECOND]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """Dense FLOP/s that a device's data sheet promises, by precision; None where it has none."""

    fp32: FlopRate
    tf32: FlopRate | None = None
    fp16: FlopRate | None = None
    bf16: FlopRate | None = None
    fp8: FlopRate | None = None
    fp4: FlopRate | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not value > 0:
                raise InputError(f"Peak.{each.name} must be above 0 FLOP/s, got {value}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator as software sees it.

    Attributes:
        name: catalogue name.
        peak: dense FLOP/s by precision.
        matmul: FLOP/s of the best 16-bit matrix product that somebody measured, of fp32 where the
            device has no 16 bits; None if nobody.
        memory: bytes.
        memory_bandwidth: bytes per second, data sheet.
        triad: share of memory_bandwidth that the best Triad which somebody measured moves; None if
            nobody.
        asynchronous: whether matrix units reach their peak only with instructions that do not wait
            (Hopper and later).
        units: processors that work on tiles of a matrix side by side (streaming multiprocessors).
        quick_windows: whether libraries have Winograd's algorithm for its fp32 (NVIDIA's have it
            from Maxwell on).
        compute_capability: NVIDIA's number of its generation, 9.0 for Hopper, by which the
            collective library tunes itself; None for other makers.
        released: month in which the first device was sold that runs the same code, year first, from
            which on libraries learn to use it; None if nobody says.
        power: watts, rated; None where nobody states it. A cluster's energy counts whole nodes.
        idle_power: watts with nothing to do; None where nobody states it.
    """

    name: str
    peak: Peak
    matmul: FlopRate | None = None
    memory: Annotated[float, BYTES]
    memory_bandwidth: Annotated[float, BYTES_PER_SECOND]
    triad: float | None = field(default=None, metadata={"if_set": True})
    units: int
    asynchronous: bool = False
    quick_windows: bool = True
    compute_capability: float | None = field(default=None, metadata={"if_set": True})
    released: str | None = field(default=None, metadata={"if_set": True})
    power: Annotated[float, WATTS] | None = None
    idle_power: Annotated[float, WATTS] | None = None

    def __post_init__(self) -> None:
        for name, unit in (
            ("memory", "bytes"),
            ("memory_bandwidth", "bytes/s"),
            ("units", "unit"),
        ):
            if not getattr(self, name) > 0:
                raise InputError(
                    f"Device.{name} must be above 0 {unit}, got {getattr(self, name)}."
                )
        if self.matmul is not None and not self.matmul > 0:
            raise InputError(f"Device.matmul must be above 0 FLOP/s, got {self.matmul}.")
        if self.triad is not None and not 0 < self.triad <= 1:
            raise InputError(f"Device.triad must be above 0 and at most 1, got {self.triad}.")
        if self.compute_capability is not None and not self.compute_capability >= 1:
            raise InputError(
                f"Device.compute_capability must be at least 1, got {self.compute_capability}."
            )
        if self.power is not None and not self.power > 0:
            raise InputError(f"Device.power must be above 0 W, got {self.power}.")
        if self.idle_power is not None and not self.idle_power >= 0:
            raise InputError(f"Device.idle_power must be at least 0 W, got {self.idle_power}.")
