"""Work of one device: its part of each operator, and what its units reach of a product.

Work: what one device does of each operator, and what it takes where somebody measured it.

Products of matrices: what units reach at best, and the tiles that they work on in waves.

A wave that is not full takes as long as a full one.

Sources: nvidia-matmul (tiles and waves), cutlass (tile sizes).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.device import Device
from foretrain.coefficients.device import Matrix
from foretrain.errors import InputError
from foretrain.plan.table import Column
from foretrain.step.strategies.strategy import Divisor, Share
from foretrain.workload.graph import Operators
from foretrain.workload.workload import Precision

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeviceWork:
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


def shrunk(divisor: Divisor, unshrunk: float) -> Divisor:
    """By how much less a member takes that has so much less, where some of it never shrinks.

    Source: kahira2021, section 5.3 (kernels that do not shrink with their filters).
    """
    return divisor / (1.0 + unshrunk * (divisor - 1.0)) if unshrunk else divisor


def as_measured(
    work: DeviceWork, times: OperatorTimes, returns: Flags, *, unshrunk: float
) -> OperatorTimes:
    """Seconds that somebody measured in the place of formulas. [operator, plan]

    They are those of whole operators and of one sample, and are divided as the work is. Of the
    backward pass of a product half are gradients of its weights, all where its input needs none;
    frozen weights have none.

    Args:
        work: what the device does.
        times: what formulas say.
        returns: which operators have a backward pass. [operator, 1]
        unshrunk: share of the time that members which divide channels still take.
    """
    operators, share, mine = work.operators, work.share, work.operators.measured
    channels = share.columns * share.depth * share.batch
    divided = share.rows * shrunk(channels, unshrunk)
    part = work.micro_batch / np.where(operators.matmul, divided, share.moved)
    backward = operators.backward_seconds * part * returns
    of_weights = np.where(operators.first, 1.0, 0.5) * (operators.matmul & (operators.weights > 0))
    learns = operators.trained > 0
    return OperatorTimes(
        forward=np.where(mine, operators.seconds * part, times.forward),
        backward=np.where(mine, backward * np.where(learns, 1.0, 1.0 - of_weights), times.backward),
        weights=np.where(mine, backward * of_weights * learns, times.weights),
    )


def best_share(device: Device, matrix: Matrix) -> float:
    """Share of the 16-bit peak that the best product reaches inside of a training.

    Units whose instructions do not wait slow down with what else a step does, and the first
    generation of units is fed late; both hold for products of matrices and for convolutions.
    """
    best = best_product(device, matrix)
    if device.asynchronous:
        return best * matrix.asynchronous
    return best * matrix.earliest if device.peak.bf16 is None else best


def best_product(device: Device, matrix: Matrix) -> float:
    """Share of the 16-bit peak that the best product reaches alone."""
    half = device.peak.bf16 or device.peak.fp16
    return device.matmul / half if device.matmul and half else matrix.best


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A part of the output that one unit computes.

    Attributes:
        rows: of the output.
        columns: of the output.
        speed: share of the unit's rate that the second-level cache can feed: an A100 delivers 47
            bytes per unit and clock, of which three quarters arrive, and a tile of r x c needs
            2048 (r + c) / (r c) for 16-bit values. Source: nvidia-a100; gpu-benches, gpu-l2-cache.
    """

    rows: float
    columns: float
    speed: float = 1.0


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
default_gemm_configuration.h for 16-bit values on sm80: 128x256x64, kStages 3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """How a library cuts products.

    Attributes:
        tiles: from which it picks the one that ends first.
        fill: depth that a tile loads before its first product.
        units: of the device, which work side by side.
        rate: FLOP/s of large products.
    """

    tiles: Sequence[Tile]
    fill: Column | float
    units: float
    rate: float


def tiled_time(
    rows: Column, columns: Column, depth: Column, *, batch: Column, tiling: Tiling
) -> Column:
    """Seconds of `batch` products (rows x depth) by (depth x columns), compute alone.

    Where the tiles do not fill the units, they are cut along the depth too. A product that is
    shallower than what a tile loads ahead loads no more than there is. [any shape]
    """
    units, fill = tiling.units, tiling.fill
    best = np.full(np.broadcast_shapes(rows.shape, columns.shape, batch.shape), np.inf)
    for high, wide, speed in _side_by_side(tiling.tiles, best):
        tiles = batch * np.ceil(rows / high) * np.ceil(columns / wide)
        parts = np.maximum(1.0, np.floor(np.minimum(units / tiles, depth / (4.0 * fill))))
        waves = np.ceil(tiles * parts / units)
        deep = depth / parts
        flop = 2.0 * high * wide * (deep + np.minimum(fill, deep))
        seconds = waves * (units * flop) / (tiling.rate * speed)
        best = np.minimum(best, np.minimum.reduce(seconds, axis=0))
    return best


TOGETHER = 4096


"""Products that are cut by several tiles at once; of more, each tile's would not stay in cache."""


def _side_by_side(tiles: Sequence[Tile], products: Column) -> Iterator[Column]:
    """Rows, columns and speeds of some tiles at a time, to be held against all products."""
    many = max(1, TOGETHER // max(1, products.size))
    table = np.array([(tile.rows, tile.columns, tile.speed) for tile in tiles]).T
    for first in range(0, len(tiles), many):
        yield table[:, first : first + many].reshape(3, -1, *(1,) * products.ndim)


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
