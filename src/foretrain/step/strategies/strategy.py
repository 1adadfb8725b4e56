"""What a parallel strategy says: which part a device has, and what devices exchange for it.

A strategy is one file with functions of these shapes and one line in `strategies.STRATEGIES`. The
cost model multiplies the shares and adds up the transfers of all of them; a strategy whose degree
is 1 divides nothing and sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column, PlanTable
from foretrain.workload.graph import Operators
from foretrain.workload.parts.feed_forward import ANYWHERE, RouterLimit
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
            name: getattr(self, name) * getattr(other, name) for name in self.__dataclass_fields__
        }
        return Share(**products)


class Pattern(StrEnum):
    """What a group does with everyone's bytes."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    """Also a reduce-scatter, which takes as long."""
    ALL_TO_ALL = "all-to-all"
    """Each member keeps one equal part of its bytes and sends one to every other."""
    DISPATCH = "dispatch"
    """Such an exchange of tokens with several receivers each, to the members that hold them."""
    BROADCAST = "broadcast"
    SEND = "send"
    """Each member sends its bytes to one neighbour."""


class Phase(StrEnum):
    """The pass of an operator that a transfer belongs to."""

    FORWARD = "forward"
    BACKWARD = "backward"


class Axis(StrEnum):
    """Whose members exchange something for an operator."""

    TENSOR = "tensor"
    CONTEXT = "context"
    EXPERT = "expert"
    EXPERT_TENSOR = "expert_tensor"
    GRID = "grid"
    """All that share a picture."""
    GRID_1 = "first side of the grid"
    GRID_2 = "second side of the grid"
    GRID_3 = "third side of the grid"
    """Those in a line along one dimension of it."""


class ParameterGroup(StrEnum):
    """Whose members exchange something for parameters that they all hold."""

    REPLICAS = "replicas"
    SHARD = "shard"
    """Those that share one copy of what is sharded."""
    ACROSS = "across"
    """Those that hold the same part of different copies."""


class When(StrEnum):
    """How often something is exchanged for a parameter."""

    STEP = "once per step"
    FIRST = "beside the first forward pass of a step"
    FORWARD = "in every forward pass"
    BACKWARD = "in every backward pass"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transfer:
    """What members of an axis exchange for each operator; the operator waits for it.

    Attributes:
        axis: whose members.
        phase: forward or backward pass.
        pattern: what the group does.
        values: elements per sample; 0 where nothing is exchanged. [operator, plan]
        times: how often. [plan]
        copies: receivers of a token, which `values` counts as often; for a dispatch.
        limit: groups of experts from which those are chosen.
        beside: whether it runs beside the attention of the layer, which waits for what is left.
    """

    axis: Axis = Axis.TENSOR
    phase: Phase
    pattern: Pattern
    values: NDArray[np.float64]
    times: Column | float = 1.0
    copies: int = 1
    limit: RouterLimit = ANYWHERE
    beside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ParameterTransfer:
    """What is exchanged for each parameter that a device holds, whole layers at a time.

    Attributes:
        part: gradients or parameters, as in the parts of a step.
        pattern: what the group does.
        group: whose members.
        when: how often.
        size: bytes per parameter; 0 where nothing is exchanged. [plan]
        trained: whether frozen parameters stay out of it.
    """

    part: str
    pattern: Pattern
    group: ParameterGroup
    when: When
    size: Column
    trained: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Owners:
    """Devices that share one copy of what belongs to a parameter. [plan]

    Attributes:
        weights: of its working copy.
        gradients: of its gradient.
        optimizer: of its optimizer state and master copy.
    """

    weights: Divisor = 1.0
    gradients: Divisor = 1.0
    optimizer: Divisor = 1.0

    def __mul__(self, other: Owners) -> Owners:
        """Those that share what others share already."""
        return Owners(
            weights=self.weights * other.weights,
            gradients=self.gradients * other.gradients,
            optimizer=self.optimizer * other.optimizer,
        )


def always(_operators: Operators) -> bool:
    """Of a strategy that may divide any model."""
    return True


def whole(_operators: Operators, _plans: PlanTable) -> Share:
    """The share of a strategy that divides no operator."""
    return Share()


def nothing(_operators: Operators, _plans: PlanTable) -> tuple[Transfer, ...]:
    """The transfers of a strategy that exchanges nothing per operator."""
    return ()


def nothing_of_parameters(
    _workload: Workload, _plans: PlanTable, _replicas: Column
) -> tuple[ParameterTransfer, ...]:
    """The transfers of a strategy that exchanges nothing per parameter."""
    return ()


def alone(_plans: PlanTable, _replicas: Column) -> Owners:
    """The owners of a strategy that divides nothing of a parameter."""
    return Owners()


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """One way of dividing work among devices.

    Parameters of experts have fewer replicas than others, so what concerns parameters is asked
    once for each kind, with the devices that hold the same ones as the last argument.

    Attributes:
        reads: fields of a plan that `share` and `transfers` depend on.
        divides: whether it could divide any of some operators at all.
        share: which part of each operator a device has.
        transfers: what is exchanged for each operator.
        parameter_transfers: what is exchanged for each parameter.
        owners: devices that share one copy of what belongs to a parameter.
    """

    reads: tuple[str, ...] = ()
    divides: Callable[[Operators], bool] = always
    share: Callable[[Operators, PlanTable], Share] = whole
    transfers: Callable[[Operators, PlanTable], tuple[Transfer, ...]] = nothing
    parameter_transfers: Callable[[Workload, PlanTable, Column], tuple[ParameterTransfer, ...]] = (
        nothing_of_parameters
    )
    owners: Callable[[PlanTable, Column], Owners] = alone
