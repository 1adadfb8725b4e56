"""Compute: seconds of operators on one device.

A matrix product is cut into tiles that the device's units work on in waves; a wave that is not
full takes as long as a full one. Everything else is limited by memory traffic.

Sources: nvidia-matmul (tiles and waves), williams2009 (roofline), cutlass (tile sizes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretrain.cost.launches import backward_kernels
from foretrain.cost.rates import Rates
from foretrain.plan.table import Column
from foretrain.strategies.strategy import Share
from foretrain.workload.columns import Operators
from foretrain.workload.workload import Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A part of the output that one unit computes.

    Attributes:
        rows: of the output.
        columns: of the output.
        speed: share of the unit's rate that the second-level cache can feed: an A100 delivers 47
            bytes per unit and clock, of which three quarters are assumed to arrive, and a tile of
            r x c needs 2048 (r + c) / (r c) for 16-bit values. Source: nvidia-a100, from memory.
    """

    rows: float
    columns: float
    speed: float


TILES = (
    Tile(rows=256, columns=128, speed=1.0),
    Tile(rows=128, columns=256, speed=1.0),
    Tile(rows=128, columns=128, speed=1.0),
    Tile(rows=256, columns=64, speed=0.88),
    Tile(rows=64, columns=256, speed=0.88),
    Tile(rows=128, columns=64, speed=0.73),
    Tile(rows=64, columns=128, speed=0.73),
    Tile(rows=64, columns=64, speed=0.55),
)

FILL = 128.0
"""Depth that a tile loads before its first product: two of three stages of 64. Source: cutlass,
default_gemm_configuration.h for 16-bit values on sm80, from memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What one device does of each operator. [operator, plan]

    Attributes:
        operators: the operators.
        share: the device's part.
        micro_batch: samples at once. [plan]
        precision: of products and activations.
    """

    operators: Operators
    share: Share
    micro_batch: Column
    precision: Precision


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
    forward = np.maximum(forward, operators.flop * fused / rate.flash_forward)
    backward = np.maximum(backward, operators.backward_flop * fused / rate.flash_backward)
    product, left, right = _product_times(work, rate)
    unpacked = _unpacking(work) / rate.memory
    forward = np.where(operators.matmul, product, forward) + unpacked
    backward = np.where(operators.matmul, left + right, backward) + unpacked
    alone = operators.matmul | operators.fused
    lost = operators.kernels * np.where(alone, 1.0, rate.unfused) * rate.gap
    returns, _ = backward_kernels(operators)
    return OperatorTimes(
        forward=forward + lost,
        backward=(backward + lost) * returns,
        weights=np.where(operators.matmul & (operators.trained > 0), right, 0.0),
    )


def _unpacking(work: Work) -> Column:
    """Bytes moved to widen weights that are stored in fewer bits, once a pass. [operator, plan]"""
    stored = work.operators.stored
    moved = np.where(stored > 0, stored + work.precision.value_bytes, 0.0)
    return work.operators.weights * moved / work.share.weights


def _moving_times(work: Work, rate: Rates) -> tuple[Column, Column]:
    """Operators that only move data. [operator, plan]"""
    operators, part = work.operators, work.micro_batch / work.share.moved
    part = part * np.where(operators.fused, 1.0, rate.unfused)
    value_bytes = work.precision.value_bytes
    forward = operators.forward_values * value_bytes + operators.forward_fixed
    backward = operators.backward_values * value_bytes + operators.backward_fixed
    return forward * part / rate.memory, backward * part / rate.memory


def _product_times(work: Work, rate: Rates) -> tuple[Column, Column, Column]:
    """Matrix products: forward, and the gradients of either factor. [operator, plan]

    A frozen weight has no gradient. A weight that products read in fewer bits than activations have
    is cast with everything that it meets.
    """
    operators, share = work.operators, work.share
    stacked = operators.weights > 0
    rows = operators.rows * np.where(stacked, work.micro_batch, 1.0) / share.rows
    batch = operators.batch * np.where(stacked, 1.0, work.micro_batch) / share.batch
    columns, depth = operators.columns / share.columns, operators.depth / share.depth
    left, out, right = rows * depth / operators.reuse, rows * columns, depth * columns
    read = np.where(stacked, work.precision.product_bytes, work.precision.value_bytes)
    cast = np.where(stacked, work.precision.cast_bytes, 0.0)
    values = batch * (left + out + right)
    traffic = (values * read + batch * (left + right) * cast) / rate.memory
    returned = (values * read + batch * out * cast) / rate.memory
    # Side by side: output, gradient of the left factor, gradient of the right factor.
    rows, columns, depth, batch = np.broadcast_arrays(rows, columns, depth, batch)
    quicker = np.where(stacked, rate.narrow, 1.0)
    output, first, second = (
        product_time(
            np.stack([rows, rows, depth]),
            np.stack([columns, depth, columns]),
            np.stack([depth, columns, rows]),
            batch=batch,
            rate=rate,
        )
        / quicker
    )
    learns = (operators.trained > 0) | ~stacked
    return (
        np.maximum(output, traffic),
        np.maximum(first, returned),
        (np.maximum(second, values * read / rate.memory) + rate.gap) * learns,
    )


def product_time(
    rows: Column, columns: Column, depth: Column, *, batch: Column, rate: Rates
) -> Column:
    """Seconds of `batch` products (rows x depth) by (depth x columns), compute alone.

    The library picks the tile that ends first; where the tiles do not fill the units, they are
    cut along the depth too. [any shape]
    """
    best = np.full(np.broadcast_shapes(rows.shape, columns.shape, batch.shape), np.inf)
    for tile in TILES:
        tiles = batch * np.ceil(rows / tile.rows) * np.ceil(columns / tile.columns)
        parts = np.maximum(1.0, np.floor(np.minimum(rate.units / tiles, depth / (4.0 * FILL))))
        waves = np.ceil(tiles * parts / rate.units)
        flop = 2.0 * tile.rows * tile.columns * (depth / parts + FILL)
        best = np.minimum(best, waves * (rate.units * flop) / (rate.matmul * tile.speed))
    return best
