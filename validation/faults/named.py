"""Faults with a name, each in a process of its own: limits of memory and files, what is left.

    python -m validation.faults.named            # each once
    python -m validation.faults.named --times 15

In each a stream of numbers runs, something is wrong, and whoever is not hit gets every sample once;
who is hit is told by an error of ours; and a second later no process, socket or folder is left.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from threading import Event
from typing import Any

from validation.faults.roles import Numbers
from validation.faults.run import children_of

from batchcast.addresses import candidates
from batchcast.attachment import attach
from batchcast.errors import BatchcastError
from batchcast.reader import Reader
from batchcast.stream import Stream, share

SAMPLES, BATCH = 200, 8
LIMIT = 60
"""Seconds after which a scenario hangs."""

LINGER = 1.0
"""Seconds after which nothing may be left."""

_name = f"named-{os.getpid()}"


class Skipped(Exception):
    """This machine has not what a scenario needs."""


class Broken(Numbers):
    """The same, of which one cannot be prepared."""

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if index == SAMPLES - 3:
            raise ValueError("no such picture")
        return super().__getitem__(index)


class Deadly(Numbers):
    """The same; whoever prepares one of them for the first time dies."""

    def __init__(self, folder: str) -> None:
        super().__init__(SAMPLES)
        self._died = Path(folder) / "died"

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if index == 7 and not self._died.exists():
            self._died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


class Wide(Numbers):
    """The same, with samples of so many numbers."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__(count)
        self._width = width

    def __getitem__(self, index: int) -> tuple[Any, int]:
        import torch

        return torch.full((self._width,), float(index)), index


@contextmanager
def stream(
    name: str, data: Numbers | None = None, *, readers: int = 1, memory: str = "400 KiB"
) -> Iterator[Stream]:
    """A stream of numbers, one epoch of it."""
    source = data or Numbers(SAMPLES)
    with share(source, name=f"{_name}-{name}", epochs=1, readers=readers, memory=memory) as shared:
        yield shared


def read(loader: Reader) -> None:
    """Every sample comes once."""
    ids = [number for _, numbers in loader for number in numbers.tolist()]
    assert sorted(ids) == list(range(SAMPLES)), f"{len(ids)} samples"


def whole(shared: Stream, model: str = "whole") -> None:
    """A reader of this process gets all."""
    with attach(shared.name, batch_size=BATCH, model=model) as loader:
        read(loader)


def told(action: Callable[[], object]) -> None:
    """Whoever is hit is told by an error of ours."""
    try:
        action()
    except BatchcastError:
        return
    raise AssertionError("nothing was told")


def forked(action: Callable[[], object]) -> int:
    """A process that does this and exits with 0 if it was right."""
    process = os.fork()
    if process:
        return process
    try:
        action()
        os._exit(0)
    except Skipped as why:
        print(f"skipped: {why}", flush=True)
        os._exit(0)
    except BaseException:
        with suppress(OSError):
            traceback.print_exc()
        os._exit(1)


def ended(process: int) -> None:
    """It was right."""
    _, status = os.waitpid(process, 0)
    assert status == 0, f"a process ended with {status}"


def arena_too_large() -> None:
    """More memory than the machine has."""
    huge = Wide(SAMPLES, 1 << 24)
    told(lambda: share(huge, name=f"{_name}-arena", memory=1 << 40))


def arena_not_given() -> None:
    """The kernel does not give the memory, as ulimit -f makes it for files in memory too."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    wide = Wide(SAMPLES, 1 << 14)
    told(lambda: share(wide, name=f"{_name}-given", memory=8 << 20))
    with stream("given") as shared:
        whole(shared)


@contextmanager
def memory_group(name: str, limit: int) -> Iterator[Callable[[], None]]:
    """A group of processes that may have so many bytes; what is given joins it."""
    for mount, file in (("memory", "memory.limit_in_bytes"), ("", "memory.max")):
        folder = Path("/sys/fs/cgroup", mount, f"{_name}-{name}")
        if not (folder.parent / "cgroup.procs").exists():
            continue
        try:
            folder.mkdir()
            (folder / file).write_text(str(limit))
        except OSError:
            with suppress(OSError):
                folder.rmdir()
            continue
        try:
            yield partial(_join, folder)
        finally:
            _emptied(folder)
        return
    raise Skipped("this process may not limit the memory of others")


def _join(folder: Path) -> None:
    (folder / "cgroup.procs").write_text(str(os.getpid()))


def _emptied(folder: Path) -> None:
    """A group is gone once its processes have ended."""
    until = time.monotonic() + 10 * LINGER
    while True:
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def group_too_small() -> None:
    """An arena that the machine could give, and the group of processes that shares could not."""

    def within() -> None:
        join()
        told(lambda: share(Wide(SAMPLES, 1 << 20), name=f"{_name}-small", memory=2 << 30))
        with stream("small") as shared:
            whole(shared)

    with memory_group("small", 1 << 30) as join:
        ended(forked(within))


def killed_by_its_group() -> None:
    """A reader takes more memory than its group may have and is killed; another one goes on."""

    def greedy() -> None:
        join()
        with attach(shared.name, batch_size=BATCH, model="greedy") as loader:
            next(iter(loader))
            kept = []
            while True:
                kept.append(bytearray(os.urandom(1 << 20) * 16))

    with (
        memory_group("greedy", 200 << 20) as join,
        stream("greedy", readers=2) as shared,
    ):
        process = forked(greedy)
        whole(shared)
        _, status = os.waitpid(process, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, status


def reader_without_memory() -> None:
    """A reader whose address space is too small for the arena; another one beside it."""

    def starved() -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20),) * 2)
        told(lambda: attach(shared.name, batch_size=BATCH, model="starved"))

    with (
        stream("memory", Wide(SAMPLES, 1 << 16), memory="128 MiB") as shared,
        attach(shared.name, batch_size=BATCH, model="other") as loader,
    ):
        ended(forked(starved))
        read(loader)


def few_files() -> None:
    """Everything within 64 descriptors."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    with stream("files") as shared:
        whole(shared)


