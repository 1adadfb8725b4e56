"""Tables of plans: a column per field of `Plan`, a row per plan.

Placement: which levels of the cluster each axis of a plan spans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import gcd
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import (
    AXES,
    ChannelSplit,
    ContextExchange,
    Cut,
    Grid,
    Offload,
    Order,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.workload.operator import Attention

Column = NDArray[np.float64]
Rows = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanTable:
    """Many plans. Columns have the names and meanings of `Plan`'s fields. [plan]

    Attributes:
        grid: index into `grids`.
        cut: index into `cuts`.
        order: index into `orders`.
        grids: the structured values that `grid` refers to.
        cuts: those that `cut` refers to.
        orders: those that `order` refers to.
    """

    data: Column
    tensor: Column
    context: Column
    pipeline: Column
    expert: Column
    expert_tensor: Column
    interleaving: Column
    micro_batch: Column
    sequence_parallel: Column
    exchange: Column
    grid: Column
    convolutions: Column
    split: Column
    sharding: Column
    shard: Column
    reshard: Column
    recompute: Column
    recompute_layers: Column
    offload: Column
    offload_layers: Column
    attention: Column
    schedule: Column
    sends: Column
    cut: Column
    order: Column
    grids: tuple[Grid, ...]
    cuts: tuple[Cut, ...]
    orders: tuple[Order, ...]

    def __len__(self) -> int:
        """Rows."""
        return len(self.data)

    @property
    def devices(self) -> Column:
        """Devices that each plan uses. [plan]"""
        return self.data * self.tensor * self.context * self.pipeline

    @property
    def replicas(self) -> Column:
        """Devices that hold the same part of the model: data x context. [plan]"""
        return self.data * self.context

    @property
    def spatial(self) -> Flags:
        """Whether members of the context axis share pixels. [plan]"""
        shared: Flags = np.array([bool(grid) for grid in self.grids])[self.grid.astype(np.intp)]
        return shared

    def take(self, rows: Rows | NDArray[np.bool_]) -> PlanTable:
        """The table of some rows, in their order."""
        if len(self) == len(rows) == 1 and rows.dtype != bool:
            return self
        places: Any = np.flatnonzero(rows) if rows.dtype == bool else rows
        columns: dict[str, Any] = {name: taken(getattr(self, name), places) for name in COLUMNS}
        return PlanTable(**columns, **self.side)

    @property
    def side(self) -> dict[str, Any]:
        """The tables of structured values."""
        return {table: getattr(self, table) for table in SIDE.values()}

    def but(
        self, **columns: Column | tuple[Grid, ...] | tuple[Cut, ...] | tuple[Order, ...]
    ) -> PlanTable:
        """The same plans with some fields changed."""
        changed: dict[str, Any] = {**columns}
        return replace(self, **changed)

    def plan(self, row: int) -> Plan:
        """One row as a plan."""
        numbers = {name: int(getattr(self, name)[row]) for name in COLUMNS}
        named = {name: kind(numbers[name]) for name, kind in KINDS.items()}
        side = {name: getattr(self, table)[numbers[name]] for name, table in SIDE.items()}
        return Plan(**(numbers | named | side))


def constant(value: float, rows: int) -> Column:
    """A column of one value, which takes the room of one: most fields of a table say the same."""
    return _repeated(np.array([float(value)]), rows)


def _repeated(one: NDArray[Any], rows: int) -> NDArray[Any]:
    """`np.broadcast_to` of one value, which takes ten times as long."""
    column = np.ndarray(rows, one.dtype, one, strides=(0,))
    column.flags.writeable = False
    return column


def is_constant(column: NDArray[Any]) -> bool:
    """Whether a column was made of one value."""
    return column.strides == (0,)


def taken(column: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """Some rows of a column, in their order."""
    return _repeated(column[:1], len(rows)) if is_constant(column) else column.take(rows)


def one_under_the_other(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Columns as one, which is of one value if all of them are of the same."""
    columns = [each for each in columns if len(each)]
    if not columns:
        return np.zeros(0)
    if not all(map(is_constant, columns)) or len({float(each[0]) for each in columns}) > 1:
        return np.concatenate(columns)
    return _repeated(columns[0][:1], sum(map(len, columns)))


SIDE = {"grid": "grids", "cut": "cuts", "order": "orders"}
"""Columns of structured values, and the tables that they index."""

COLUMNS = tuple(field.name for field in fields(PlanTable) if field.name not in SIDE.values())

KINDS: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "sequence_parallel": bool,
        "exchange": ContextExchange,
        "convolutions": ChannelSplit,
        "sharding": Sharding,
        "reshard": bool,
        "recompute": Recompute,
        "offload": Offload,
        "attention": Attention,
        "schedule": Schedule,
        "sends": Sends,
    }
)
"""What a number stands for, where it is no count."""


def table_of(plans: Sequence[Plan]) -> PlanTable:
    """The table of some plans, in their order."""
    columns: dict[str, Any] = {
        name: np.array([float(getattr(plan, name)) for plan in plans])
        for name in COLUMNS
        if name not in SIDE
    }
    for name, table in SIDE.items():
        values = tuple(dict.fromkeys(getattr(plan, name) for plan in plans))
        columns[name] = np.array([float(values.index(getattr(plan, name))) for plan in plans])
        columns[table] = values
    return PlanTable(**columns)


