"""What is claimed, row by row: the cells that a row needs, and its figures beside their bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from validation.parts.claims import Claim

from batchcast.stream import MEMORY
from ensemble_parts.rounds import Cell, Measured, median
from ensemble_parts.workload import LIGHT, PLAIN
from foretrain.units import BYTES

FED = {2: 2.8, 4: 4.2, 8: 6.2}
OWN = {2: 3.1, 4: 4.6, 8: 6.6}
NO_WORKER = {2: 1.9, 4: 3.4, 8: 4.8}
"""The least by which loaders of the members' own must cost more than one stream for all."""

IDEAL_OWN, IDEAL_FED = {4: 1.0, 8: 1.0}, {4: 1.05, 8: 1.05}
"""The most that a stream may cost over preprocessing that is paid once."""

CEILING, ONE_WORKER = {8: 0.9}, {8: 8.0}
SHAREABLE = (12.0, 15.0)
WALL = 1.3
PEER = {2: 7.0, 4: 18.0}
GROWTH = 30e6
WIDE = 0.5
"""A short run on any machine must keep this share of a bar."""

PAPER = {2: 1.86, 5: 3.95, 10: 6.35, 20: 8.77}
"""How much less processor time AlexNet took. Source: pittman2018, CPU use of all-shared."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Cells that are measured together, and what is claimed of them."""

    cells: tuple[Cell, ...]
    claims: Callable[[Measured], Iterator[Claim]]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The cells that differ in method and members only.

    Attributes:
        every: every how manieth pixel of a row and column the network sees.
        cores: processor cores for everything.
    """

    every: int = PLAIN
    cores: int = 2

    def own(self, members: int) -> Cell:
        """One stream with a decode worker of its own."""
        return self._cell("workers", members, 1)

    def fed(self, members: int) -> Cell:
        """One stream fed by a plain loader."""
        return self._cell("fed", members)

    def private(self, members: int, workers: int = 0) -> Cell:
        """A loader per member."""
        return self._cell("private", members, workers)

    def none(self, members: int) -> Cell:
        """Training steps alone."""
        return self._cell("none", members)

    def peer(self, members: int) -> Cell:
        """TensorSocket."""
        return self._cell("tensorsocket", members)

    def _cell(self, method: str, members: int, workers: int = 0) -> Cell:
        return Cell(
            method=method, members=members, workers=workers, every=self.every, cores=self.cores
        )


BOTH = Machine()
ONE = Machine(every=LIGHT, cores=1)


def _times(value: float) -> str:
    return f"{value:.2f}x"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.0f} MB"


def _claim(
    name: str,
    figure: float,
    *,
    least: float | None = None,
    most: float | None = None,
    write: Callable[[float], str] = _times,
) -> Claim:
    return Claim(name=name, figure=figure, least=least, most=most, write=write, noisy=True)


def ratio(members: int) -> Row:
    """Processor time of loaders of the members' own over that of one stream."""
    cells = (
        BOTH.own(members),
        BOTH.fed(members),
        BOTH.private(members, 1),
        BOTH.private(members),
        BOTH.private(1),
        BOTH.none(1),
        BOTH.none(members),
    )
    return Row(cells=cells, claims=partial(_ratios, members=members))


def _ratios(taken: Measured, *, members: int) -> Iterator[Claim]:
    """Against loaders with and without a worker, and against preprocessing that is paid once."""

    def cpu(cell: Cell) -> float:
        return median(taken[cell], "cpu")

    own, fed = cpu(BOTH.own(members)), cpu(BOTH.fed(members))
    worker, alone = cpu(BOTH.private(members, 1)), cpu(BOTH.private(members))
    once = cpu(BOTH.private(1)) - cpu(BOTH.none(1))
    ideal = once + cpu(BOTH.none(members))
    at = f"{members} members:"
    yield _claim(f"{at} loaders with 1 worker / stream fed", worker / fed, least=FED.get(members))
    yield _claim(f"{at} loaders with 1 worker / own workers", worker / own, least=OWN.get(members))
    yield _claim(
        f"{at} loaders without worker / own workers", alone / own, least=NO_WORKER.get(members)
    )
    yield _claim(f"{at} own workers / ideal", own / ideal, most=IDEAL_OWN.get(members))
    yield _claim(f"{at} stream fed / ideal", fed / ideal, most=IDEAL_FED.get(members))
    yield _claim(f"{at} shareable / private work", once / cpu(BOTH.none(1)))


