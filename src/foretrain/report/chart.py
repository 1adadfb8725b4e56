"""Charts: where bars, points and ticks stand, in per cent of the drawing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, log10

from foretrain.plan.study import Study
from foretrain.report.facts import Piece, memory_pieces, time_pieces
from foretrain.report.words import percent, written
from foretrain.results.search import ParetoPoint, Ranked, SearchResult
from foretrain.units import BYTES, SECONDS, Quantity

WIDE = 8.0  # an axis is logarithmic where its ends differ by more than this factor
MARGIN = 0.06
APART_TICKS = 1.5  # a tick nearer to the next unit's first one gives way to it: 50 s to 1 min
APART = (3.5, 5.0)  # per cent between the numbers of two points, sideways or upwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One stacked bar: `pieces` have shares of the longest bar."""

    label: str
    total: str
    pieces: tuple[Piece, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis of a plot, from `low` to `high`."""

    low: float
    high: float
    quantity: Quantity

    @property
    def logarithmic(self) -> bool:
        """Whether equal ratios are equally long."""
        return self.high > WIDE * self.low

    def place(self, value: float) -> float:
        """Per cent of the way from `low` to `high`."""
        if self.logarithmic:
            return 100 * log10(value / self.low) / log10(self.high / self.low)
        return 100 * (value - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Places and texts of round values."""
        rounds = self._decades() if self.logarithmic else self._steps()
        inside = ((value, text) for value, text in rounds if self.low <= value <= self.high)
        return tuple((self.place(value), text) for value, text in inside)

    def _steps(self) -> Iterator[tuple[float, str]]:
        """Multiples of 1, 2 or 5 times a power of ten, at most seven of them, all in one unit."""
        unit = self.quantity.unit_of(self.low)
        size = self.quantity.units[unit]
        rough = (self.high - self.low) / size / 7
        power = 10.0 ** floor(log10(rough))
        step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough)
        first, last = ceil(self.low / size / step), floor(self.high / size / step)
        values = (number * step for number in range(first, last + 1))
        return ((value * size, f"{value:,.6g} {unit}") for value in values)

    def _decades(self) -> Iterator[tuple[float, str]]:
        """1, 2 and 5 times powers of ten, each in the unit in which it is round."""
        sizes = [self.quantity.units[unit] for unit in self.quantity.shown]
        for size, larger in zip(sizes, [*sizes[1:], inf], strict=True):
            for times in (1, 2, 5, 10, 20, 50, 100, 200, 500):
                if APART_TICKS * times * size < larger:
                    yield times * size, written(self.quantity, times * size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One plan in the plot: per cent from the left and from the top."""

    x: float
    y: float
    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Time against memory: the Pareto front, the k best, the device's capacity.

    Attributes:
        numbered: points of the front whose numbers have room; the others' tooltips name them.
    """

    x: Axis
    y: Axis
    front: tuple[Mark, ...]
    best: tuple[Mark, ...]
    capacity: float
    numbered: frozenset[int]


def pareto_plot(study: Study, result: SearchResult) -> Plot:
    """Step time to the right, memory upwards."""
    points = _points(result.pareto, result.plans)
    x = _axis([time for time, _, _ in points], SECONDS)
    capacity = study.cluster.device.memory
    y = _axis([*(memory for _, memory, _ in points), capacity], BYTES)
    marks = [
        Mark(x=x.place(time), y=100 - y.place(memory), number=number, text=text)
        for number, (time, memory, text) in enumerate(points, start=1)
    ]
    fronts = len(result.pareto)
    return Plot(
        x=x,
        y=y,
        front=tuple(marks[:fronts]),
        best=tuple(marks[fronts:]),
        capacity=100 - y.place(capacity),
        numbered=_with_room(marks[:fronts]),
    )


def _with_room(marks: Sequence[Mark]) -> frozenset[int]:
    """Numbers of the points that stand far enough from each point numbered before."""
    numbered: list[Mark] = []
    for mark in marks:
        if all(abs(mark.x - it.x) > APART[0] or abs(mark.y - it.y) > APART[1] for it in numbered):
            numbered.append(mark)
    return frozenset(mark.number for mark in numbered)


def time_bars(plans: Sequence[Ranked]) -> tuple[Bar, ...]:
    """The parts of a step, one bar per plan; the slowest is as long as the drawing."""
    longest = max(entry.estimate.parts.total for entry in plans)
    return tuple(
        _bar(f"{place}", time_pieces(entry.estimate.parts), SECONDS, longest=longest)
        for place, entry in enumerate(plans, start=1)
    )


def memory_bars(study: Study, best: Ranked) -> tuple[Bar, ...]:
    """Memory on a device of every stage; the heaviest, or the capacity, is the whole length."""
    stages = best.estimate.memory.stages
    longest = longest_memory(study, best)
    return tuple(
        _bar(f"{stage.stage + 1}", memory_pieces(stage, longest), BYTES, longest=longest)
        for stage in stages
    )


def explained(
    pieces: Sequence[Piece], bars: Sequence[Bar], names: Iterable[str]
) -> tuple[Piece, ...]:
    """Pieces for a table under bars: what other bars have besides is there too, as nothing.

    Args:
        pieces: of the bar that the table is about.
        bars: all of them.
        names: every part that there may be, in order.
    """
    own = {piece.name: piece for piece in pieces}
    drawn = {piece.name for bar in bars for piece in bar.pieces} | own.keys()
    return tuple(
        own.get(name, Piece(name=name, amount=0.0, share=0.0)) for name in names if name in drawn
    )


def longest_memory(study: Study, best: Ranked) -> float:
    """Bytes that the whole length of the memory bars stands for."""
    return max(best.estimate.memory.heaviest.total, study.cluster.device.memory)


def _bar(label: str, pieces: Sequence[Piece], quantity: Quantity, *, longest: float) -> Bar:
    total = sum(piece.amount for piece in pieces)
    texts = tuple(
        f"{piece.name}: {written(quantity, piece.amount)}, {percent(piece.amount / total)}"
        for piece in pieces
    )
    stretched = tuple(
        Piece(name=piece.name, amount=piece.amount, share=piece.amount / longest)
        for piece in pieces
    )
    return Bar(label=label, total=written(quantity, total), pieces=stretched, texts=texts)


def _points(
    front: Sequence[ParetoPoint], plans: Sequence[Ranked]
) -> list[tuple[float, float, str]]:
    """Time, memory and text of every point, the front first."""
    points = [(point.step_time, point.memory, point.plan) for point in front]
    best = [(it.estimate.step_time, it.estimate.memory.total, it.plan) for it in plans]
    return [
        (time, memory, f"{written(SECONDS, time)}, {written(BYTES, memory)}: {plan}")
        for time, memory, plan in points + best
    ]


def _axis(values: Sequence[float], quantity: Quantity) -> Axis:
    """An axis that holds the values with some air at both ends."""
    low, high = min(values), max(values)
    air = 1 + MARGIN if high > WIDE * low else 1.0
    pad = 0.0 if air > 1 else MARGIN * (high - low) or MARGIN * high
    return Axis(low=(low - pad) / air, high=(high + pad) * air, quantity=quantity)
