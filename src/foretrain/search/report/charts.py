"""Charts of a search: stacked bars, and the Pareto front.

Stacked bars: time of plans, memory of stages, and what became of the whole space.

The Pareto front as points: time to the right, memory upwards, money or devices as shade.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from foretrain.plan.study import Study
from foretrain.search.explain.breakdown import AliveAt
from foretrain.search.result import ParetoPoint, SearchResult
from foretrain.show.charts import PlotAxis, Scale, amounts, axis_of
from foretrain.show.table import Piece
from foretrain.show.words import count, in_one_unit, percent, written
from foretrain.step.facts import memory_pieces, time_pieces
from foretrain.step.result import Ranked
from foretrain.units import BYTES, DOLLARS, SECONDS, Quantity

REASONS = 7
"""Colours that the style sheet has for reasons of refusal, `--refused-0` for the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One stacked bar: `pieces` have shares of the longest bar."""

    label: str
    total: str
    pieces: tuple[Piece, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of some plans of the space.

    Attributes:
        name: of its colour.
        plans: how many.
        share: of the whole space.
        words: what became of them.
    """

    name: str
    plans: int
    share: float
    words: str


def time_bars(plans: Sequence[Ranked]) -> tuple[Bar, ...]:
    """The parts of a step, one bar per plan; the slowest is as long as the drawing."""
    longest = max(entry.estimate.parts.total for entry in plans)
    return tuple(
        _bar(f"plan {place}", time_pieces(entry.estimate.parts), SECONDS, longest=longest)
        for place, entry in enumerate(plans, start=1)
    )


def memory_bars(study: Study, best: Ranked) -> tuple[Bar, ...]:
    """Memory on a device of every stage; the heaviest, or the capacity, is the whole length."""
    longest = longest_memory(study, best)
    return tuple(
        _bar(f"stage {stage.stage + 1}", memory_pieces(stage, longest), BYTES, longest=longest)
        for stage in best.estimate.memory.stages
    )


def moment_bars(moments: Sequence[AliveAt], capacity: float) -> tuple[Bar, ...]:
    """What the heaviest device holds at moments; the fullest, or the capacity, is the length."""
    names = ("weights", "gradients", "optimizer", "activations", "buffers")
    longest = max(capacity, *(each.total for each in moments))
    held = [
        [
            Piece(name=name, amount=getattr(each, name), share=getattr(each, name) / longest)
            for name in names
            if getattr(each, name)
        ]
        for each in moments
    ]
    return tuple(
        _bar(each.when, pieces, BYTES, longest=longest)
        for each, pieces in zip(moments, held, strict=True)
    )


def longest_memory(study: Study, best: Ranked) -> float:
    """Bytes that the whole length of the memory bars stands for."""
    return max(best.estimate.memory.heaviest.total, study.cluster.device.memory)


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


def fates(result: SearchResult) -> tuple[Fate, ...]:
    """What became of every plan: priced, excluded, refused for each reason, or nothing yet."""
    refused = sorted(result.rejected.items(), key=lambda item: (-item[1], item[0]))
    reasons = [
        (f"refused-{place % REASONS}", plans, f"refused: {reason}")
        for place, (reason, plans) in enumerate(refused)
    ]
    told = (
        ("priced", result.priced, "priced: their time was computed"),
        ("excluded", result.excluded_by_bound, "excluded: a bound proves them worse"),
        *reasons,
        ("unseen", result.unseen, "not looked at: the search was cut short"),
    )
    return tuple(
        Fate(name=name, plans=plans, share=plans / result.space, words=words)
        for name, plans, words in told
        if plans
    )


def space_bar(result: SearchResult) -> Bar:
    """The whole space as one bar."""
    parts = fates(result)
    return Bar(
        label="all plans",
        total=f"{result.space:,}",
        pieces=tuple(Piece(name=part.name, amount=part.plans, share=part.share) for part in parts),
        texts=tuple(
            f"{count(part.plans, 'plan')}, {percent(part.share)}, {part.words}" for part in parts
        ),
    )


def _bar(label: str, pieces: Sequence[Piece], quantity: Quantity, *, longest: float) -> Bar:
    total = sum(piece.amount for piece in pieces)
    amounts = in_one_unit([written(quantity, piece.amount) for piece in pieces], like=max)
    texts = tuple(
        f"{piece.name}: {amount}, {percent(piece.amount / total)}"
        for piece, amount in zip(pieces, amounts, strict=True)
    )
    stretched = tuple(
        Piece(name=piece.name, amount=piece.amount, share=piece.amount / longest)
        for piece in pieces
    )
    return Bar(label=label, total=written(quantity, total), pieces=stretched, texts=texts)


