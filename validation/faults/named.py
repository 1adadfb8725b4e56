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
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from validation.faults.roles import Numbers

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
    except BaseException:
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
    import socket

    with stream("stale"):
        (folder,) = (each for each in candidates() if (each / f"{_name}-stale").exists())
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left:
        left.bind(str(folder / f"{_name}-stale"))
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
    """The conductor, and then the reader itself, is stopped for a while."""

    def stops() -> None:
        parent = os.getppid()
        for pid in (conductor, parent):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)

    with stream("stopped", memory="34 KiB") as shared:
        conductor = shared.pid
        assert conductor is not None
        with attach(shared.name, batch_size=BATCH) as loader:
            stopper = forked(stops)
            read(loader)
            ended(stopper)


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
    "a reader without memory for the arena": reader_without_memory,
    "64 descriptors": few_files,
    "a reader without a descriptor": no_file_left,
    "descriptors that a child inherited": inherited,
    "a stale socket": stale,
    "two streams at once": two_at_once,
    "a member that never comes": never_comes,
}


def main(arguments: list[str]) -> int:
    """Every scenario in a process of its own; 1 if one went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--stop", type=float, default=2.0, help="seconds that a role is stopped")
    asked = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    runs = {**SCENARIOS, f"stopped for {asked.stop:g} s": lambda: stopped(asked.stop)}
    wrong = 0
    for name, scenario in runs.items():
        right = sum(_right(scenario, asked.stop) for _ in range(asked.times))
        wrong += asked.times - right
        print(f"{name}: {right} of {asked.times}", flush=True)
    return int(wrong > 0)


def _right(scenario: Callable[[], None], stop: float) -> bool:
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
