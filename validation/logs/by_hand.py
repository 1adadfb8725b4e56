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

    A job comes to the end of the first queue and falls to the end of the next. At every event
    devices are dealt out afresh, queue by queue, and whoever does not fit is passed; afterwards
    those that wait move behind those that run. So nobody is stopped for a job of the same queue,
    but in the moment in which it falls.

    Source: gu2019, section 3.2, and its published simulator, run_sim.py, dlas_sim_jobs.
    """
    now, got, runs = 0, [0] * len(jobs), set[int]()
    begun, ended = dict[int, int](), dict[int, int]()
    queues = [list[int]() for _ in range(len(levels) + 1)]
    while len(ended) < len(jobs):
        queues[0] += [place for place, job in enumerate(jobs) if job.arrival == now]
        for level, goal in enumerate(levels):
            queues[level + 1] += [place for place in queues[level] if got[place] >= goal]
            queues[level] = [place for place in queues[level] if got[place] < goal]
        free, runs = devices, set()
        for place in (place for queue in queues for place in queue if place not in ended):
            if jobs[place].devices <= free:
                free -= jobs[place].devices
                runs.add(place)
                begun.setdefault(place, now)
        queues = [sorted(queue, key=lambda place: place not in runs) for queue in queues]
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
    return [begun[place] for place in range(len(jobs))], [
        ended[place] for place in range(len(jobs))
    ]


SCHEDULERS = {"fifo": fifo, "sjf": sjf, "las": las}