APART = (3.5, 5.0)  # per cent between the numbers of two points, sideways or upwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One plan in the plot: per cent from the left and from the top.

    Attributes:
        number: of its row in the table, from 1.
        text: what it is, for who points at it.
        shade: of its third objective; 0 where there is none.
    """

    x: float
    y: float
    number: int
    text: str
    shade: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Third:
    """What the shades and sizes of points mean."""

    name: str
    values: tuple[float, ...]
    scale: Scale


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityLine:
    """What a device has: a line, per cent from the top; `label` tells several apart."""

    y: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Time against memory: the Pareto front, the k best, the capacity of every kind of device.

    Attributes:
        numbered: points of the front whose numbers have room; the others' tooltips name them.
        third: the third objective; None where all plans use the same devices, since money is then
            nothing but time.
    """

    x: PlotAxis
    y: PlotAxis
    front: tuple[Mark, ...]
    best: tuple[Mark, ...]
    capacities: tuple[CapacityLine, ...]
    numbered: frozenset[int]
    third: Third | None


def pareto_plot(study: Study, result: SearchResult) -> Plot:
    """Step time to the right, memory upwards; the dearer or larger, the paler and the larger."""
    points, rivals = result.pareto, result.plans
    memories = {it.cluster.device.name: it.cluster.device.memory for it in study.choices}
    times = [point.step_time for point in points] + [it.estimate.step_time for it in rivals]
    held = [point.memory for point in points] + [it.estimate.memory.total for it in rivals]
    x, y = axis_of(times, SECONDS), axis_of([*held, *memories.values()], BYTES)
    third = third_objective(points)
    front, numbered = [], list[Mark]()
    for number, point in enumerate(points, start=1):
        money = point.cost_per_step
        price = "" if money is None else f", {written(DOLLARS, money)} per step"
        place = f", {count(point.devices, 'device')} of {point.cluster}" if third else ""
        mark = Mark(
            x=x.place(point.step_time),
            y=100 - y.place(point.memory),
            number=number,
            text=f"{_amounts(point.step_time, point.memory)}{price}{place}: {point.plan}",
            shade=third.scale.shade(third.values[number - 1]) if third else 0,
        )
        front.append(mark)
        # A number needs room beside each point numbered before.
        if all(abs(mark.x - it.x) > APART[0] or abs(mark.y - it.y) > APART[1] for it in numbered):
            numbered.append(mark)
    best = [
        Mark(
            x=x.place(it.estimate.step_time),
            y=100 - y.place(it.estimate.memory.total),
            number=number,
            text=f"{_amounts(it.estimate.step_time, it.estimate.memory.total)}: {it.plan}",
        )
        for number, it in enumerate(rivals, start=1)
    ]
    return Plot(
        x=x,
        y=y,
        front=tuple(front),
        best=tuple(best),
        capacities=_capacities(memories, y),
        numbered=frozenset(mark.number for mark in numbered),
        third=third,
    )


def third_objective(points: Sequence[ParetoPoint]) -> Third | None:
    """Cost, or devices where a plan has no price; None where all use the same devices."""
    if len({(point.cluster, point.devices) for point in points}) == 1:
        return None
    costs = tuple(point.cost_per_step for point in points if point.cost_per_step is not None)
    if len(costs) == len(points):
        scale = amounts(costs, partial(written, DOLLARS))
        return Third(name="cost per step", values=costs, scale=scale)
    devices = tuple(float(point.devices) for point in points)
    return Third(name="devices", values=devices, scale=amounts(devices, "{:,.0f}".format))


def _amounts(time: float, memory: float) -> str:
    return f"{written(SECONDS, time)}, {written(BYTES, memory)}"


def _capacities(memories: Mapping[str, float], y: PlotAxis) -> tuple[CapacityLine, ...]:
    """One line for each memory that devices have, with their names where there are several.

    Of lines that nearly meet the uppermost one names all devices.
    """
    sizes = sorted(set(memories.values()))
    lines, names = [], list[str]()
    for size, above in zip(sizes, [*sizes[1:], None], strict=True):
        names += [name for name, memory in memories.items() if memory == size]
        last = above is None or y.place(above) - y.place(size) >= APART[1]
        label = ", ".join(names) if last and len(sizes) > 1 else ""
        lines.append(CapacityLine(y=100 - y.place(size), label=label))
        names = [] if last else names
    return tuple(lines)
