"""A whole step: what one run of somebody's own says of all others of the same software."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A whole step over what its parts say.

    Attributes:
        factor: time of everything that devices, links and hosts do, over what the rest says of it.
        spread: standard deviation of the passes of one of many replicas over their mean.
    """

    factor: float
    spread: float
