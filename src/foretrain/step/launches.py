"""Launches: what the host takes to start the kernels of a layer.

Kernels wait in a queue, so the host runs ahead where the device is slow. Where it cannot keep up, a
pass takes as long as the host needs for it: the two meet over a stage's pass, not at each kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foretrain.step.convolution import kernels_of_pictures
from foretrain.step.rates import Rates
from foretrain.workload.columns import Operators
from foretrain.workload.operator import Attention

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launches:
    """Seconds of the host for one micro-batch of a layer. [kind, attention kernel]

    Attributes:
        forward: forward pass.
        backward: backward pass.
        chosen: what selective recomputation starts again.
        weights: gradients of weights, part of the backward pass.
        experts: the same of the kernels that experts have, for all experts; None without any.
    """

    forward: Floats
    backward: Floats
    chosen: Floats
    weights: Floats
    experts: Launches | None = None


def launches(operators: Operators, *, kinds: int, rate: Rates) -> Launches:
    """What the host takes for each kind of layer, whichever kernel attention has.

    Args:
        operators: of the model.
        kinds: kinds of layers.
        rate: of the device and its host.
    """
    mine = each_expert(operators, rate) > 1
    common = _launched(operators, ~mine, kinds=kinds, rate=rate)
    if not mine.any():
        return common
    return replace(common, experts=_launched(operators, mine, kinds=kinds, rate=rate))


def _launched(
    operators: Operators, some: NDArray[np.bool_], *, kinds: int, rate: Rates
) -> Launches:
    """What the host takes for some of the operators of each kind of layer."""
    returns, learns = backward_kernels(operators)
    # What the host calls beside kernels, as many times as long as it starts one.
    kernels = (
        kernels_of(operators, rate)
        + (operators.narrowed * (rate.cast_calls - rate.casts) * each_expert(operators, rate))
    ) * some
    forward = kernels * rate.launch
    second = learns * each_expert(operators, rate) * some * rate.launch
    # Nothing comes back to samples: only the gradient of its weights is left of a first product.
    backward = kernels * (returns & ~operators.first) * rate.launch + second
    layer = np.asarray(operators.layer, np.intp)
    exists = np.hstack(
        [(operators.attention < 0) | (operators.attention == kernel) for kernel in Attention]
    )
    quantities = (
        forward,
        backward,
        forward * operators.selective,
        second * (operators.trained > 0),
    )
    found = np.zeros((len(quantities), kinds, len(Attention)))
    for total, seconds in zip(found, quantities, strict=True):
        np.add.at(total, layer, seconds * exists)
    return Launches(forward=found[0], backward=found[1], chosen=found[2], weights=found[3])


def kernels_of(operators: Operators, rate: Rates) -> Floats:
    """Kernels that are started in the forward pass, as the software fuses them. [operator, 1]"""
    kernels = operators.kernels * _as_fused(operators, rate)
    return (kernels + operators.narrowed * rate.casts) * each_expert(operators, rate)


def _as_fused(operators: Operators, rate: Rates) -> Floats:
    """Kernels of each operator over those that it has by itself. [operator, 1]"""
    general = np.where(operators.matmul | operators.fused, 1.0, rate.unfused)
    if not operators.family.any():
        return general
    return np.where(operators.family > 0, kernels_of_pictures(operators, rate.pictures), general)


def each_expert(operators: Operators, rate: Rates) -> Floats:
    """Times that a product's kernels are started: once for each expert, of all. [operator, 1]

    Source: transformer-engine, grouped products on a few streams (from memory).
    """
    return np.where(operators.matmul & (operators.experts > 0) & rate.each, operators.experts, 1.0)


def backward_kernels(operators: Operators) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which operators have a backward pass, and which a product more than in the forward pass."""
    moved = operators.backward_values + operators.backward_fixed
    returns: NDArray[np.bool_] = (operators.backward_flop > 0) | (moved > 0)
    learns: NDArray[np.bool_] = (operators.trained > 0) | (operators.weights == 0)
    return returns, operators.matmul & learns
