"""Pictures: the map of a space, and what every stage of a step does when.

The map of a space: for every tensor and pipeline degree, the best of all the rest.

The picture of a step: what every stage does when, on compute and on its links.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from foretrain.plan.study import Objective
from foretrain.search.result import Cell, SearchResult
from foretrain.show.charts import PlotAxis, Scale, Ticks, distances
from foretrain.show.table import Column, Table, table
from foretrain.show.words import SPENT, count, percent, whole, written
from foretrain.step.simulated_passes import StepTimes
from foretrain.step.simulated_step import DeviceStream, Interval, timeline
from foretrain.units import SECONDS, Quantity

MORE: Final = {
    Objective.TIME: "slower",
    Objective.COST: "dearer",
    Objective.ENERGY: "more energy",
    Objective.MEMORY: "more memory",
}
TWICE = 2.0  # from here on one says how many times, not how many per cent


class CellState(StrEnum):
    """What is known of the best plan of a cell: which it is, at most, at least, that it is none."""

    KNOWN = "known"
    FOUND = "found"
    BOUNDED = "bounded"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """One cell of the map as it is drawn.

    Attributes:
        cell: what it shows.
        column: place of its pipeline degree, from 0.
        row: place of its tensor degree, from 0.
        number: of its row in the table, from 1.
        state: what is known of it.
        shade: how far its best plan is from the best of all; 0 where no plan is known.
        text: what stands in it.
        words: what it says, for who points at it.
        best: whether the best plan of all is one of its plans.
    """

    cell: Cell
    column: int
    row: int
    number: int
    state: CellState
    shade: int
    text: str
    words: str
    best: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceMap:
    """The map: rows of tensor degrees, columns of pipeline degrees.

    Attributes:
        scale: what the shades mean.
        more: how one says that a value is larger ("slower").
    """

    tensors: tuple[int, ...]
    pipelines: tuple[int, ...]
    squares: tuple[Square, ...]
    scale: Scale
    more: str

    @property
    def states(self) -> frozenset[CellState]:
        """What the legend must explain."""
        return frozenset(square.state for square in self.squares)


def space_map(result: SearchResult) -> SpaceMap | None:
    """The map of a searched space; None where no cell of it has a priced plan."""
    values = [cell.best for cell in result.cells if cell.best is not None]
    if not values:
        return None
    cells = sorted(result.cells, key=lambda cell: (cell.tensor, cell.pipeline))
    tensors, pipelines = _degrees(c.tensor for c in cells), _degrees(c.pipeline for c in cells)
    against = _Reference(result=result, least=min(values), scale=distances())
    squares = (
        against.square(
            cell, number, at=(pipelines.index(cell.pipeline), tensors.index(cell.tensor))
        )
        for number, cell in enumerate(cells, start=1)
    )
    return SpaceMap(
        tensors=tensors,
        pipelines=pipelines,
        squares=tuple(squares),
        scale=against.scale,
        more=MORE[result.objective],
    )


def _degrees(degrees: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(degrees)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reference:
    """What all cells are compared with."""

    result: SearchResult
    least: float
    scale: Scale

    def square(self, cell: Cell, number: int, *, at: tuple[int, int]) -> Square:
        """One cell as it is drawn, at a column and a row."""
        plan = self.result.best.plan
        if cell.best is None and cell.bound is None:
            # No plan of it can run.
            state, text, reasons = CellState.REFUSED, "", ", or ".join(self.result.rejected)
            why = f": {reasons}" * bool(reasons)
            words = f"none of {count(cell.plans, 'plan')} can run{why}"
            words = words if cell.plans else "no legal plan"
        elif cell.best is None:
            state, (text, words) = CellState.BOUNDED, self._bounded(cell)
        elif cell.bound is not None and cell.bound < cell.best:
            state, (text, words) = CellState.FOUND, self._found(cell)
        else:
            state, (text, words) = CellState.KNOWN, self._known(cell)
        return Square(
            cell=cell,
            column=at[0],
            row=at[1],
            number=number,
            state=state,
            shade=0 if cell.best is None else self.scale.shade(cell.best / self.least - 1),
            text=text,
            words=f"tensor {cell.tensor}, pipeline {cell.pipeline}: {words}",
            best=(cell.tensor, cell.pipeline) == (plan.tensor, plan.pipeline),
        )

    def _known(self, cell: Cell) -> tuple[str, str]:
        """A cell whose best plan is among those that were priced."""
        assert cell.best is not None
        value, far = written(self._quantity, cell.best), cell.best / self.least
        words = f"{value}, {self._far(far)}; best of {count(cell.plans, 'plan')}: {cell.plan}"
        return value if far == 1 else further(far), words

    def _found(self, cell: Cell) -> tuple[str, str]:
        """A cell of which some plans were priced, and others may be better."""
        assert cell.best is not None
        assert cell.bound is not None
        value, far = written(self._quantity, cell.best), cell.best / self.least
        plans = count(cell.plans, "plan")
        words = f"{value}, {self._far(far)}; best of those of {plans} that were priced: {cell.plan}"
        text = value if far == 1 else further(far)
        return f"\u2264 {text}", f"{words}; {self._at_least(cell.bound)}"

    def _bounded(self, cell: Cell) -> tuple[str, str]:
        """A cell of which a bound is known and no plan was priced."""
        assert cell.bound is not None
        far = cell.bound / self.least
        words = f"none of {count(cell.plans, 'plan')} was priced; {self._at_least(cell.bound)}"
        return f"\u2265 {further(far)}" if far >= 1 else "?", words

    def _at_least(self, bound: float) -> str:
        """What is known of plans that were not priced."""
        if not bound:
            return "plans that were not priced may take anything"
        far = f", {self._far(bound / self.least)}" if bound > self.least else ""
        return f"what was not priced takes at least {written(self._quantity, bound)}{far}"

    def _far(self, ratio: float) -> str:
        """How far a value is from the least, in words."""
        if ratio == 1:
            return "the least of all"
        if ratio < TWICE:
            return f"{percent(ratio - 1)} {MORE[self.result.objective]} than the best"
        return f"{further(ratio).removesuffix(' x')} times the best"

    @property
    def _quantity(self) -> Quantity:
        return SPENT[self.result.objective]


def further(ratio: float) -> str:
    """How far a value is from the least: "+12 %", "3.1 x"."""
    if ratio < TWICE:
        share = percent(ratio - 1)
        return share if share.startswith("<") else f"+{share}"
    return f"{ratio:.1f} x" if ratio < 10 else f"{ratio:,.0f} x"


def map_table(drawn: SpaceMap) -> Table:
    """What the map shows, a row for every cell."""
    number = partial(Column, number=True)
    return table(
        drawn.squares,
        (number(name="tp"), lambda each: each.cell.tensor),
        (number(name="pp"), lambda each: each.cell.pipeline),
        (number(name="plans", unit=whole), lambda each: each.cell.plans),
        (number(name="best"), lambda each: each.text),
        (Column(name="what it says"), lambda each: each.words.partition(": ")[2]),
        anchor="cell",
        keys={"best": [each.cell.best or each.cell.bound for each in drawn.squares]},
    )


MOST: Final = 4_000
"""Rectangles of which each is drawn by itself."""

BINS: Final = 600
"""Stretches of equal time that are drawn where there are more, each as what it is most."""

SHOWN: Final = 16
"""Stages that are drawn; of more of them, as many spread evenly from the first to the last."""

ORDER: Final = (DeviceStream.COMPUTE, DeviceStream.SEND, DeviceStream.DATA)
COLOURS: Final = {"weights": "backward", "send": "pipeline", "gather": "parameters"}
"""Names of the style sheet, where they are not the first word of what is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStripe:
    """A stretch of time, in per cent of the drawing, by the name of its colour."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPicture:
    """A step, stage below stage.

    Attributes:
        x: ticks of time.
        stages: where each stage's name stands, and the name.
        stripes: what its streams do.
        kinds: names of the colours that are there, with what they mean.
    """

    x: Ticks
    stages: tuple[tuple[float, str], ...]
    stripes: tuple[StepStripe, ...]
    kinds: tuple[str, ...]


def step_picture(times: StepTimes) -> StepPicture:
    """The picture of a simulated step."""
    found, count = timeline(times), len(times.stages)
    end = max(each.end for each in found)
    shown = _spread(count)
    rows: dict[tuple[int, DeviceStream], list[Interval]] = defaultdict(list)
    for each in found:
        if each.stage in shown:
            rows[each.stage, each.stream].append(each)
    whole = sum(map(len, rows.values())) <= MOST
    height = 100 / len(shown)
    # Compute takes half of a stage's room, each link a fifth.
    tops = {DeviceStream.COMPUTE: (0.05, 0.5), DeviceStream.SEND: (0.57, 0.16)}
    tops[DeviceStream.DATA] = (0.75, 0.16)
    stripes = []
    for (stage, stream), own in rows.items():
        first, share = tops[stream]
        top = (shown.index(stage) + first) * height
        for start, until, colour in _exactly(own) if whole else _coarsely(own, end):
            stripes.append(
                StepStripe(
                    x=100 * start / end,
                    y=top,
                    width=100 * (until - start) / end,
                    height=share * height,
                    colour=colour,
                    text=f"stage {stage}: {colour}, {written(SECONDS, until - start)}",
                )
            )
    clock = PlotAxis(low=0.0, high=end, quantity=SECONDS)
    return StepPicture(
        x=Ticks(ticks=clock.linear, logarithmic=False),
        stages=tuple(((place + 0.5) * height, f"{stage}") for place, stage in enumerate(shown)),
        stripes=tuple(stripes),
        kinds=tuple(dict.fromkeys(each.colour for each in stripes)),
    )


def _spread(count: int) -> list[int]:
    """The stages that are drawn."""
    if count <= SHOWN:
        return list(range(count))
    return [round(place * (count - 1) / (SHOWN - 1)) for place in range(SHOWN)]


def _colour(interval: Interval) -> str:
    word = interval.name.split()[0]
    return COLOURS.get(word, word)


Stretch = tuple[float, float, str]
"""Start, end and colour."""


def _exactly(own: Iterable[Interval]) -> list[Stretch]:
    return [(each.start, each.end, _colour(each)) for each in own]


def _coarsely(own: Sequence[Interval], end: float) -> list[Stretch]:
    """Equal stretches of time by what most of each is; neighbours of one colour are one."""
    found: list[dict[str, float]] = [{} for _ in range(BINS)]
    size = end / BINS
    for each in own:
        first, last = int(each.start / size), min(BINS - 1, int(each.end / size))
        for place in range(first, last + 1):
            inside = min(each.end, (place + 1) * size) - max(each.start, place * size)
            colour = _colour(each)
            found[place][colour] = found[place].get(colour, 0.0) + inside
    merged: list[Stretch] = []
    for place, colours in enumerate(found):
        busy = sum(colours.values())
        if busy < size / 2:
            continue
        colour = max(colours, key=lambda name: colours[name])
        start = place * size
        if merged and merged[-1][2] == colour and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], start + size, colour)
        else:
            merged.append((start, start + size, colour))
    return merged
