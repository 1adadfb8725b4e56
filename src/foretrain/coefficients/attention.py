"""Fused attention: what its kernels reach of the peak, generation by generation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedAttention:
    """Fused attention: what its kernels reach of the peak in the forward pass.

    Attributes:
        first: kernels of the first generation.
        second: of the second one, on devices whose matrix units they were written for.
        asynchronous: of the third generation and of cuDNN, on devices with asynchronous units.
        legacy: share of its peak that a device with asynchronous units gives to other kernels.
        backward: what the backward pass reaches over what the forward pass does.
    """

    first: float
    second: float
    asynchronous: float
    legacy: float
    backward: float
