"""Tables of plans: a column per field of `Plan`, a row per plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import Order, Plan, Recompute, Sends, Sharding
from foretrain.workload.operator import Attention

Column = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanTable:
    """Many plans. Columns have the names and meanings of `Plan`'s fields. [plan]

    Attributes:
        order: index into `orders`.
        orders: the structured values that `order` refers to.
    """

    data: Column
    tensor: Column
    pipeline: Column
    interleaving: Column
    micro_batch: Column
    sequence_parallel: Column
    sharding: Column
    recompute: Column
    attention: Column
    sends: Column
    order: Column
    orders: tuple[Order, ...]

    def __len__(self) -> int:
        """Rows."""
        return len(self.data)

    def take(self, rows: Rows | NDArray[np.bool_]) -> PlanTable:
        """The table of some rows, in their order."""
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return PlanTable(**columns, orders=self.orders)

    def plan(self, row: int) -> Plan:
        """One row as a plan."""
        numbers = {name: getattr(self, name)[row] for name in COLUMNS}
        return Plan(
            **{name: int(numbers[name]) for name in DEGREES},
            sequence_parallel=bool(numbers["sequence_parallel"]),
            sharding=Sharding(int(numbers["sharding"])),
            recompute=Recompute(int(numbers["recompute"])),
            attention=Attention(int(numbers["attention"])),
            sends=Sends(int(numbers["sends"])),
            order=self.orders[int(numbers["order"])],
        )


COLUMNS = tuple(field.name for field in fields(PlanTable) if field.name != "orders")
DEGREES = ("data", "tensor", "pipeline", "interleaving", "micro_batch")


def table_of(plans: Sequence[Plan]) -> PlanTable:
    """The table of some plans, in their order."""
    orders = tuple(dict.fromkeys(plan.order for plan in plans))
    columns = {
        name: np.array([float(getattr(plan, name)) for plan in plans])
        for name in COLUMNS
        if name != "order"
    }
    order = np.array([float(orders.index(plan.order)) for plan in plans])
    return PlanTable(**columns, order=order, orders=orders)


def distinct(columns: Sequence[Column]) -> tuple[Rows, Rows]:
    """The first row of each distinct combination, and for every row the combination it has.

    Args:
        columns: whole numbers of at least 0. [plan]

    Returns:
        rows [combination] and index [plan], so that `column[rows][index]` equals `column`.
    """
    if len(columns[0]) == 1:
        return np.zeros(1, np.intp), np.zeros(1, np.intp)
    key = np.zeros(len(columns[0]), np.intp)
    for column in columns:
        values = column.astype(np.intp)
        if (key.max() + 1) * (values.max() + 1) > SPARSE * len(key):
            key = _numbered(key)[1]
        key = key * (values.max() + 1) + values
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
