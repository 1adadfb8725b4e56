"""What a parallel strategy says: which part a device has, and what devices exchange for it.

A strategy is one file with functions of these shapes and one line in `strategies.STRATEGIES`. The
cost model multiplies the shares and adds up the transfers of all of them; a strategy whose degree
is 1 divides nothing and sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column, PlanTable
from foretrain.workload.columns import Operators
from foretrain.workload.workload import Workload

Divisor = NDArray[np.float64] | float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Share:
    """By how much one device's part is smaller than the whole. [operator, plan]

    Attributes:
        rows: rows of an operator's matrix product.
        columns: its columns.
        depth: the dimension that it sums over.
        batch: independent products (attention heads).
        moved: what an operator without a matrix product reads and writes.
        kept: what it keeps for the backward pass.
        weights: its parameters.
        boundary: what a layer hands on to the next. [plan]
    """

    rows: Divisor = 1.0
    columns: Divisor = 1.0
    depth: Divisor = 1.0
    batch: Divisor = 1.0
    moved: Divisor = 1.0
    kept: Divisor = 1.0
    weights: Divisor = 1.0
    boundary: Divisor = 1.0

    def __mul__(self, other: Share) -> Share:
        """The part of a device that has a part of a part."""
        products = {
            field.name: getattr(self, field.name) * getattr(other, field.name)
            for field in fields(self)
        }
        return Share(**products)


class Pattern(StrEnum):
    """What a group does with everyone's bytes."""

    REDUCE = "all-reduce"
    GATHER = "all-gather"
    """Also a reduce-scatter, which takes as long."""
    ALL_TO_ALL = "all-to-all"
    """Each member keeps one equal part of its bytes and sends one to every other."""
    BROADCAST = "broadcast"


class Phase(StrEnum):
    """The pass of an operator that a transfer belongs to."""

    FORWARD = "forward"
    BACKWARD = "backward"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transfer:
    """What the tensor axis' members exchange for each operator; the operator waits for it.

    Attributes:
        phase: forward or backward pass.
        pattern: what the group does.
        values: elements per sample; 0 where nothing is exchanged. [operator, plan]
        times: how often.
    """

    phase: Phase
    pattern: Pattern
    values: NDArray[np.float64]
    times: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepTransfer:
    """What the data axis' members exchange once per step for each parameter they hold.

    Attributes:
        part: gradients or parameters, as in the parts of a step.
        pattern: what the group does.
        size: bytes per parameter; 0 where nothing is exchanged. [plan]
    """

    part: str
    pattern: Pattern
    size: Column


def whole(_operators: Operators, _plans: PlanTable) -> Share:
    """The share of a strategy that divides no operator."""
    return Share()


def nothing(_operators: Operators, _plans: PlanTable) -> tuple[Transfer, ...]:
    """The transfers of a strategy that exchanges nothing per operator."""
    return ()


def nothing_per_step(_workload: Workload, _plans: PlanTable) -> tuple[StepTransfer, ...]:
    """The transfers of a strategy that exchanges nothing per step."""
    return ()


def alone(plans: PlanTable) -> Column:
    """The owners of a strategy that does not divide the optimizer. [plan]"""
    return np.ones(len(plans))


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """One way of dividing work among devices.

    Attributes:
        reads: fields of a plan that `share` and `transfers` depend on.
        share: which part of each operator a device has.
        transfers: what is exchanged for each operator.
        step_transfers: what is exchanged once per step.
        owners: devices that share one copy of the optimizer's state. [plan]
    """

    reads: tuple[str, ...] = ()
    share: Callable[[Operators, PlanTable], Share] = whole
    transfers: Callable[[Operators, PlanTable], tuple[Transfer, ...]] = nothing
    step_transfers: Callable[[Workload, PlanTable], tuple[StepTransfer, ...]] = nothing_per_step
    owners: Callable[[PlanTable], Column] = alone
