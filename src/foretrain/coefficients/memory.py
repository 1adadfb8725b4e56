"""Memory that is taken beside what operators keep and parameters need."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import pairwise

from foretrain.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """Memory that is taken beside what operators keep and parameters need.

    Attributes:
        reserve: bytes outside the framework's allocator: context, libraries, communication.
        fragmentation: what the allocator holds and cannot hand out, over what it has handed out.
        temporaries: what passes through a layer at the peak, over what a micro-batch keeps.
    """

    reserve: float
    fragmentation: float
    temporaries: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryErrors:
    """Percentiles of log(measured / predicted) memory, of runs that were not fitted to.

    Attributes:
        p02: 2nd percentile.
        p10: 10th percentile.
        p50: median.
        p90: 90th percentile.
        p98: 98th percentile.
    """

    p02: float
    p10: float
    p50: float
    p90: float
    p98: float

    def __post_init__(self) -> None:
        values = astuple(self)
        if any(not first < second for first, second in pairwise(values)):
            raise InputError(f"MemoryErrors: percentiles must grow, got {values}.")
