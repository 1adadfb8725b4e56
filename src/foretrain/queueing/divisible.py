"""Layers that machines share: what a segment of one computes, and what it lacks of its inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Matrices, Operator

Floats = NDArray[np.float64]

HAIR = 1e-9
"""Share of a layer's inputs below which what a segment lacks is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DivisibleLayer:
    """A layer of one sample, whole.

    Attributes:
        name: shown to users.
        connections: multiply-adds of the forward pass.
        neurons: values that it computes, which segments divide; at least 1.
        weights: parameters, fewer than connections where neurons share them (convolutions).
        inputs: values that it reads from the layer before.
        kept: values that the backward pass needs.
        reach: share of its inputs that a segment needs on either side beyond those in its own
            place: 1 for a connected layer, whose segments read all, each with weights of its own; a
            border for a convolution, whose segments are strips and have all weights.
    """

    name: str
    connections: float
    neurons: float
    weights: float
    inputs: float
    kept: float
    reach: float = 1.0

    def __post_init__(self) -> None:
        for name in ("connections", "weights", "inputs", "kept"):
            if not getattr(self, name) >= 0:
                raise InputError(
                    f"DivisibleLayer '{self.name}': {name} must be at least 0,"
                    f" got {getattr(self, name)}."
                )
        if not self.neurons >= 1:
            raise InputError(
                f"DivisibleLayer '{self.name}': neurons must be at least 1, got {self.neurons}."
            )
        if not 0 <= self.reach <= 1:
            raise InputError(
                f"DivisibleLayer '{self.name}': reach must lie from 0 to 1, got {self.reach}."
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoteInputs:
    """What the segment that lacks most fetches, by segments of the layer before and of its own.

    Attributes:
        values: how many. [before, segments]
        messages: machines that they come from, each in a message of its own. [before, segments]
    """

    values: Floats
    messages: Floats


def remote_inputs(layer: DivisibleLayer, *, most: int) -> RemoteInputs:
    """What segments fetch from other machines.

    Args:
        layer: the layer that reads it.
        most: segments of a layer.
    """
    before, after = np.arange(1.0, most + 1.0)[:, np.newaxis], np.arange(1.0, most + 1.0)
    place = np.arange(float(most))[:, np.newaxis, np.newaxis]
    # In units of the whole over both numbers, in which equal places are equal to the last bit.
    whole, beyond = before * after, layer.reach * before * after
    low = np.maximum(0.0, place * before - beyond)
    high = np.minimum(whole, (place + 1.0) * before + beyond)
    own = np.minimum(high, (place + 1.0) * after) - np.maximum(low, place * after)
    held = np.where(place < before, np.maximum(0.0, own), 0.0)
    lacking = np.where(place < after, high - low - held, 0.0)
    sources = np.ceil(high / after - HAIR) - np.floor(low / after + HAIR) - (held > HAIR * whole)
    return RemoteInputs(
        values=layer.inputs * lacking.max(axis=0) / whole,
        messages=np.where(lacking > HAIR * whole, sources, 0.0).max(axis=0),
    )


def divisible_layers(model: Model) -> tuple[DivisibleLayer, ...]:
    """The layers of a model that machines can share: one for each product with weights.

    What comes between two products (functions, pooling, statistics) runs where its input is; what
    it keeps counts with the product before it. Layers that repeat stand there as often.

    Raises:
        InputError: no operator multiplies by weights.
    """
    found = [each for layer in model.layers for each in layer.repeats * [*_products(layer)]]
    if not found:
        raise InputError(f"{model.name} has no product with weights that machines could share.")
    return tuple(found)


def _products(layer: Layer) -> list[DivisibleLayer]:
    """One layer's products with weights."""
    found: list[DivisibleLayer] = []
    for place, operator in enumerate(layer.operators):
        if operator.matrices is None or not operator.weights:
            continue
        later = layer.operators[place + 1 :]
        until = next(
            (n for n, other in enumerate(later) if other.matrices and other.weights), len(later)
        )
        kept = operator.kept.values + sum(other.kept.values for other in later[:until])
        found.append(_divisible(layer, operator, operator.matrices, kept=kept))
    return found


def _divisible(
    layer: Layer, operator: Operator, product: Matrices, *, kept: float
) -> DivisibleLayer:
    """A product, of which a convolution's segments are strips along the first side."""
    reach = 1.0
    if operator.pixels is not None and operator.pixels.borders:
        reach = min(1.0, max(operator.pixels.borders[0]) / operator.pixels.read[0])
    return DivisibleLayer(
        name=f"{layer.name}: {operator.name}",
        connections=operator.flop / 2.0,
        neurons=product.batch * product.rows * product.columns,
        weights=operator.weights,
        inputs=product.batch * product.rows * product.depth / product.reuse,
        kept=kept,
        reach=reach,
    )
