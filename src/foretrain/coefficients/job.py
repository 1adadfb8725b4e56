"""A whole job: start, failures, caches."""

from __future__ import annotations

from dataclasses import dataclass


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
