"""The map of a space: for every tensor and pipeline degree, the best of all the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from foretrain.plan.study import Objective
from foretrain.search.result import Cell, SearchResult
from foretrain.show.charts import Scale, distances
from foretrain.show.table import Column, Table, table
from foretrain.show.words import SPENT, count, percent, whole, written
from foretrain.units import Quantity

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
