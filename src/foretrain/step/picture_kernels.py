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
from foretrain.step.picture_rates import PictureRates
from foretrain.step.strategies.strategy import Share
from foretrain.step.work import shrunk, tiled_time
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
        shape = at_once, columns, depth / window, batch
        times = winograd_times(operators, shape, times, value_bytes=value_bytes, rate=rate)
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


TILE = 4.0
"""Side of the tiles of a result that kernels of their own transform. Source: lavin2016."""

SMALL = 2.0
"""The same where all is one kernel."""


def winograd_times(
    operators: Operators,
    shape: tuple[Column, Column, Column, Column],
    direct: Column,
    *,
    value_bytes: float,
    rate: PictureRates,
) -> Column:
    """Seconds of windows of stride 1 as the library chooses them. [product, operator, plan]

    One kernel has small tiles of windows of 3 x 3, and no further traffic. Larger tiles need fewer
    products, one for each place of a transformed tile, between kernels that write what they
    transform; libraries have these for 5 x 5 too.

    Args:
        operators: of a model; what has no such window keeps its time.
        shape: pixels, channels of the result and of what is read, and products. [operator, plan]
        direct: seconds without it: of result and both gradients. [product, operator, plan]
        value_bytes: of one value of a picture.
        rate: of the device.

    Source: lavin2016, sections 4 and 5.
    """
    pixels, filters, channels, batch = shape
    square = of_family(operators, KernelFamily.SQUARE)
    wide = of_family(operators, KernelFamily.CONVOLUTION) & (operators.window == 25.0)
    wide = wide & (operators.reuse > 0.75 * operators.window)
    side = np.sqrt(operators.rows)
    small, large = ((np.ceil(side / tile) * tile / side) ** 2 for tile in (SMALL, TILE))
    found = np.where(square, np.minimum(direct, direct * small / rate.squares), direct)
    if not rate.chosen:
        return np.stack([found[0], found[1], direct[2]])
    places = (TILE + np.sqrt(operators.window) - 1.0) ** 2
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
    quickest: Column = np.minimum(found, products + moved)
    return np.where(square | wide, quickest, found)


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
    norms = of_family(operators, KernelFamily.NORM)
    after = np.roll(norms, 1, axis=0)
    fused = np.where(after, rate.fused_norms, rate.fused)
    return np.where(of_family(operators, KernelFamily.FUSIBLE), 1.0 - fused, 1.0)
