"""Kernels over pictures: seconds of convolutions, norms and what moves pictures, on one device.

A convolution is a product whose left factor is read through its window: it takes as long as its
tiles or as its traffic, whichever is longer, in each of three products. Windows of single channels
do too little for matrix units: ordinary cores or memory decide.

Sources: chetlur2014 (convolutions as products), lavin2016 (Winograd).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column
from foretrain.step.rates import PictureRates
from foretrain.step.strategies.strategy import Share
from foretrain.step.tiles import tiled_time
from foretrain.step.work import shrunk
from foretrain.workload.graph import Operators
from foretrain.workload.operator import KernelFamily

COPIES = 2
"""Kernels that lay out anew what a product reads and what it writes."""

WHOLE = Share()
"""The part of a device that has everything."""

CONVOLUTIONS = (KernelFamily.CONVOLUTION, KernelFamily.SQUARE, KernelFamily.GROUPED)


def of_family(operators: Operators, *families: KernelFamily) -> NDArray[np.bool_]:
    """Which operators belong to one of some families. [operator, 1]"""
    found: NDArray[np.bool_] = np.isin(operators.family, families)
    return found


def convolution_times(
    operators: Operators,
    micro_batch: Column,
    *,
    value_bytes: float,
    rate: PictureRates,
    share: Share = WHOLE,
) -> tuple[Column, Column, Column]:
    """Seconds of result, gradient of the input and gradient of the weights. [operator, plan]

    Args:
        operators: of a model; what is no convolution gets numbers that mean nothing.
        micro_batch: samples at once. [plan]
        value_bytes: of one value of a picture.
        rate: of the device.
        share: the device's part.
    """
    filters, depths, groups = (
        shrunk(divisor, rate.unshrunk) for divisor in (share.columns, share.depth, share.batch)
    )
    rows, columns, depth, batch, window = np.broadcast_arrays(
        operators.rows * micro_batch / share.rows,
        operators.columns / filters,
        operators.depth / depths,
        operators.batch / groups,
        operators.window,
    )
    # Lowered windows are multiplied sample by sample, one product after the other.
    samples = micro_batch if rate.lowered else 1.0
    at_once = rows / samples
    times = samples * tiled_time(
        np.stack([at_once, at_once, depth]),
        np.stack([columns, depth / window, columns]),
        np.stack([depth, columns * window, at_once]),
        batch=batch,
        tiling=rate.tiling,
    )
    quicker = np.where(of_family(operators, KernelFamily.SQUARE), rate.squares, 1.0)
    slower = np.where(of_family(operators, KernelFamily.GROUPED), rate.grouped, 1.0)
    pictures = batch * (rows * depth / operators.reuse + rows * columns)
    moved = (pictures + batch * depth * columns) * value_bytes / rate.memory
    relaid = rate.relaid * pictures * value_bytes / rate.memory
    unfolded = rate.lowered * (window > 1) * 2.0 * batch * rows * depth * value_bytes
    working = np.maximum(times / quicker * slower, moved) + relaid + unfolded / rate.memory
    kernels = samples * (1.0 + rate.lowered) + COPIES * (rate.relaid > 0)
    result, input_gradient, weight_gradient = working + rate.drain * kernels
    returns = operators.backward_flop > 0
    learns = (operators.trained > 0) | (operators.weights == 0)
    return (
        result,
        input_gradient * (returns & ~operators.first),
        weight_gradient * (returns & learns),
    )


def moving_times(
    operators: Operators,
    micro_batch: Column,
    *,
    value_bytes: float,
    rate: PictureRates,
    share: Share = WHOLE,
) -> tuple[Column, Column]:
    """Seconds of both passes of kernels over pictures that are no products. [operator, plan]

    Args:
        operators: of a model; what is no such kernel gets numbers that mean nothing.
        micro_batch: samples at once. [plan]
        value_bytes: of one value of a picture.
        rate: of the device.
        share: the device's part.
    """
    samples = micro_batch / share.moved
    norm = of_family(operators, KernelFamily.NORM)
    alone = kept_share(operators, rate)
    forward = operators.forward_values * value_bytes + operators.forward_fixed
    backward = operators.backward_values * value_bytes + operators.backward_fixed
    forward = forward * alone * np.where(norm, rate.norm_forward, 1.0)
    backward = backward * alone * np.where(norm, rate.norm_backward, 1.0)
    computed = of_family(operators, KernelFamily.DEPTHWISE) * samples
    there = operators.flop * computed / rate.depthwise
    back = operators.backward_flop * computed / rate.depthwise_backward
    drain = rate.drain * operators.kernels * alone
    return (
        np.maximum(forward * samples / rate.memory, there) + drain,
        np.maximum(backward * samples / rate.memory, back) + drain,
    )


def kernels_of_pictures(operators: Operators, rate: PictureRates) -> Column:
    """Kernels that each operator starts forward, over those that it has by itself. [operator, 1]

    Means nothing for operators that are not over pictures.
    """
    copies = COPIES * (rate.relaid > 0) * of_family(operators, *CONVOLUTIONS)
    return kept_share(operators, rate) + copies


def kept_share(operators: Operators, rate: PictureRates) -> Column:
    """The share of each operator that remains a kernel of its own. [operator, 1]"""
    return np.where(of_family(operators, KernelFamily.FUSIBLE), 1.0 - rate.fused, 1.0)
