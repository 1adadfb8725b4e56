"""What one run of a simulation says, before it is compared with others."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from foretrain.results.simulate import History, JobCounts, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run of one policy.

    Attributes:
        responses: seconds from coming to ending, of the jobs that count, in order of arrival:
            those after the warm-up that have ended.
        waiting: seconds of those without devices.
        finished: responses of the jobs that finished.
        makespan: seconds from the first arrival to the last end.
        utilisation: device-seconds held over those there were, from the first arrival to the last
            end.
        fragmentation: mean share of the devices that were free but of no use; None if not seen.
        interruptions: of all jobs.
        counts: jobs by what became of them.
        groups: by virtual cluster or queue.
        users: likewise.
    """

    responses: tuple[float, ...]
    waiting: tuple[float, ...]
    finished: tuple[float, ...]
    makespan: float
    utilisation: float
    fragmentation: float | None
    interruptions: int
    counts: JobCounts
    groups: tuple[Part, ...]
    users: tuple[Part, ...]

    @property
    def mean(self) -> float:
        """Mean response, seconds."""
        return fmean(self.responses)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What came out of a run.

    Attributes:
        summary: what it says.
        history: how it went; None if that was not noted.
        seconds: CPU seconds that the simulation took.
    """

    summary: RunSummary
    history: History | None
    seconds: float
