"""Compute: seconds of operators on one device.

Matrix products are cut into tiles (`step.rates`); kernels over pictures have rates of their own
(`step.convolution`). Everything else is limited by memory traffic.

Source: williams2009 (roofline).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretrain.plan.table import Column
from foretrain.step.convolution import CONVOLUTIONS, convolution_times, moving_times, of_family
from foretrain.step.launches import backward_kernels, each_expert, kernels_of
from foretrain.step.rates import Rates
from foretrain.step.strategies.strategy import Share
from foretrain.step.tiles import FILL, TILES, Tiling, tiled_time
from foretrain.workload.columns import Operators
from foretrain.workload.workload import Precision


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What one device does of each operator. [operator, plan]

    Attributes:
        operators: the operators.
        share: the device's part.
        micro_batch: samples at once. [plan]
        precision: of products and activations.
        added_to: bytes of one value of the gradients that products of weights add to; 0 where they
            write theirs at the precision of activations.
    """

    operators: Operators
    share: Share
    micro_batch: Column
    precision: Precision
    added_to: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatorTimes:
    """Seconds of one micro-batch. [operator, plan]

    Attributes:
        forward: forward pass.
        backward: backward pass, gradients of weights included.
        weights: gradients of weights alone.
    """

    forward: Column
    backward: Column
    weights: Column


def operator_times(work: Work, rate: Rates) -> OperatorTimes:
    """Seconds of every operator, each kernel where it exists. [operator, plan]"""
    operators = work.operators
    forward, backward = _moving_times(work, rate)
    fused = operators.fused * work.micro_batch / (work.share.rows * work.share.batch)
    fused = fused / _reached(operators, rate)
    forward = np.maximum(forward, operators.flop * fused / rate.flash_forward)
    backward = np.maximum(backward, operators.backward_flop * fused / rate.flash_backward)
    product, left, right = _product_times(work, rate)
    if operators.family.any():
        product, left, right = _convolved(work, rate, (product, left, right))
        forward, backward = _over_pictures(work, rate, (forward, backward))
    # Bytes moved to widen weights that are stored in fewer bits, once a pass.
    stored = work.operators.stored
    moved = np.where(stored > 0, stored + work.precision.value_bytes, 0.0)
    unpacking = work.operators.weights * moved / work.share.weights
    unpacked = unpacking / rate.memory
    forward = np.where(operators.matmul, product, forward) + unpacked
    backward = np.where(operators.matmul, left + right, backward) + unpacked
    lost = kernels_of(operators, rate) * rate.gap / _each_divided(work, rate)
    returns, _ = backward_kernels(operators)
    return OperatorTimes(
        forward=forward + lost,
        backward=(backward + lost * ~operators.first) * returns,
        weights=np.where(operators.matmul & (operators.trained > 0), right, 0.0),
    )


def _each_divided(work: Work, rate: Rates) -> Column:
    """Devices that share the kernels of an operator, one for each expert. [operator, plan]"""
    return np.where(each_expert(work.operators, rate) > 1, work.share.batch, 1.0)


def _reached(operators: Operators, rate: Rates) -> Column:
    """What kernels reach of what limits them. [operator, 1]"""
    return np.take(rate.reached, operators.reach.astype(np.intp))


def _moving_times(work: Work, rate: Rates) -> tuple[Column, Column]:
    """Operators that only move data. [operator, plan]"""
    operators, part = work.operators, work.micro_batch / work.share.moved
    part = part * np.where(operators.fused, 1.0, rate.unfused)
    part = part * np.where(operators.routed > 0, rate.sorts, 1.0) / _reached(operators, rate)
    value_bytes = work.precision.value_bytes * np.where(operators.fused, 1.0, rate.widened)
    forward = operators.forward_values * value_bytes + operators.forward_fixed
    backward = operators.backward_values * value_bytes + operators.backward_fixed
    return forward * part / rate.memory, backward * part / rate.memory


def _convolved(
    work: Work, rate: Rates, products: tuple[Column, Column, Column]
) -> tuple[Column, Column, Column]:
    """Convolutions in the place of the products that they are. [operator, plan]"""
    convolved = convolution_times(
        work.operators,
        work.micro_batch,
        value_bytes=work.precision.value_bytes,
        rate=rate.pictures,
    )
    result, left, right = convolved
    learns = (work.operators.trained > 0) * rate.gap
    mine = of_family(work.operators, *CONVOLUTIONS)
    return (
        np.where(mine, result, products[0]),
        np.where(mine, left, products[1]),
        np.where(mine, right + learns, products[2]),
    )


def _over_pictures(work: Work, rate: Rates, passes: tuple[Column, Column]) -> tuple[Column, Column]:
    """Other kernels over pictures in the place of what only moves data. [operator, plan]"""
    moved = moving_times(
        work.operators,
        work.micro_batch,
        value_bytes=work.precision.value_bytes,
        rate=rate.pictures,
    )
    mine = work.operators.family > 0
    return np.where(mine, moved[0], passes[0]), np.where(mine, moved[1], passes[1])


def _product_times(work: Work, rate: Rates) -> tuple[Column, Column, Column]:
    """Matrix products: forward, and the gradients of either factor. [operator, plan]

    A frozen weight has no gradient.
    """
    operators, share = work.operators, work.share
    stacked, narrowed = operators.weights > 0, operators.narrowed
    rows = operators.rows * np.where(stacked, work.micro_batch, 1.0) / share.rows
    batch = operators.batch * np.where(stacked, 1.0, work.micro_batch) / share.batch
    columns, depth = operators.columns / share.columns, operators.depth / share.depth
    left, out, right = rows * depth / operators.reuse, rows * columns, depth * columns
    wide = work.precision.value_bytes
    read = np.where(narrowed, work.precision.product_bytes, wide)
    cast = np.where(narrowed, work.precision.cast_bytes, 0.0) / rate.memory
    added = np.where(stacked, 2.0 * work.added_to or wide, wide)
    forward = batch * ((left + right) * read + out * wide) / rate.memory
    returned = batch * ((out + right) * read + left * wide) / rate.memory
    learned = batch * ((left + out) * read + right * added) / rate.memory
    # Side by side: output, gradient of the left factor, gradient of the right factor.
    rows, columns, depth, batch = np.broadcast_arrays(rows, columns, depth, batch)
    quicker = np.where(narrowed, rate.narrow, 1.0)
    output, first, second = (
        product_time(
            np.stack([rows, rows, depth]),
            np.stack([columns, depth, columns]),
            np.stack([depth, columns, rows]),
            batch=batch,
            rate=rate,
            # A fill is so many bytes, however many values these are.
            fill=FILL * wide / read,
        )
        / quicker
    )
    learns = (operators.trained > 0) | ~stacked
    gap = rate.gap * each_expert(operators, rate) / _each_divided(work, rate)
    return (
        np.maximum(output, forward) + batch * left * cast,
        np.maximum(first, returned) + batch * out * cast,
        (np.maximum(second, learned) + gap) * learns,
    )


def product_time(
    rows: Column,
    columns: Column,
    depth: Column,
    *,
    batch: Column,
    rate: Rates,
    fill: Column | float = FILL,
) -> Column:
    """Seconds of `batch` products (rows x depth) by (depth x columns), compute alone.

    The library picks the tile that ends first. [any shape]
    """
    tiling = Tiling(tiles=TILES, fill=fill, units=rate.units, rate=rate.matmul)
    return tiled_time(rows, columns, depth, batch=batch, tiling=tiling)
