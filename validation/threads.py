"""Streams shared beside busy PyTorch threads: none hangs, and nothing is left of a killed owner.

    python -m validation.threads                         # 20 streams
    python -m validation.threads --streams 200 --seed 0

Owners are processes in which threads train with PyTorch without a pause. In each, four more threads
share streams at once, one after the other, of data sets and loaders that compute with PyTorch too,
and read them. Then four streams are open, and the owner is killed with SIGKILL at a moment that is
drawn. A second later there must be no process, no socket, no folder and no shared memory of it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from batchcast.addresses import candidates
from batchcast.attachment import attach
from batchcast.stream import share

AT_ONCE = 4
"""Streams that an owner shares at the same time."""

EACH = 5
"""Streams that each of its threads shares one after the other; the last stays open."""

BUSY = 2
"""Threads that train meanwhile."""

SOON = 1.0
"""Seconds after an owner's death within which nothing may be left."""

PATIENCE = 120.0
"""Seconds after which an owner hangs."""

MARK = "FORETRAIN_VALIDATION_THREADS"
"""Variable by which the processes of an owner are known."""

CACHE = "torchinductor_"
"""Folders that PyTorch's optimizers make where temporary files go, and leave there."""

SAMPLES, WIDTH = 24, 32


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One stream.

    Attributes:
        name: of it.
        fed: by a loader, or by workers of the stream.
        workers: of the stream or of the loader.
    """

    name: str
    fed: bool
    workers: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One owner.

    Attributes:
        mark: of all its processes.
        rows: of streams, one after the other, for each of its threads.
        waits: seconds from its last stream's start to its death.
    """

    mark: str
    rows: tuple[tuple[Kind, ...], ...]
    waits: float


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of an owner.

    Attributes:
        streams: that it shared and read.
        problems: in words.
        gone: seconds from its death until nothing was left.
    """

    streams: int
    problems: tuple[str, ...]
    gone: float


class Computed:
    """Samples that take PyTorch's threads, where there are any."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[Any, int]:
        import torch

        values = torch.full((WIDTH, WIDTH), float(index))
        return values @ torch.eye(WIDTH), index


def draw(seed: int, streams: int) -> Iterator[Plan]:
    """Owners that share so many streams together."""
    drawn, left, owner = random.Random(seed), streams, 0
    while left:
        mark = f"threads-{os.getpid()}-{seed}-{owner}"
        count = min(left, AT_ONCE * EACH)
        kinds = [_kind(drawn, f"{mark}-{number}") for number in range(count)]
        rows = tuple(tuple(kinds[n::AT_ONCE]) for n in range(min(AT_ONCE, count)))
        yield Plan(mark=mark, rows=rows, waits=drawn.uniform(0.0, 0.5))
        left, owner = left - count, owner + 1


def _kind(drawn: random.Random, name: str) -> Kind:
    fed = drawn.random() < 0.4
    return Kind(name=name, fed=fed, workers=drawn.randint(0, 2) if fed else drawn.randint(1, 3))


# The owner's process.


def own(plan: Plan) -> None:
    """Share and read every stream beside threads that train, then wait to be killed."""
    import torch  # noqa: F401 - which several threads cannot do at once

    threads = [threading.Thread(target=_train, daemon=True) for _ in range(BUSY)]
    threads += [threading.Thread(target=_share_all, args=(row,), daemon=True) for row in plan.rows]
    for each in threads:
        each.start()
    time.sleep(10 * PATIENCE)


def _train() -> None:
    import torch

    torch.set_num_threads(2)
    net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    while True:
        optimizer.zero_grad()
        net(torch.rand(256, 128)).square().mean().backward()
        optimizer.step()
        torch.rand(64, 64).sort()


def _share_all(row: Sequence[Kind]) -> None:
    for kind in row:
        with (
            share(_source(kind), name=kind.name, epochs=2, workers=max(1, kind.workers)) as stream,
            attach(kind.name, batch_size=5) as loader,
        ):
            first = sorted(label for _, labels in loader for label in labels.tolist())
            if first != list(range(SAMPLES)):
                _tell({"wrong": first})
            if kind is not row[-1]:
                list(loader)
                stream.wait()
            _tell({"read": kind.name})
            if kind is row[-1]:
                time.sleep(10 * PATIENCE)


