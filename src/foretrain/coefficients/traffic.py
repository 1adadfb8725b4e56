"""Memory traffic of kernels that only move data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Memory traffic of kernels that only move data.

    Attributes:
        sustained: memory traffic of simple kernels over the data sheet's bandwidth.
        eager: what operations one by one move, and how many kernels they are, over fused ones.
        graph: the same of a runtime that fuses what it finds in a graph.
        wide: share of what software without kernels of its own moves in 4 bytes beside products of
            16 bits.
        stretched: what kernels reach of that for operands of two widths, or stretched or strided.
        scanned: what scans of state-space layers reach of what limits them.
    """

    sustained: float
    eager: float
    graph: float
    wide: float
    stretched: float
    scanned: float
