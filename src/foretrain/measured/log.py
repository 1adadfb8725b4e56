"""Logs: jobs that ran, when each began, and what else the log held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from foretrain.measured.job import End, Trace

LISTED = 10
"""Entries that are listed of those that are left out for one reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a log that is not among its jobs.

    Attributes:
        line: where it stands in the file, the first line being 1.
        told: what is wrong with it; empty where the reason says all.
    """

    line: int
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Entries of a log that are not among its jobs, for one reason.

    Attributes:
        reason: as in "3 entries hold no device".
        count: how many.
        first: the first of them, at most `LISTED`.
    """

    reason: str
    count: int
    first: tuple[Entry, ...] = ()


class Remainder:
    """Collects what of a log is not among its jobs."""

    def __init__(self, before: tuple[LeftOut, ...] = ()) -> None:
        """What was left out before, if anything."""
        self._found = {each.reason: (each.count, [*each.first]) for each in before}

    def add(self, reason: str, line: int, told: str = "") -> None:
        """Leave an entry out.

        Args:
            reason: as in "3 entries hold no device", the same words for all that are alike.
            line: where it stands.
            told: what is wrong with this one.
        """
        count, first = self._found.get(reason, (0, []))
        if count < LISTED:
            first.append(Entry(line=line, told=told))
        self._found[reason] = count + 1, first

    def left_out(self) -> tuple[LeftOut, ...]:
        """What was left out, the most frequent reason first."""
        found = (
            LeftOut(reason=reason, count=count, first=tuple(first))
            for reason, (count, first) in self._found.items()
        )
        return tuple(sorted(found, key=lambda each: -each.count))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Line and reason of the entries that are listed, for an error of a log without jobs."""
        for reason, (_, first) in self._found.items():
            yield from ((each.line, each.told or f"entries that {reason}.") for each in first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What a cluster's log tells.

    Attributes:
        trace: jobs that ran. What each wanted is not known; its work is what it did. One that
            still ran when the log was written has `End.RUNNING`, and its work is what the log saw.
        begun: seconds since the trace began when each first held devices, by the job's name;
            without those of which it is not known.
        left_out: entries that are no such jobs.
        resubmitted: jobs of the trace that an earlier entry of the same name precedes, such as
            runs of a job that was requeued.
    """

    trace: Trace
    begun: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    resubmitted: int = 0

    @property
    def running(self) -> int:
        """How many jobs still ran when the log was written."""
        return sum(job.end is End.RUNNING for job in self.trace.jobs)
