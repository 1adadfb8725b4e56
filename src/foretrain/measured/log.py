"""Logs: jobs that ran, and when each began."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foretrain.measured.job import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What a cluster's log tells.

    Attributes:
        trace: jobs that ran. What each wanted is not known; its work is what it did.
        begun: seconds since the trace began when each first held devices, by the job's name;
            without those of which it is not known.
        left_out: how many entries are no such jobs, by the reason.
    """

    trace: Trace
    begun: Mapping[str, float] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
