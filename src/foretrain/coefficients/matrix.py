"""Matrix products: what they reach of the peak."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Matrix products: what they reach of the peak.

    Attributes:
        sustained: matrix products inside a training over the best one measured alone.
        best: best measured matrix product over the peak, for devices without a measurement.
        earliest: share of that which the first matrix units (without bf16) keep.
        asynchronous: share of that which asynchronous matrix units keep.
        fp8: share of their peak that fp8 products keep, over the same share of 16 bits.
        fp4: the same for fp4.
        fp32: share of their peak that products of plain fp32 keep.
        tf32: share of their peak that tf32 products keep, over the same share of 16 bits.
    """

    sustained: float
    best: float
    earliest: float
    asynchronous: float
    fp8: float
    fp4: float
    fp32: float
    tf32: float
