"""Ensembles at the limit: what a shared stream takes beside preparing once, start-up apart.

    python benchmarks/ensemble_limit.py                  # two members, one turn: a minute
    python benchmarks/ensemble_limit.py heavy --turns 5  # K = 1, 2, 4, 8 beside their bars
    python benchmarks/ensemble_limit.py half light --members 1 4
    python benchmarks/ensemble_limit.py heavy --members 4 8 --grouped  # in one process too
    python benchmarks/ensemble_limit.py start            # what a member takes to begin

Every cell runs twice in a turn, with few samples and with many; what the difference took, divided
by its samples, is what a sample takes while a stream runs. `prepare` is a private loader without
worker less its training, `own` is K training steps at once on a batch in memory:

    ideal(K) = prepare + own(K)          private(K) = K loaders that prepare, and train

All cells of a turn are measured beside each other; a ratio is taken in each turn, and the median of
these counts. `heavy` has about 12 times as much shareable as private work, `half` about 4; `light`
has rows of 16 numbers in batches of 100, on which nothing is trained. `start` has a process import
PyTorch and go through one small epoch, over a loader of its own and over a stream.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from validation.parts.claims import Claim

ROOT = Path(__file__).parents[1]
NEEDED = {"torch": "torch", "PIL": "Pillow"}
PICTURES = 400

HEAVY, HALF, LIGHT, START = "heavy", "half", "light", "start"
EVERY = {HEAVY: 6, HALF: 3, LIGHT: 0}
"""Every how manieth pixel the network sees."""

LEAST = 4
"""Part of the processor time of a long run from which its length is reckoned."""

OWN = {1: 1.05, 2: 1.05, 4: 1.08, 8: 1.10}
FED = {1: 1.05, 2: 1.05, 4: 1.06, 8: 1.08}
"""The most that a stream may take over the ideal."""

OF_CEILING = 0.92
"""The least share of private(K) / ideal(K) that a stream must save."""

START_MOST = 0.3
"""Processor seconds that a member may take to begin, beyond what it imports itself."""

GROUPED = 1.0
"""The most that a stream may take over the ideal whose members are in one process."""

LIGHT_MOST = {1: 1.5, 4: 0.8}
"""The most that a stream of light data may take over private loaders."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is measured."""

    method: str
    members: int
    workers: int = 0

    def __str__(self) -> str:
        """Short."""
        return f"{self.method} {self.workers}w x{self.members}"


def own(members: int) -> Cell:
    """A stream with a decode worker of its own."""
    return Cell(method="workers", members=members, workers=1)


def fed(members: int) -> Cell:
    """A stream that a plain loader feeds."""
    return Cell(method="fed", members=members)


def grouped(members: int, *, fed: bool) -> Cell:
    """The same, with all members in one process."""
    if fed:
        return Cell(method="grouped-fed", members=members)
    return Cell(method="grouped", members=members, workers=1)


def private(members: int, workers: int = 0) -> Cell:
    """A loader for each."""
    return Cell(method="private", members=members, workers=workers)


def none(members: int) -> Cell:
    """Training alone."""
    return Cell(method="none", members=members)


