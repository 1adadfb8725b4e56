"""Memory that is taken beside what operators keep and parameters need.

A whole job: start, failures, caches.

A whole step: what one run of somebody's own says of all others of the same software.
"""

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

    One group is of software of which is known what each operation keeps, another of all other.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTimes:
    """A whole job: start, failures, caches.

    Attributes:
        cache_share: share of a host's memory that can hold samples of the data set.
        node_start: mean seconds from a granted node to its running processes.
        node_start_spread: standard deviation of that over its mean.
        rank_start: seconds that each process adds to the time until all have found one another.
        warm_up: seconds between then and the first step at full speed.
        detection: seconds from a failure to the decision to restart.
    """

    cache_share: float
    node_start: float
    node_start_spread: float
    rank_start: float
    warm_up: float
    detection: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFactor:
    """A whole step over what its parts say.

    Attributes:
        factor: time of everything that devices, links and hosts do, over what the rest says of it.
        spread: standard deviation of the passes of one of many replicas over their mean.
    """

    factor: float
    spread: float
