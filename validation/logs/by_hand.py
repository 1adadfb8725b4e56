"""Schedulers of ten lines: FIFO, SJF and LAS as their sources have them, with none of our code.

Jobs are in the order of submission and times whole seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LEVELS = (3_600, 36_000)
"""Device-seconds at which a job falls to the next queue: one and ten device-hours."""


class Task(NamedTuple):
    """A rigid job: when it is submitted, how many devices it holds and for how many seconds."""

    arrival: int
    devices: int
    seconds: int


Course = tuple[list[int], list[int]]
"""When each job began, and when each ended."""


def fifo(jobs: Sequence[Task], devices: int) -> Course:
    """First in, first out: nobody starts before all that came before have started."""
    now, begun, ends = 0, list[int](), list[tuple[int, int]]()
    for job in jobs:
        now = max(now, job.arrival)
        while job.devices + sum(held for end, held in ends if end > now) > devices:
            now = min(end for end, _ in ends if end > now)
        begun.append(now)
        ends.append((now + job.seconds, job.devices))
    return begun, [end for end, _ in ends]


def sjf(jobs: Sequence[Task], devices: int) -> Course:
    """Shortest job first, without interruption; whoever does not fit is passed."""
    now, begun = 0, dict[int, int]()
    while len(begun) < len(jobs):
        ends = {place: at + jobs[place].seconds for place, at in begun.items()}
        free = devices - sum(jobs[place].devices for place, end in ends.items() if end > now)
        there = [place for place, job in enumerate(jobs) if job.arrival <= now]
        for place in sorted(there, key=lambda place: (jobs[place].seconds, place)):
            if place not in begun and jobs[place].devices <= free:
                begun[place], ends[place] = now, now + jobs[place].seconds
                free -= jobs[place].devices
        moments = [*ends.values(), *(job.arrival for job in jobs)]
        now = min((moment for moment in moments if moment > now), default=now)
    return [begun[place] for place in range(len(jobs))], [
        begun[place] + job.seconds for place, job in enumerate(jobs)
    ]


def las(jobs: Sequence[Task], devices: int, levels: Sequence[int] = LEVELS) -> Course:
    """Least attained service in queues, the two-dimensional one: device-seconds count.

    At every event devices are dealt out afresh: the queue with the least service first, within it
    those that run before those that wait, and either in the order of submission; whoever does not
    fit is passed. So nobody is stopped for a job of the same queue.

    Source: gu2019, section 3.2, and the order of its published simulator.
    """
    now, got, runs = 0, [0] * len(jobs), set[int]()
    begun, ended = dict[int, int](), dict[int, int]()
    while len(ended) < len(jobs):
        queue = [sum(service >= level for level in levels) for service in got]
        there = [place for place, job in enumerate(jobs) if job.arrival <= now]
        there = [place for place in there if place not in ended]
        free, before, runs = devices, runs, set()
        for place in sorted(there, key=lambda place: (queue[place], place not in before, place)):
            if jobs[place].devices <= free:
                free -= jobs[place].devices
                runs.add(place)
                begun.setdefault(place, now)
        steps = [job.arrival - now for job in jobs if job.arrival > now]
        for place in runs:
            goals = (*levels, jobs[place].devices * jobs[place].seconds)
            steps += [-(-(goal - got[place]) // jobs[place].devices)
                      for goal in goals if goal > got[place]]  # fmt: skip
        now += min(steps)
        for place in runs:
            got[place] += min(steps) * jobs[place].devices
            if got[place] >= jobs[place].devices * jobs[place].seconds:
                ended[place] = now
        runs -= ended.keys()
    return [begun[place] for place in range(len(jobs))], [
        ended[place] for place in range(len(jobs))
    ]


SCHEDULERS = {"fifo": fifo, "sjf": sjf, "las": las}
