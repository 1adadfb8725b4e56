"""Convolutions and what stands between them: seconds of kernels over pictures.

A convolution is a matrix product whose left factor is read through its window; it takes as long as
its tiles or as its traffic, whichever is longer, in each of three products: the result, the
gradient of what it read, and that of its weights. Windows of single channels do too little for
matrix units: ordinary cores or memory decide. Everything else moves data.

Sources: chetlur2014 (convolutions as products), lavin2016 (Winograd's algorithm), williams2009.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column
from foretrain.step.rates import PictureRates
from foretrain.step.tiles import tiled_time
from foretrain.workload.columns import Operators
from foretrain.workload.operator import Family

COPIES = 2
"""Kernels that lay out anew what a product reads and what it writes."""

CONVOLUTIONS = (Family.CONVOLUTION, Family.SQUARE, Family.GROUPED)


def of_family(operators: Operators, *families: Family) -> NDArray[np.bool_]:
    """Which operators belong to one of some families. [operator, 1]"""
    found: NDArray[np.bool_] = np.isin(operators.family, families)
    return found


def convolution_times(
    operators: Operators, micro_batch: Column, *, value_bytes: float, rate: PictureRates
) -> tuple[Column, Column, Column]:
    """Seconds of result, gradient of the input and gradient of the weights. [operator, plan]

    Args:
        operators: of a model; what is no convolution gets numbers that mean nothing.
        micro_batch: samples at once. [plan]
        value_bytes: of one value of a picture.
        rate: of the device.

    No axis divides a convolution.
    """
    rows, columns, depth, batch, window = np.broadcast_arrays(
        operators.rows * micro_batch,
        operators.columns,
        operators.depth,
        operators.batch,
        operators.window,
    )
    times = tiled_time(
        np.stack([rows, rows, depth]),
        np.stack([columns, depth / window, columns]),
        np.stack([depth, columns * window, rows]),
        batch=batch,
        tiling=rate.tiling,
    )
    quicker = np.where(of_family(operators, Family.SQUARE), rate.squares, 1.0)
    slower = np.where(of_family(operators, Family.GROUPED), rate.grouped, 1.0)
    pictures = batch * (rows * depth / operators.reuse + rows * columns)
    moved = (pictures + batch * depth * columns) * value_bytes / rate.memory
    relaid = rate.relaid * pictures * value_bytes / rate.memory
    working = np.maximum(times / quicker * slower, moved) + relaid
    kernels = 1.0 + COPIES * (rate.relaid > 0)
    result, input_gradient, weight_gradient = working + rate.drain * kernels
    returns = operators.backward_flop > 0
    learns = (operators.trained > 0) | (operators.weights == 0)
    return (
        result,
        input_gradient * (returns & ~operators.first),
        weight_gradient * (returns & learns),
    )


def moving_times(
    operators: Operators, micro_batch: Column, *, value_bytes: float, rate: PictureRates
) -> tuple[Column, Column]:
    """Seconds of both passes of kernels over pictures that are no products. [operator, plan]

    Args:
        operators: of a model; what is no such kernel gets numbers that mean nothing.
        micro_batch: samples at once. [plan]
        value_bytes: of one value of a picture.
        rate: of the device.
    """
    norm = of_family(operators, Family.NORM)
    alone = kept_share(operators, rate)
    forward = operators.forward_values * value_bytes + operators.forward_fixed
    backward = operators.backward_values * value_bytes + operators.backward_fixed
    forward = forward * alone * np.where(norm, rate.norm_forward, 1.0)
    backward = backward * alone * np.where(norm, rate.norm_backward, 1.0)
    computed = of_family(operators, Family.DEPTHWISE) * micro_batch
    there = operators.flop * computed / rate.depthwise
    back = operators.backward_flop * computed / rate.depthwise_backward
    drain = rate.drain * operators.kernels * alone
    return (
        np.maximum(forward * micro_batch / rate.memory, there) + drain,
        np.maximum(backward * micro_batch / rate.memory, back) + drain,
    )


def kernels_of_pictures(operators: Operators, rate: PictureRates) -> Column:
    """Kernels that each operator starts forward, over those that it has by itself. [operator, 1]

    Means nothing for operators that are not over pictures.
    """
    copies = COPIES * (rate.relaid > 0) * of_family(operators, *CONVOLUTIONS)
    return kept_share(operators, rate) + copies


def kept_share(operators: Operators, rate: PictureRates) -> Column:
    """The share of each operator that remains a kernel of its own. [operator, 1]"""
    return np.where(of_family(operators, Family.FUSIBLE), 1.0 - rate.fused, 1.0)