def no_file_left() -> None:
    """A reader that can open no more files; another one beside it."""

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
        with suppress(OSError):
            while True:
                os.open("/dev/null", os.O_RDONLY)
        try:
            attach(shared.name, batch_size=BATCH, model="full", patience=1.0)
        except (BatchcastError, OSError):
            return
        raise AssertionError("nothing was told")

    with (
        stream("descriptors") as shared,
        attach(shared.name, batch_size=BATCH, model="other") as loader,
    ):
        ended(forked(full))
        read(loader)


def inherited() -> None:
    """A child of a reader lives on with its descriptors; the reader's end is noticed."""
    with stream("inherited", readers=2) as shared:

        def leaves_a_child() -> None:
            with attach(shared.name, batch_size=BATCH, model="parent") as loader:
                next(iter(loader))
                child = forked(lambda: time.sleep(LIMIT))
                Path(f"/tmp/{_name}-child").write_text(str(child))
                os._exit(0)

        parent = forked(leaves_a_child)
        whole(shared)
        ended(parent)
    place = Path(f"/tmp/{_name}-child")
    os.kill(int(place.read_text()), signal.SIGKILL)
    place.unlink()


def stale() -> None:
    """A socket that nobody serves lies where the stream would."""
    with stream("stale"):
        (folder,) = (each for each in candidates() if (each / f"{_name}-stale").exists())
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left:
        left.bind(str(folder / f"{_name}-stale"))
    (folder / f"{_name}-stale:lock").touch(0o600)
    with stream("stale") as shared:
        whole(shared)


def two_at_once() -> None:
    """Two streams; one is closed while the other is read."""
    with (
        stream("one") as one,
        stream("two") as two,
        attach(one.name, batch_size=BATCH, model="first") as loader,
    ):
        next(iter(loader))
        whole(two)
        read(loader)


def never_comes() -> None:
    """One of two readers never attaches; the other begins after the patience."""
    with share(
        Numbers(SAMPLES), name=f"{_name}-absent", epochs=1, readers=2, patience=0.5
    ) as shared:
        whole(shared)
        assert shared.stats()["absent"] == 1


def stopped(seconds: float) -> None:
    """One after the other is stopped: who serves, who prepares and its parent, who reads."""

    def stops() -> None:
        parent = os.getppid()
        for pid in (conductor, template, *children_of(template), parent):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)

    with stream("stopped", memory="34 KiB") as shared:
        conductor = shared.pid
        assert conductor is not None
        (template,) = children_of(conductor)
        with attach(shared.name, batch_size=BATCH) as loader:
            stopper = forked(stops)
            read(loader)
            ended(stopper)


@contextmanager
def small_disk(size: int) -> Iterator[str]:
    """A folder on a disk of so many bytes."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder]
        made = subprocess.run(command, capture_output=True, check=False)
        if made.returncode:
            raise Skipped("this process may not mount a small disk")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def full_spill() -> None:
    """A slow reader's samples do not fit the disk; it alone is told."""
    with small_disk(1 << 16) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        with (
            stream("spill", Wide(SAMPLES, 1 << 10), readers=2, memory="400 KiB") as shared,
            ThreadPoolExecutor(1) as pool,
        ):
            slow = pool.submit(attach, shared.name, batch_size=1, model="slow", policy="spill")
            whole(shared)
            with slow.result() as loader:
                told(lambda: [None for _ in loader])