def stacked(tables: Sequence[PlanTable]) -> PlanTable:
    """Tables with the same side tables, one under the other."""
    if len(tables) == 1:
        return tables[0]
    columns: dict[str, Any] = {
        name: one_under_the_other([getattr(t, name) for t in tables]) for name in COLUMNS
    }
    return PlanTable(**columns, **tables[0].side)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedTable:
    """Many plans in few bytes: whole numbers no wider than they must be. [plan]

    Attributes:
        columns: of a table, by their names.
        side: the tables of structured values.
    """

    columns: Mapping[str, NDArray[np.unsignedinteger[Any]]]
    side: Mapping[str, Any]

    def take(self, rows: Rows) -> PlanTable:
        """The table of some rows, in their order."""
        columns: dict[str, Any] = {
            name: constant(each[0], len(rows))
            if len(each) and is_constant(each)
            else each.take(rows).astype(float)
            for name, each in self.columns.items()
        }
        return PlanTable(**columns, **self.side)


def packed(plans: PlanTable) -> PackedTable:
    """A table in few bytes."""
    columns = {}
    for name in COLUMNS:
        column = getattr(plans, name)
        few = column[:1] if is_constant(column) else column
        small = few.astype(np.min_scalar_type(int(few.max(initial=0.0))))
        columns[name] = _repeated(small, len(plans)) if is_constant(column) else small
    return PackedTable(columns=columns, side=plans.side)


def packed_together(several: Sequence[PackedTable]) -> PackedTable:
    """Tables with the same side tables, one under the other."""
    columns = {
        name: one_under_the_other([each.columns[name] for each in several]) for name in COLUMNS
    }
    return PackedTable(columns=columns, side=several[0].side)


def distinct(columns: Sequence[Column | Rows | Flags]) -> tuple[Rows, Rows]:
    """The first row of each distinct combination, and for every row the combination it has.

    Args:
        columns: whole numbers of at least 0. [plan]

    Returns:
        rows [combination] and index [plan], so that `column[rows][index]` equals `column`.
    """
    if len(columns[0]) <= 1:
        return np.zeros(len(columns[0]), np.intp), np.zeros(len(columns[0]), np.intp)
    key, size = np.zeros(len(columns[0]), np.intp), 1
    for column in columns:
        if is_constant(column):
            continue
        values = column.astype(np.intp)
        most = int(values.max())
        if values[0] == values[-1] and values.min() == most:
            continue
        if size * (most + 1) > SPARSE * len(key):
            rows, key = _numbered(key)
            size = len(rows)
        key = key * (most + 1) + values
        size *= most + 1
    return _numbered(key)


SPARSE = 8
"""Possible keys per row up to which marking each of them is quicker than sorting the rows."""


def _numbered(key: Rows) -> tuple[Rows, Rows]:
    """`distinct` of one column of whole numbers."""
    if key.max() > SPARSE * len(key):
        _, rows, index = np.unique(key, return_index=True, return_inverse=True)
        return rows, index
    first = np.full(key.max() + 1, -1, np.intp)
    first[key[::-1]] = np.arange(len(key))[::-1]
    occurs = np.flatnonzero(first >= 0)
    number = np.empty(len(first), np.intp)
    number[occurs] = np.arange(len(occurs))
    return first[occurs], number[key]


Members = NDArray[np.float64]
Inner = tuple[int, ...]
Degrees = tuple[int, ...]


@lru_cache(maxsize=65_536)
def inner_members(order: Order, degrees: Degrees, levels: tuple[int, ...]) -> tuple[Inner, ...]:
    """How many members of one group of each axis share a group of each level.

    Ranks are laid out in the order's axes, innermost first, over the cluster's devices in their
    natural order. Where a group does not divide a level's devices evenly, the most scattered
    group counts, since a step waits for the slowest.

    Args:
        order: axes from innermost to outermost.
        degrees: degree of each axis, in the order of `AXES`.
        levels: members of each level of the cluster, innermost first.

    Returns:
        For each axis of `AXES` one number per level; the last level holds the whole group.
    """
    members: dict[str, Inner] = {}
    stride = 1
    for axis in order:
        degree, size, inside = degrees[AXES.index(axis)], 1, []
        for level in levels[:-1]:
            size *= level
            inside.append(max(1, gcd(size, stride * degree) // stride))
        members[axis] = (*inside, degree)
        stride *= degree
    return tuple(members[axis] for axis in AXES)


def neighbours(inside: Members, degree: Members, *, stride: Members | float = 1.0) -> Members:
    """How many members of a smaller group share a group of a level.

    The smaller group lies within a larger one: every `stride`-th member, `degree` of them.

    Args:
        inside: members of the larger group that share a group of each level. [level, ...]
        degree: members of the smaller group.
        stride: from one of them to the next, in members of the larger group.
    """
    span = np.asarray(stride * degree)
    part = np.gcd(inside.astype(np.intp), span.astype(np.intp))
    reach = np.where(span == inside[-1], inside, part)
    least = np.maximum(1.0, np.floor(reach / stride))
    # Whoever shares a group of a level shares those around it.
    return np.maximum.accumulate(least, axis=0)