Turn = Mapping[Cell, float]
"""Processor seconds for a sample that all members of a cell get."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What is measured, and how long.

    Attributes:
        workload: a name of `EVERY`.
        folder: where the pictures are.
        seconds: processor seconds that the long run of a cell takes, about.
    """

    workload: str
    folder: Path
    seconds: float

    def turns(self, members: Sequence[int], count: int, *, more: Sequence[Cell]) -> list[Turn]:
        """Every cell, and more of them, turn by turn."""
        cells = [*_cells(self.workload, members), *more]
        lengths, found = dict[Cell, int](), []
        for turn in range(count):
            first = turn % len(cells)
            taken = {}
            for cell in cells[first:] + cells[:first]:
                if cell not in lengths:
                    lengths[cell] = self._long(cell)
                taken[cell] = self._slope(cell, lengths[cell])
                line = f"{self.workload} {turn + 1}/{count} {cell}: {1e6 * taken[cell]:.1f} us"
                print(line, file=sys.stderr, flush=True)
            found.append(taken)
        return found

    def _long(self, cell: Cell) -> int:
        """Epochs of the long run: what few of them take is lost in what it takes to begin."""
        begins, epochs = self._took(cell, 1), 3
        while (spent := self._took(cell, epochs) - begins) < self.seconds / LEAST:
            epochs *= LEAST
        return 3 + round(epochs * self.seconds / spent)

    def _slope(self, cell: Cell, epochs: int) -> float:
        few, many = self._took(cell, 1), self._took(cell, epochs)
        return (many - few) / (self._samples * (epochs - 1))

    @property
    def _samples(self) -> int:
        from ensemble_parts.workload import ROWS

        return PICTURES if EVERY[self.workload] else ROWS

    def _took(self, cell: Cell, epochs: int) -> float:
        """Processor seconds of so many epochs, every sample of which arrived."""
        from ensemble_parts.methods import METHODS, Setting
        from ensemble_parts.rounds import delivered
        from ensemble_parts.tree import cost

        setting = Setting(
            folder=self.folder,
            pictures=self._samples,
            members=cell.members,
            epochs=epochs,
            every=EVERY[self.workload],
            workers=cell.workers,
            lend=EVERY[self.workload] > 0,
        )
        cores = sorted(os.sched_getaffinity(0))[:2]
        found = cost(partial(METHODS[cell.method], setting), cores=cores, limit=300.0)
        delivered(cell.method, setting, found.told)
        return found.cpu


def _cells(workload: str, members: Sequence[int]) -> list[Cell]:
    """What a workload needs, in the order in which it is measured."""
    if workload == LIGHT:
        found = [cell for count in members for cell in (own(count), fed(count), private(count))]
        return list(dict.fromkeys(found))
    found = [private(1), none(1)]
    for count in members:
        found += [own(count), fed(count), private(count), private(count, 1), none(count)]
    return list(dict.fromkeys(found))


def prepare(turn: Turn) -> float:
    """What can be shared of a sample."""
    return turn[private(1)] - turn[none(1)]


def ideal(turn: Turn, members: int) -> float:
    """Preparing once, and the members' own work."""
    return prepare(turn) + turn[none(members)]


def _claim(
    name: str,
    taken: Sequence[Turn],
    figure: Callable[[Turn], float],
    *,
    most: float | None = None,
    least: float | None = None,
) -> Claim:
    from validation.parts.claims import Claim

    each = [figure(turn) for turn in taken]
    return Claim(
        name=f"{name} ({min(each):.2f} to {max(each):.2f})",
        figure=statistics.median(each),
        most=most,
        least=least,
        write=lambda value: f"{value:.3f}x",
        noisy=True,
    )


def light_claims(taken: Sequence[Turn], members: int) -> Iterator[Claim]:
    """Light data, beside private loaders."""
    loaders, most = private(members), LIGHT_MOST.get(members)
    for name, cell in (("fed", fed(members)), ("own worker", own(members))):
        at = f"light, K = {members}: {name} / private"
        yield _claim(at, taken, partial(_over, cell, loaders), most=most)


def claims(workload: str, taken: Sequence[Turn], members: int) -> Iterator[Claim]:
    """Beside the ideal, and beside loaders of the members' own."""
    at = f"{workload}, K = {members}:"
    streams = (("own worker", own(members), OWN), ("fed", fed(members), FED))
    for name, cell, bars in streams:
        over = partial(_over_ideal, cell)
        yield _claim(f"{at} {name} / ideal", taken, over, most=bars.get(members))
    for name, cell, _ in streams if members > 1 else ():
        for workers in (0, 1):
            saved = partial(_of_ceiling, cell, private(members, workers))
            said = f"{at} share of the ceiling, {name}, loaders of {workers} workers"
            yield _claim(said, taken, saved, least=OF_CEILING)


def grouped_claims(workload: str, taken: Sequence[Turn], members: int) -> Iterator[Claim]:
    """All members in one process, beside the ideal, for which they have one each."""
    for name, fed in (("own worker", False), ("fed", True)):
        over = partial(_over_ideal, grouped(members, fed=fed))
        said = f"{workload}, K = {members}: {name}, in one process / ideal"
        yield _claim(said, taken, over, most=GROUPED)


