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
    if rate.squares > 1:
        square = of_family(operators, KernelFamily.SQUARE)
        shape = at_once, columns, depth / window, batch
        found = winograd_times(shape, times, np.sqrt(operators.rows), value_bytes, rate)
        times = np.where(square, found, times)
    slower = np.where(of_family(operators, KernelFamily.GROUPED), rate.grouped, 1.0)
    pictures = batch * (rows * depth / operators.reuse + rows * columns)
    moved = (pictures + batch * depth * columns) * value_bytes / rate.memory
    relaid = rate.relaid * pictures * value_bytes / rate.memory
    unfolded = rate.lowered * (window > 1) * 2.0 * batch * rows * depth * value_bytes
    working = np.maximum(times * slower, moved) + relaid + unfolded / rate.memory
    # Two kernels a sample start one after the other.
    working = np.maximum(working, 2.0 * samples * rate.start * rate.lowered)
    kernels = 1.0 + COPIES * (rate.relaid > 0)
    result, input_gradient, weight_gradient = working + rate.drain * kernels
    returns = operators.backward_flop > 0
    learns = (operators.trained > 0) | (operators.weights == 0)
    return (
        result,
        input_gradient * (returns & ~operators.first),
        weight_gradient * (returns & learns),
    )


TILE, WINDOW = 4.0, 3.0
"""Sides of the tiles of a result, and of the window, that the other kernels of Winograd have."""


def winograd_times(
    shape: tuple[Column, Column, Column, Column],
    direct: Column,
    side: Column,
    value_bytes: float,
    rate: PictureRates,
) -> Column:
    """Seconds of windows of 3 x 3 as the library chooses: the quickest of three. [3, operator, plan]

    One kernel has tiles of 2 x 2 and no further traffic. Tiles of 4 x 4 need a quarter of the
    products, as one product for each of 36 places, between kernels that write what they transform.

    Args:
        shape: pixels, channels of the result and of what is read, and products. [operator, plan]
        direct: seconds of products without it. [3, operator, plan]
        side: of a picture of the result, in pixels. [operator, 1]
        value_bytes: of one value of a picture.
        rate: of the device.

    Source: lavin2016, sections 4 and 5.
    """
    pixels, filters, channels, batch = shape
    small, large = ((np.ceil(side / tile) * tile / side) ** 2 for tile in (2.0, TILE))
    places = (TILE + WINDOW - 1.0) ** 2
    tiles = pixels * large / TILE**2
    products = tiled_time(
        np.stack([tiles, tiles, channels]),
        np.stack([filters, channels, filters]),
        np.stack([channels, filters, tiles]),
        batch=batch * places,
        tiling=rate.tiling,
    )
    # What is read or written as it is, and twice as transformed.
    passed = 1.0 + 2.0 * places / TILE**2 * large
    moved = batch * pixels * (channels + filters) * passed * value_bytes / rate.memory
    within: Column = np.minimum(direct, direct * small / rate.squares)
    return np.minimum(within, products + moved)


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
