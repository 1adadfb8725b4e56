"""Ensembles at the limit: what a shared stream takes beside preparing once, start-up apart.

    python benchmarks/ensemble_limit.py                      # half a minute, two members, wide bars
    python benchmarks/ensemble_limit.py heavy                # K = 1, 2, 4, 8, five turns
    python benchmarks/ensemble_limit.py heavy --members 2 4  # only these
    python benchmarks/ensemble_limit.py half light start     # other workloads, and what starting takes

Every cell runs twice in a turn, with few samples and with many; what the difference took, divided
by the samples of the difference, is what a sample takes while a stream runs. `prepare` is a private
loader without worker less its training; `own` is K training steps on a batch in memory:

    ideal(K) = prepare + own(K)              private(K) = K x (prepare + own)

All cells of a turn are measured beside each other; the ratio of each turn is taken, then the median.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from validation.parts.claims import Claim

ROOT = Path(__file__).parents[1]
NEEDED = {"torch": "torch", "PIL": "Pillow"}
PICTURES = 400

HEAVY, HALF, LIGHT = "heavy", "half", "light"
EVERY = {HEAVY: 6, HALF: 3, LIGHT: 0}
"""Every how manieth pixel the network sees: shareable over private work is about 12, 4, and all."""

OWN = {1: 1.05, 2: 1.05, 4: 1.08, 8: 1.10}
FED = {1: 1.05, 2: 1.05, 4: 1.06, 8: 1.08}
"""The most that a stream may take over the ideal."""

OF_CEILING = 0.92
"""The least share of private(K) / ideal(K) that a stream must save."""

LIGHT_MOST = {1: 1.5, 4: 0.8}
START_MOST = 0.3
"""Processor seconds of a member's start beyond importing what it trains with."""

WIDE = 1.5
"""A short run on any machine may miss a bar by this factor."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured.

    Attributes:
        turns: in each of which every cell is measured.
        seconds: processor seconds that the long run of a cell takes, about.
    """

    turns: int
    seconds: float


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


def private(members: int, workers: int = 0) -> Cell:
    """A loader for each."""
    return Cell(method="private", members=members, workers=workers)


def none(members: int) -> Cell:
    """Training alone."""
    return Cell(method="none", members=members)


@dataclass(frozen=True, kw_only=True)
class Slope:
    """What a cell took in a turn.

    Attributes:
        each: processor seconds for a sample that all members get.
        start: processor seconds of starting and ending.
    """

    each: float
    start: float


Turn = Mapping[Cell, Slope]


def cells_of(workload: str, members: Sequence[int]) -> list[Cell]:
    """What a workload needs, in the order in which it is measured."""
    found = [private(1)] if workload == LIGHT else [private(1), none(1)]
    for count in members:
        found += [own(count), fed(count), private(count)]
        found += [] if workload == LIGHT else [private(count, 1), none(count)]
    return list(dict.fromkeys(found))


def turns(workload: str, members: Sequence[int], effort: Effort, folder: Path) -> Iterator[Turn]:
    """Every cell, turn by turn."""
    import os
    from functools import partial

    from ensemble_parts.methods import METHODS, Setting
    from ensemble_parts.rounds import _delivered
    from ensemble_parts.tree import cost
    from ensemble_parts.workload import ROWS

    cores = sorted(os.sched_getaffinity(0))[:2]
    pictures = PICTURES if EVERY[workload] else ROWS

    def took(cell: Cell, epochs: int) -> float:
        setting = Setting(
            folder=folder,
            pictures=pictures,
            members=cell.members,
            epochs=epochs,
            every=EVERY[workload],
            workers=cell.workers,
            lend=EVERY[workload] > 0,
        )
        found = cost(partial(METHODS[cell.method], setting), cores=cores, limit=300.0)
        _delivered(cell, setting, found.told)
        return found.cpu

    cells = cells_of(workload, members)
    lengths: dict[Cell, int] = {}
    for turn in range(effort.turns):
        found: dict[Cell, Slope] = {}
        for cell in cells[turn % len(cells) :] + cells[: turn % len(cells)]:
            if cell not in lengths:
                one, two = took(cell, 1), took(cell, 3)
                lengths[cell] = 2 + max(2, round(effort.seconds / max(1e-3, (two - one) / 2)))
            long = lengths[cell]
            few, many = took(cell, 1), took(cell, long)
            each = (many - few) / (pictures * (long - 1))
            found[cell] = Slope(each=each, start=few - each * pictures)
            print(
                f"{workload} {turn + 1}/{effort.turns} {cell}: {1e6 * each:.1f} us a sample,"
                f" {found[cell].start:.2f} s to start",
                file=sys.stderr,
                flush=True,
            )
        yield found


