"""Compute: seconds of operators on one device.

A matrix product is cut into tiles that the device's units work on in waves; a wave that is not
full takes as long as a full one. Everything else is limited by memory traffic.

Sources: nvidia-matmul (tiles and waves), williams2009 (roofline), cutlass (tile sizes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretrain.cluster.device import Device
from foretrain.cost.coefficients import Coefficients
from foretrain.errors import InputError
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What one device reaches inside a training.

    Attributes:
        matmul: FLOP/s of large matrix products.
        flash_forward: FLOP/s of fused attention, forward.
        flash_backward: the same, backward.
        memory: bytes per second.
        launch: seconds per kernel.
        units: tiles that run side by side.
    """

    matmul: float
    flash_forward: float
    flash_backward: float
    memory: float
    launch: float
    units: float


def peak(device: Device, precision: Precision) -> float:
    """FLOP/s that the data sheet promises.

    Raises:
        InputError: the device has no units of that precision.
    """
    rate: float | None = getattr(device.peak, precision.peak)
    if rate is None:
        known = [name for name in Precision if getattr(device.peak, name.peak) is not None]
        raise InputError(
            f"workload.precision: {device.name} has no {precision.value} units. "
            f"Known for it: {', '.join(known)}."
        )
    return rate


def rates(device: Device, precision: Precision, coefficients: Coefficients) -> Rates:
    """The rates of a device: data sheet times what was measured of it."""
    top = peak(device, precision)
    half = device.peak.bf16 or device.peak.fp16
    best = device.matmul / half if device.matmul and half else coefficients.matmul_best
    return Rates(
        matmul=top * best * coefficients.matmul_sustained,
        flash_forward=top * coefficients.flash_forward,
        flash_backward=top * coefficients.flash_backward,
        memory=device.memory_bandwidth * coefficients.memory_sustained,
        launch=coefficients.launch,
        units=float(device.units),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What one device does of each operator. [operator, plan]

    Attributes:
        operators: the operators.
        share: the device's part.
        micro_batch: samples at once. [plan]
        value_bytes: bytes of one value.
    """

    operators: Operators
    share: Share
    micro_batch: Column
    value_bytes: float


def operator_times(work: Work, rate: Rates) -> tuple[Column, Column]:
    """Seconds of one micro-batch's forward and backward pass, each kernel where it exists.

    Returns:
        forward and backward. [operator, plan]
    """
    operators = work.operators
    forward, backward = _moving_times(work, rate)
    fused = operators.fused * work.micro_batch / (work.share.rows * work.share.batch)
    forward = np.maximum(forward, operators.flop * fused / rate.flash_forward)
    backward = np.maximum(backward, operators.backward_flop * fused / rate.flash_backward)
    product, gradients = _product_times(work, rate)
    forward = np.where(operators.matmul, product, forward)
    backward = np.where(operators.matmul, gradients, backward)
    launched = operators.kernels * rate.launch
    return forward + launched, backward + launched


def _moving_times(work: Work, rate: Rates) -> tuple[Column, Column]:
    """Operators that only move data. [operator, plan]"""
    operators, part = work.operators, work.micro_batch / work.share.moved
    forward = operators.forward_values * work.value_bytes + operators.forward_fixed
    backward = operators.backward_values * work.value_bytes + operators.backward_fixed
    return forward * part / rate.memory, backward * part / rate.memory


def _product_times(work: Work, rate: Rates) -> tuple[Column, Column]:
    """Matrix products: forward, and the gradients of both factors. [operator, plan]"""
    operators, share = work.operators, work.share
    stacked = operators.weights > 0
    rows = operators.rows * np.where(stacked, work.micro_batch, 1.0) / share.rows
    batch = operators.batch * np.where(stacked, 1.0, work.micro_batch) / share.batch
    columns, depth = operators.columns / share.columns, operators.depth / share.depth
    values = batch * (rows * depth / operators.reuse + rows * columns + depth * columns)
    traffic = values * work.value_bytes / rate.memory
    # Side by side: output, gradient of the left factor, gradient of the right factor.
    rows, columns, depth, batch = np.broadcast_arrays(rows, columns, depth, batch)
    output, left, right = product_time(
        np.stack([rows, rows, depth]),
        np.stack([columns, depth, columns]),
        np.stack([depth, columns, rows]),
        batch=batch,
        rate=rate,
    )
    backward = np.maximum(left, traffic) + np.maximum(right, traffic) + rate.launch
    return np.maximum(output, traffic), backward


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
