"""Fused attention: what its kernels reach of the peak."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedAttention:
    """Fused attention: what its kernels reach of the peak.

    Attributes:
        forward: fused attention, forward, over the peak.
        backward: fused attention, backward, over the peak.
    """

    forward: float
    backward: float
