"""Memory traffic of kernels that only move data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Memory traffic of kernels that only move data.

    Attributes:
        sustained: memory traffic of simple kernels over the data sheet's bandwidth.
    """

    sustained: float
