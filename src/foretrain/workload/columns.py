"""Operators of a model as columns, so that a formula prices all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.workload.graph import Model
from foretrain.workload.operator import Operator, OperatorKind, Split

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_SPLITS = tuple(Split)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operators:
    """Every distinct operator of a model; columns of shape [operator, 1]. Fields as `Operator`'s.

    Attributes:
        layer: position of each operator's layer. [operator]
        matmul: whether it is a matrix product.
        fused: whether it is fused attention.
        attention: the kernel it exists with, -1 for any.
        split: position in `Split`.
        trained: parameters that are trained.
        stored: bytes of one weight in memory; 0 for the precision of the workload.
    """

    layer: tuple[int, ...]
    matmul: Flags
    fused: Flags
    rows: Floats
    columns: Floats
    depth: Floats
    batch: Floats
    reuse: Floats
    weights: Floats
    flop: Floats
    backward_flop: Floats
    forward_values: Floats
    forward_fixed: Floats
    backward_values: Floats
    backward_fixed: Floats
    kept_values: Floats
    kept_fixed: Floats
    kernels: Floats
    split: Floats
    sequence: Flags
    selective: Flags
    dropped: Flags
    shared_input: Flags
    attention: Floats
    output: Floats
    trained: Floats
    stored: Floats
    experts: Floats
    imbalance: Floats
    routed: Floats
    copies: Floats
    keys: Floats
    queries: Floats
    family: Floats
    window: Floats
    wide: Flags
    first: Flags
    reach: Floats

    def take(self, rows: NDArray[np.intp]) -> Operators:
        """Some of the operators, in order."""
        columns = {name: getattr(self, name)[rows] for name in _NUMBERS}
        return Operators(layer=tuple(self.layer[row] for row in rows), **columns)

    @property
    def narrowed(self) -> Flags:
        """Products of weights, which may read fewer bits than activations have. [operator, 1]"""
        narrowed: Flags = self.matmul & (self.weights > 0) & ~self.wide
        return narrowed

    def split_is(self, *splits: Split) -> Flags:
        """Which operators the tensor axis divides in one of these ways. [operator, 1]"""
        chosen: Flags = self.split == _SPLITS.index(splits[0])
        for split in splits[1:]:
            chosen = chosen | (self.split == _SPLITS.index(split))
        return chosen


def operators_of(model: Model) -> Operators:
    """The operators of a model in order, each distinct one once."""
    pairs = [
        (position, operator)
        for position, layer in enumerate(model.layers)
        for operator in layer.operators
    ]
    rows = [_numbers(operator) for _, operator in pairs]
    table = np.array(rows, np.float64).T[:, :, np.newaxis]
    columns = dict(zip(_NUMBERS, table, strict=True))
    flags = {name: columns.pop(name) > 0 for name in _FLAGS}
    return Operators(layer=tuple(position for position, _ in pairs), **flags, **columns)


_NUMBERS = tuple(name for name in Operators.__dataclass_fields__ if name != "layer")
_FLAGS = ("matmul", "fused", "sequence", "selective", "dropped", "shared_input", "wide", "first")


def _numbers(operator: Operator) -> tuple[float, ...]:
    """One operator's columns, in the order of the fields of `Operators`."""
    product = operator.matrices
    return (
        operator.kind is OperatorKind.MATMUL,
        operator.kind is OperatorKind.FUSED_ATTENTION,
        *(
            (product.rows, product.columns, product.depth, product.batch, product.reuse)
            if product
            else (1.0, 1.0, 1.0, 1.0, 1.0)
        ),
        operator.weights,
        operator.flop,
        operator.backward_flop,
        operator.forward.values,
        operator.forward.fixed,
        operator.backward.values,
        operator.backward.fixed,
        operator.kept.values,
        operator.kept.fixed,
        operator.kernels,
        _SPLITS.index(operator.split),
        operator.sequence,
        operator.selective,
        operator.dropped,
        operator.shared_input,
        -1.0 if operator.attention is None else float(operator.attention),
        operator.output,
        operator.trainable,
        operator.stored or 0.0,
        operator.experts,
        operator.imbalance,
        operator.routed,
        operator.copies,
        operator.keys,
        operator.queries,
        operator.family,
        operator.window,
        operator.wide,
        operator.first,
        operator.reach,
    )