def _over(above: Cell, below: Cell, turn: Turn) -> float:
    return turn[above] / turn[below]


def _over_ideal(cell: Cell, turn: Turn) -> float:
    return turn[cell] / ideal(turn, cell.members)


def _of_ceiling(cell: Cell, loaders: Cell, turn: Turn) -> float:
    ceiling = turn[private(cell.members)] / ideal(turn, cell.members)
    return turn[loaders] / turn[cell] / ceiling


def _shareable(turn: Turn) -> float:
    return prepare(turn) / turn[none(1)]


BEGINS = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
if sys.argv[1:]:
    from foretrain import attach
    loader = attach(sys.argv[1], patience=60)
else:
    loader = DataLoader(TensorDataset(torch.zeros(1000, 16)), 100)
for _ in loader:
    pass
"""


def _began(*arguments: str) -> float:
    """Processor seconds of a process that goes through one small epoch."""
    process = subprocess.Popen([sys.executable, "-c", BEGINS, *arguments])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError("A member did not begin; see its messages above.")
    return used.ru_utime + used.ru_stime


def start_claims(count: int) -> Iterator[Claim]:
    """What a member takes to begin over a stream, beyond the same over a loader of its own."""
    from torch import zeros
    from torch.utils.data import DataLoader, TensorDataset
    from validation.parts.claims import Claim

    from batchcast.stream import share

    def one() -> float:
        name = f"start-{os.getpid()}-{time.monotonic_ns()}"
        with share(DataLoader(TensorDataset(zeros(1000, 16)), 100), name=name, epochs=1):
            return _began(name) - _began()

    one()  # files are in the machine's memory from here on
    found = [one() for _ in range(count)]
    yield Claim(
        name=f"start of a member ({min(found):.3f} to {max(found):.3f})",
        figure=statistics.median(found),
        most=START_MOST,
        write=lambda value: f"{value:.3f} CPU s",
        noisy=True,
    )


def _told(workload: str, taken: Sequence[Turn], members: Sequence[int]) -> Iterator[Claim]:
    if workload != LIGHT:
        yield _claim(f"{workload}, shareable / private work", taken, _shareable)
    for count in members:
        yield from (
            light_claims(taken, count) if workload == LIGHT else claims(workload, taken, count)
        )


def main(arguments: list[str]) -> int:
    """Measures what was asked for; 1 if a figure misses its bar, save of a short run."""
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing or not sys.platform.startswith("linux"):
        print(f"skipped: needs {' and '.join(['Linux', *missing])}")
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join((*EVERY, START)))
    parser.add_argument("--members", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--grouped", action="store_true", help="all members in one process too")
    parser.add_argument("--seconds", type=float, default=6.0, help="of the long run of a cell")
    asked = parser.parse_args(arguments)
    known = (*EVERY, START)
    if unknown := set(asked.workloads) - set(known):
        parser.error(f"unknown workload {', '.join(sorted(unknown))}. Known: {', '.join(known)}.")
    short = not asked.workloads
    sys.path.insert(0, str(ROOT))
    import torch
    from ensemble_parts.workload import PLAIN, draw, network
    from validation.parts.claims import table

    torch.set_num_threads(1)
    network(PLAIN)  # what an optimizer imports is imported before the first fork
    members, turns, seconds = (
        ([2], 1, 1.0) if short else (asked.members, asked.turns, asked.seconds)
    )
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder), PICTURES)
        for workload in asked.workloads or [HEAVY]:
            bench = Bench(workload=workload, folder=Path(folder), seconds=seconds)
            if workload == START:
                told = list(start_claims(turns))
            else:
                groups = members if asked.grouped and workload != LIGHT else []
                more = [grouped(count, fed=fed) for count in groups for fed in (False, True)]
                taken = bench.turns(members, turns, more=more)
                told = list(_told(workload, taken, members))
                for count in groups:
                    told += grouped_claims(workload, taken, count)
            print("\n".join(table(told)), flush=True)
            kept &= all(claim.kept is not False for claim in told)
    return 0 if kept or short else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
