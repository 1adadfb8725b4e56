"""What a tree of processes costs: processor seconds, memory and wall time, from outside of it.

A *supervisor* is forked for each measurement and forks everything else. Processor seconds are what
the kernel hands over when the supervisor has been waited for: all descendants, exactly. Three traps
are closed: a process whose parent does not wait for it comes back to the supervisor (subreaper); a
parent that ignores SIGCHLD would hide its children, and then the counters sampled per process add
up to more than the exact sum; nothing is exec'ed, so no time of earlier commands is inherited.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeVar

from validation.parts.processors import busy_seconds

from batchcast.forkserver.client import close

Json = dict[str, object] | list[object]
Told = TypeVar("Told", bound=Json)

TICKS = os.sysconf("SC_CLK_TCK")
SHARE = 0.02
"""Of one core, the most that looking at the processes may take."""

SHORTEST = 0.05
"""Seconds between two looks, at least."""

LINGER = 10.0
"""Seconds that processes may outlive what started them before they count as left behind."""

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of <linux/prctl.h>."""


class Failed(Exception):
    """A measurement that says nothing."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a tree of processes took.

    Attributes:
        wall: seconds from the first fork until the last process has ended.
        cpu: processor seconds, user and system, of all processes.
        memory: peak bytes, pages that are shared counted once (sum of PSS).
        arena: peak bytes allocated in anonymous memory files.
        others: processor seconds that the rest of the machine, and what it runs on, took meanwhile.
        told: what the body returned.
    """

    wall: float
    cpu: float
    memory: float
    arena: float
    others: float
    told: Json


def cost(body: Callable[[], Json], *, cores: Sequence[int], limit: float) -> Cost:
    """What a body takes in a forked process that may fork others.

    Args:
        body: what to run; what it returns must fit JSON.
        cores: the only ones on which it may run.
        limit: seconds after which it is killed.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    before = busy_seconds()
    supervisor = os.fork()
    if not supervisor:
        _supervise(body, writing, cores)
    os.close(writing)
    watch = _Watch(supervisor)
    status, exact = _waited(supervisor, watch, time.monotonic() + limit)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    if status or not told:
        raise Failed(f"the supervisor ended with status {status}")
    wall, result = json.loads(told)
    _check(exact, wall * len(cores), watch.seconds)
    return Cost(
        wall=wall,
        cpu=exact,
        memory=watch.memory,
        arena=watch.arena,
        others=max(0.0, busy_seconds() - before - exact),
        told=result,
    )


def _check(exact: float, most: float, sampled: float) -> None:
    """Refuses processor seconds that cannot be."""
    if exact > 1.02 * most + 0.1:
        raise Failed(f"{exact:.2f} processor seconds where there were only {most:.2f}")
    if sampled > 1.02 * exact + 0.1:
        raise Failed(f"{exact:.2f} processor seconds, but samples saw {sampled:.2f}")


def _waited(supervisor: int, watch: _Watch, until: float) -> tuple[int, float]:
    """Exit status and processor seconds of a process and all that it waited for."""
    while True:
        ended, status, usage = os.wait4(supervisor, os.WNOHANG)
        if ended:
            return status, usage.ru_utime + usage.ru_stime
        if time.monotonic() > until:
            for process in [*descendants(supervisor), supervisor]:
                _kill(process)
        time.sleep(watch.look())


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _supervise(body: Callable[[], Json], writing: int, cores: Sequence[int]) -> NoReturn:
    """Runs the body, waits for every descendant, tells wall time and result."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
        os.sched_setaffinity(0, cores)
        start = time.perf_counter()
        result = body()
        close()  # the fork server would live as long as this process
        _reap(time.monotonic() + LINGER)
        wall = time.perf_counter() - start
        with os.fdopen(writing, "w") as pipe:
            json.dump([wall, result], pipe)
        os._exit(0)
    except BaseException:  # a forked process must never return into its parent's code
        traceback.print_exc()
        os._exit(1)


def _reap(until: float) -> None:
    """Waits for processes whose parents did not."""
    while True:
        try:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                if time.monotonic() > until:
                    raise Failed(f"left behind: processes {descendants(os.getpid())}")
                time.sleep(0.01)
        except ChildProcessError:
            return


def together(bodies: Sequence[Callable[[], Told]]) -> list[Told]:
    """What several bodies return that run at the same time, each in a forked process."""
    return joined([forked(body) for body in bodies])


def forked(body: Callable[[], Json]) -> tuple[int, int]:
    """A process that runs a body, and the pipe that will tell what it returns."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    try:
        os.close(reading)
        result = body()
        with os.fdopen(writing, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    except BaseException:  # a forked process must never return into its parent's code
        traceback.print_exc()
        os._exit(1)


def joined(started: Sequence[tuple[int, int]]) -> list[Told]:
    """What forked processes tell; raises if one of them failed."""
    told = []
    for process, reading in started:
        with os.fdopen(reading) as pipe:
            text = pipe.read()
        _, status = os.waitpid(process, 0)
        if status or not text:
            raise Failed(f"a process ended with status {status}")
        told.append(json.loads(text))
    return told


def descendants(process: int) -> list[int]:
    """Every process below one, as far as they are still there."""
    found: list[int] = []
    waiting = [process]
    while waiting:
        for thread in _listed(Path(f"/proc/{waiting.pop()}/task")):
            below = _read(thread / "children").split()
            found += map(int, below)
            waiting += map(int, below)
    return found


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


@dataclass
class _Watch:
    """Looks at a tree from time to time.

    Attributes:
        supervisor: its root.
        memory: the largest sum of PSS so far, bytes.
        arena: the most that anonymous memory files held so far, bytes.
        ticks: processor time of each process when it was last seen.
    """

    supervisor: int
    memory: float = 0.0
    arena: float = 0.0
    ticks: dict[int, int] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Processor seconds that were seen, never more than were used."""
        return sum(self.ticks.values()) / TICKS

    def look(self) -> float:
        """Looks once; returns the seconds until the next look."""
        start = time.process_time()
        tree = [self.supervisor, *descendants(self.supervisor)]
        for process in tree:
            after_name = _read(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()
            if after_name:
                self.ticks[process] = int(after_name[11]) + int(after_name[12])
        self.memory = max(self.memory, sum(map(_pss, tree)))
        self.arena = max(self.arena, _memory_files(tree))
        return max(SHORTEST, (time.process_time() - start) / SHARE)


def _pss(process: int) -> float:
    for line in _read(Path(f"/proc/{process}/smaps_rollup")).splitlines():
        if line.startswith("Pss:"):
            return 1024.0 * float(line.split()[1])
    return 0.0


def _memory_files(tree: Sequence[int]) -> float:
    """Bytes allocated in the memory files that the processes hold open, each counted once."""
    held = {}
    for descriptor in (path for process in tree for path in _listed(Path(f"/proc/{process}/fd"))):
        try:
            if str(descriptor.readlink()).startswith("/memfd:"):
                status = descriptor.stat()
                held[status.st_ino] = 512.0 * status.st_blocks
        except (FileNotFoundError, ProcessLookupError):
            continue
    return sum(held.values())