def full_log() -> None:
    """Nothing can be printed, and a sample cannot be prepared: readers are told why."""
    full = os.open("/dev/full", os.O_WRONLY)
    for number in (1, 2):
        os.dup2(full, number)
    with share(Broken(SAMPLES), name=f"{_name}-log", epochs=1, memory="400 KiB") as shared:
        told(lambda: whole(shared))


def one_that_dies() -> None:
    """The same, where a worker dies in the middle of the first task: another one goes on."""
    full = os.open("/dev/full", os.O_WRONLY)
    for number in (1, 2):
        os.dup2(full, number)
    with tempfile.TemporaryDirectory() as folder, stream("dies", Deadly(folder)) as shared:
        whole(shared)


def beside_threads() -> None:
    """Threads compute and draw while the stream is shared, read and closed."""
    import torch

    over = Event()

    def computes() -> None:
        while not over.is_set():
            torch.rand(64, 64) @ torch.rand(64, 64)

    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(computes)
        try:
            with stream("threads") as shared:
                whole(shared)
        finally:
            over.set()


def little_memory() -> None:
    """Everything within the address space that a process of PyTorch has, and 256 MiB."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20),) * 2)
    with stream("limit") as shared:
        whole(shared)


def other_clock() -> None:
    """The clock on the wall jumps by hours, back and forth, wherever anybody looks at it."""
    jumps = cycle((0.0, 86400.0, -86400.0))
    real = time.time
    time.time = lambda: real() + next(jumps)
    with stream("clock", readers=2) as shared, ThreadPoolExecutor(1) as pool:
        other = pool.submit(whole, shared, "other")
        whole(shared)
        other.result()


def foreign() -> None:
    """Another user tries every address of the stream; its own readers notice nothing."""

    def stranger() -> None:
        os.setuid(65534)
        for place in places:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
                refused(partial(peer.connect, str(place)))
                refused(partial(peer.bind, f"{place}-other"))
            refused(place.read_bytes)
        for place in candidates():
            with suppress(OSError):
                os.listdir(place)  # noqa: PTH208
        told(lambda: attach(shared.name, batch_size=BATCH, patience=0.2))

    if os.geteuid():
        raise Skipped("only root can be another user")
    with (
        stream("foreign") as shared,
        attach(shared.name, batch_size=BATCH, model="other") as loader,
    ):
        places = [each for folder in candidates() for each in folder.glob(f"{_name}*")]
        assert len(places) >= 2, "a socket and a lock"
        ended(forked(stranger))
        read(loader)


def refused(action: Callable[[], object]) -> None:
    """The kernel does not let that happen."""
    try:
        action()
    except PermissionError:
        return
    raise AssertionError("another user came in")


def left_behind() -> list[str]:
    """What of this process lies where streams lie."""
    until = time.monotonic() + LINGER
    while True:
        found = [str(each) for folder in candidates() for each in folder.glob(f"{_name}*")]
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.02)


SCENARIOS: Mapping[str, Callable[[], None]] = {
    "an arena larger than the machine": arena_too_large,
    "an arena that the kernel does not give": arena_not_given,
    "an arena larger than its group of processes": group_too_small,
    "a reader that its group of processes kills": killed_by_its_group,
    "a reader without memory for the arena": reader_without_memory,
    "64 descriptors": few_files,
    "a reader without a descriptor": no_file_left,
    "descriptors that a child inherited": inherited,
    "a stale socket": stale,
    "two streams at once": two_at_once,
    "a member that never comes": never_comes,
    "a full disk for what is spilled": full_spill,
    "a full disk for what is printed": full_log,
    "a full disk for what is printed, and a worker that dies": one_that_dies,
    "threads beside": beside_threads,
    "256 MiB more than PyTorch": little_memory,
    "a clock that jumps": other_clock,
    "another user": foreign,
}


def main(arguments: list[str]) -> int:
    """Every scenario in a process of its own; 1 if one went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--stop", type=float, default=2.0, help="seconds that a role is stopped")
    parser.add_argument("--only", help="scenarios in whose name this text is")
    asked = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    runs = {**SCENARIOS, f"stopped for {asked.stop:g} s": lambda: stopped(asked.stop)}
    wrong = 0
    for name, scenario in runs.items():
        if asked.only and asked.only not in name:
            continue
        well = sum(right(scenario, asked.stop) for _ in range(asked.times))
        wrong += asked.times - well
        print(f"{name}: {well} of {asked.times}", flush=True)
    return int(wrong > 0)


def right(scenario: Callable[[], None], stop: float) -> bool:
    """Whether it went as it should, in a process of its own."""

    def alone() -> None:
        signal.alarm(LIMIT + int(4 * stop))
        scenario()
        assert not (left := left_behind()), f"left behind: {left}"

    try:
        ended(forked(alone))
    except AssertionError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