def claims_of(
    workload: str, members: Sequence[int], taken: Sequence[Turn], wide: float
) -> Iterator[Claim]:
    """The figures beside their bars: medians of the ratios of each turn."""
    from validation.parts.claims import Claim

    def claim(name: str, figures: list[float], **bars: float | None) -> Claim:
        spread = f" ({min(figures):.2f} to {max(figures):.2f})"
        return Claim(
            name=f"{workload}, {name}",
            figure=statistics.median(figures),
            write=lambda value: f"{value:.3f}x",
            noisy=True,
            **bars,
        ), spread

    def over(above, below):
        return [above(turn) / below(turn) for turn in taken]

    if workload == LIGHT:
        for count in members:
            for named, cell in (("own worker", own(count)), ("fed", fed(count))):
                ratios = over(lambda t: t[cell].each, lambda t: t[private(count)].each)
                yield claim(
                    f"K = {count}: {named} / private",
                    ratios,
                    most=times(LIGHT_MOST.get(count), wide),
                )
            yield claim(
                f"K = {count}: private, us a sample", [1e6 * t[private(count)].each for t in taken]
            )
        return

    def prepare(turn):
        return turn[private(1)].each - turn[none(1)].each

    yield claim("shareable / private work", over(prepare, lambda t: t[none(1)].each))
    for count in members:
        ideal = lambda t: prepare(t) + t[none(count)].each
        strict = lambda t: prepare(t) + count * t[none(1)].each
        yield claim(
            f"K = {count}: own work of K at once / K x own work",
            over(lambda t: t[none(count)].each, lambda t: count * t[none(1)].each),
        )
        for named, cell, bars in (("own worker", own(count), OWN), ("fed", fed(count), FED)):
            yield claim(
                f"K = {count}: {named} / ideal",
                over(lambda t: t[cell].each, ideal),
                most=times(bars.get(count), wide),
            )
            yield claim(
                f"K = {count}: {named} / ideal of K x own work alone",
                over(lambda t: t[cell].each, strict),
            )
        if count == 1:
            continue
        for named, cell in (("own worker", own(count)), ("fed", fed(count))):
            for workers in (0, 1):

                def saved(t, workers=workers, cell=cell):
                    return t[private(count, workers)].each / t[cell].each

                def ceiling(t):
                    return t[private(count)].each / ideal(t)

                yield claim(
                    f"K = {count}: private {workers}w / {named}, of private / ideal",
                    over(saved, ceiling),
                    least=OF_CEILING / wide,
                )


def times(bar: float | None, wide: float) -> float | None:
    return None if bar is None else bar * wide


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("workloads", nargs="*", choices=[*EVERY, []])
    parser.add_argument("--members", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6.0)
    asked = parser.parse_args(arguments)
    sys.path.insert(0, str(ROOT))
    import torch
    from ensemble_parts.workload import PLAIN, draw, network

    torch.set_num_threads(1)
    network(PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder), PICTURES)
        for workload in asked.workloads:
            taken = []
            for turn in turns(
                workload,
                asked.members,
                Effort(turns=asked.turns, seconds=asked.seconds),
                Path(folder),
            ):
                taken.append(turn)
            for each, spread in claims_of(workload, asked.members, taken, 1.0):
                print(f"{each.name:60} {each.bar:>12} {each.shown:>10}{spread} {each.verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
