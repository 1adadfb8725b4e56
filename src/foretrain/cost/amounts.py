"""Amounts: what operators keep and hold in bytes, before a plan divides anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.workload.columns import Operators
from foretrain.workload.workload import Precision

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Amounts:
    """Of one sample, every operator whole. [operator, 1]

    Attributes:
        kept: bytes that the backward pass needs.
        weights: bytes of parameters as they are stored: common ones, then those of experts.
        trained: parameters that are trained, likewise.
    """

    kept: Floats
    weights: tuple[Floats, ...]
    trained: tuple[Floats, ...]


def amounts_of(operators: Operators, precision: Precision, *, experts: bool) -> Amounts:
    """The amounts of some operators; a model without experts has common parameters alone."""
    stored = np.where(operators.stored > 0, operators.stored, precision.value_bytes)
    mine = operators.experts > 0
    whose = (~mine, mine) if experts else (~mine,)
    return Amounts(
        kept=operators.kept_values * _kept_bytes(operators, precision) + operators.kept_fixed,
        weights=tuple(operators.weights * stored * mine for mine in whose),
        trained=tuple(operators.trained * mine for mine in whose),
    )


def _kept_bytes(operators: Operators, precision: Precision) -> Floats:
    """Bytes of a value that an operator keeps; a product keeps its input as it reads it. [operator]

    Source: transformer-engine.
    """
    narrow = operators.narrowed
    narrow = narrow & (precision.product_bytes < precision.value_bytes)
    both = precision.product_bytes + precision.value_bytes * operators.shared_input
    size: Floats = np.where(narrow, both, precision.value_bytes)
    return size