def _tell(fact: object) -> None:
    """In one write, so that two threads do not tell in one line."""
    os.write(1, (json.dumps(fact) + "\n").encode())


def _source(kind: Kind) -> object:
    from torch.utils.data import DataLoader

    data: Any = Computed()
    return DataLoader(data, batch_size=6, num_workers=kind.workers) if kind.fed else data


# Whoever looks at it.


def played(plan: Plan) -> Outcome:
    """What becomes of an owner that is killed when all its streams were read."""
    kinds = [kind for row in plan.rows for kind in row]
    with tempfile.TemporaryDirectory() as folder:
        owner = subprocess.Popen(
            [sys.executable, "-m", "validation.threads", "--own", json.dumps(asdict(plan))],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, MARK: plan.mark, "TMPDIR": folder},
        )
        watch = threading.Timer(PATIENCE, owner.kill)
        watch.start()
        problems = _heard(owner, len(kinds))
        time.sleep(plan.waits)
        ours = _processes(plan.mark)
        owner.kill()
        began = time.monotonic()
        while (
            left := [*filter(_runs, ours)] or _left(plan, ours, folder)
        ) and time.monotonic() - began < 5 * SOON:
            time.sleep(0.02)
        gone = time.monotonic() - began
        watch.cancel()
        owner.wait()
        if gone > SOON:
            what = ", ".join(map(str, left)) or "nothing"
            problems.append(f"{gone:.2f} s after the death there was at last: {what}")
        for pid in _processes(plan.mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return Outcome(streams=len(kinds), problems=tuple(problems), gone=gone)


def _heard(owner: subprocess.Popen[str], count: int) -> list[str]:
    """What went wrong until so many streams were read."""
    assert owner.stdout is not None
    read = 0
    for line in owner.stdout:
        told = json.loads(line)
        if "wrong" in told:
            return [f"a reader got {told['wrong']}"]
        read += 1
        if read == count:
            return []
    return [f"{count - read} of {count} streams hung or failed"]


def _left(plan: Plan, pids: Sequence[int], folder: str) -> list[str]:
    """What there still is of an owner."""
    names = {kind.name for row in plan.rows for kind in row}
    files = [path.name for each in candidates() for path in each.glob(f"{plan.mark}-*")]
    shared = [path.name for pid in pids for path in Path("/dev/shm").glob(f"torch_{pid}_*")]
    sockets = Path("/proc/net/unix").read_text().split()
    return [
        *map(str, _processes(plan.mark)),
        *files,
        *shared,
        *(path.name for path in Path(folder).iterdir() if not path.name.startswith(CACHE)),
        *(each for each in sockets if each.rsplit("/", 1)[-1] in names),
    ]


def _processes(mark: str) -> list[int]:
    """Processes of an owner that run, its own too."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            if _runs(int(entry.name)) and f"{MARK}={mark}".encode() in (
                entry / "environ"
            ).read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def main(arguments: list[str]) -> int:
    """Play all owners; 1 if one of them was not as it should."""
    parser = argparse.ArgumentParser(prog="python -m validation.threads")
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--own", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.own:
        told = json.loads(asked.own)
        rows = tuple(tuple(Kind(**each) for each in row) for row in told["rows"])
        own(Plan(mark=told["mark"], rows=rows, waits=told["waits"]))
        return 0
    print(f"seed {asked.seed}")
    outcomes = []
    for plan in draw(asked.seed, asked.streams):
        outcomes.append(played(plan))
        for problem in outcomes[-1].problems:
            print(f"{plan.mark}: {problem}", flush=True)
    bad = sum(bool(each.problems) for each in outcomes)
    slowest = max(each.gone for each in outcomes)
    print(
        f"{sum(each.streams for each in outcomes)} streams, {AT_ONCE} at once beside {BUSY} busy "
        f"threads, of {len(outcomes)} owners: {bad} owners with problems; everything was gone "
        f"{slowest:.2f} s after an owner's death at the latest (bar: {SOON} s)."
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
