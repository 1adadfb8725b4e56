"""Memory that no formula counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """Memory that no formula counts.

    Attributes:
        reserve: bytes that driver, libraries and allocator take from a device.
    """

    reserve: float