def one_core(members: int) -> Row:
    """Speed-up where everything has one core and training is light."""
    cells = (
        ONE.own(members),
        ONE.private(members, 1),
        ONE.private(members),
        ONE.private(1),
        ONE.none(1),
    )
    return Row(cells=cells, claims=partial(_speed_ups, members=members))


def _speed_ups(taken: Measured, *, members: int) -> Iterator[Claim]:
    """Wall time of loaders over that of a stream, beside what sharing can give at most."""

    def wall(cell: Cell) -> float:
        return median(taken[cell], "wall")

    step = median(taken[ONE.none(1)], "cpu")
    shareable = median(taken[ONE.private(1)], "cpu") / step - 1.0
    ceiling = (shareable + 1.0) / (shareable / members + 1.0)
    own, alone = wall(ONE.own(members)), wall(ONE.private(members))
    at = f"one core, {members} members:"
    least, most = SHAREABLE
    yield _claim(f"{at} shareable / private work", shareable, least=least, most=most)
    yield _claim(f"{at} loaders without worker / own workers", alone / own)
    yield _claim(f"{at} ceiling of that", ceiling)
    yield _claim(
        f"{at} share of the ceiling",
        alone / own / ceiling,
        least=CEILING.get(members),
        write=_share,
    )
    yield _claim(
        f"{at} loaders with 1 worker / own workers",
        wall(ONE.private(members, 1)) / own,
        least=ONE_WORKER.get(members),
    )
    if members in PAPER:
        yield _claim(f"{at} the paper's AlexNet", PAPER[members])


def _share(value: float) -> str:
    return f"{value:.1%}"


def _walls(taken: Measured) -> Iterator[Claim]:
    many, one = (median(taken[BOTH.own(members)], "wall") for members in (8, 1))
    yield _claim("two cores, one worker: wall time of 8 members / of 1", many / one, most=WALL)


def peer(members: int) -> Row:
    """TensorSocket beside a stream."""
    cells = (BOTH.own(members), BOTH.fed(members), BOTH.peer(members))
    return Row(cells=cells, claims=partial(_peers, members=members))


def _peers(taken: Measured, *, members: int) -> Iterator[Claim]:
    ours, fed, theirs = (
        taken[cell] for cell in (BOTH.own(members), BOTH.fed(members), BOTH.peer(members))
    )
    at = f"TensorSocket, {members} members:"
    each = median(theirs, "cpu") / median(theirs, "delivered")
    yield _claim(f"{at} samples delivered", median(theirs, "delivered"), write=_share)
    yield _claim(
        f"{at} samples that a stream delivered", median(ours, "delivered"), least=1.0, write=_share
    )
    least = PEER.get(members)
    yield _claim(f"{at} its CPU per sample / own workers", each / median(ours, "cpu"), least=least)
    yield _claim(f"{at} its CPU per sample / stream fed", each / median(fed, "cpu"), least=least)
    yield _claim(f"{at} its memory", median(theirs, "memory"), write=_megabytes)
    yield _claim(f"{at} memory of a stream", median(ours, "memory"), write=_megabytes)


def _memories(taken: Measured) -> Iterator[Claim]:
    def growth(kind: Callable[[int], Cell]) -> float:
        return (median(taken[kind(8)], "memory") - median(taken[kind(1)], "memory")) / 7.0

    more = growth(BOTH.own) - growth(BOTH.none)
    arena = max(one.arena for cell in (BOTH.own(1), BOTH.own(8)) for one in taken[cell])
    yield _claim(
        "memory of one more member, its training apart", more, most=GROWTH, write=_megabytes
    )
    yield _claim(
        f"memory files of a stream of {MEMORY}", arena, most=BYTES.read(MEMORY), write=_megabytes
    )


def _quick(taken: Measured) -> Iterator[Claim]:
    """Four members against loaders of their own, widely; starting takes much of a short run."""
    for claim in _ratios(taken, members=4):
        least = None if claim.least is None else WIDE * claim.least
        yield _claim(claim.name, claim.figure or 0.0, least=least)


QUICK_ROW = Row(cells=ratio(4).cells, claims=_quick)

ROWS: Mapping[str, Row] = {
    **{f"ratio-{members}": ratio(members) for members in (2, 4, 8, 12, 16, 20)},
    **{f"one-core-{members}": one_core(members) for members in (2, 5, 8, 10, 20)},
    "wall": Row(cells=(BOTH.own(1), BOTH.own(8)), claims=_walls),
    **{f"tensorsocket-{members}": peer(members) for members in (2, 4)},
    "memory": Row(cells=(BOTH.own(1), BOTH.own(8), BOTH.none(1), BOTH.none(8)), claims=_memories),
}
