"""Rates of kernels over pictures: convolutions, norms, and what is fused with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.cluster.device import Device
from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.products import best_share
from foretrain.cost.tiles import FILL, Tile, Tiling
from foretrain.plan.execution import Execution
from foretrain.plan.software import Software
from foretrain.workload.workload import Precision

TENSOR_TILES = (
    Tile(rows=256, columns=128),
    Tile(rows=128, columns=256),
    Tile(rows=128, columns=128),
    Tile(rows=256, columns=64),
    Tile(rows=64, columns=256),
    Tile(rows=128, columns=64),
    Tile(rows=64, columns=128),
    Tile(rows=64, columns=64),
    Tile(rows=256, columns=32, speed=0.6),
    Tile(rows=128, columns=32, speed=0.5),
    Tile(rows=64, columns=32, speed=0.35),
)
"""Tiles of tensor cores; the narrow ones leave units idle. Source: cutlass, from memory."""

PLAIN_TILES = (
    Tile(rows=128, columns=128),
    Tile(rows=128, columns=64),
    Tile(rows=64, columns=128),
    Tile(rows=64, columns=64, speed=0.9),
    Tile(rows=128, columns=32, speed=0.9),
    Tile(rows=32, columns=128, speed=0.9),
    Tile(rows=64, columns=32, speed=0.8),
    Tile(rows=32, columns=32, speed=0.6),
)
"""Tiles of plain fp32, by the names of cuDNN's kernels (scudnn_128x32, ...), from memory."""

PLAIN_FILL = 32.0
"""Depth that such a tile loads first: its steps are 8 deep, and a few are under way."""

MATRIX_UNITS = 3.0
"""A device whose 16-bit rate is more times its fp32 rate has matrix units; so has one with bf16."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureRates:
    """What kernels over pictures reach on one device.

    Attributes:
        tiling: of convolutions.
        squares: factor by which windows of 3 x 3 with stride 1 are quicker than tiles say.
        grouped: time of grouped convolutions over what tiles say.
        relaid: traffic of laying operands out anew, over reading them once.
        depthwise: FLOP/s of windows of single channels, forward.
        depthwise_backward: FLOP/s of both their gradients together.
        memory: bytes per second of norms and other simple kernels.
        fused: share of what can be fused that takes no time of its own.
        norm_forward: passes over a picture that a norm takes, of the three that it would take.
        norm_backward: the same of the five of its backward pass.
        drain: seconds that a kernel takes beside its work.
    """

    tiling: Tiling
    squares: float
    grouped: float
    relaid: float
    depthwise: float
    depthwise_backward: float
    memory: float
    fused: float
    norm_forward: float
    norm_backward: float
    drain: float


def picture_rates(
    device: Device, precision: Precision, coefficients: Coefficients, *, software: Software
) -> PictureRates:
    """The rates of a device, driven by some software."""
    known, slower = coefficients.pictures, coefficients.step.factor
    tensor = has_matrix_units(device) and precision.peak != "fp32"
    memory = {Execution.EAGER: known.eager, Execution.GRAPH: known.graph}.get(
        Execution.TUNED if software.whole else software.execution, known.tuned
    )
    ordinary = device.peak.fp32 / slower * known.depthwise
    saved = _statistics(coefficients, software)
    return PictureRates(
        tiling=_tensor(device, precision, coefficients, whole=software.whole)
        if tensor
        else _plain(device, precision, coefficients),
        squares=known.winograd if device.quick_windows and not tensor else 1.0,
        grouped=known.grouped,
        relaid=2.0 * known.relaid if tensor and software.relays else 0.0,
        depthwise=ordinary,
        depthwise_backward=ordinary / known.depthwise_backward,
        memory=device.memory_bandwidth * memory / slower,
        fused=_fused(coefficients, software),
        norm_forward=1.0 - saved / 3.0,
        norm_backward=1.0 - 2.0 * saved / 5.0,
        drain=known.drain * slower,
    )


def has_matrix_units(device: Device) -> bool:
    """Whether 16-bit products run on units of their own."""
    half = device.peak.fp16 or 0.0
    return device.peak.bf16 is not None or half > MATRIX_UNITS * device.peak.fp32


def _fused(coefficients: Coefficients, software: Software) -> float:
    known = coefficients.pictures
    if software.compiled or software.whole or software.execution is Execution.TUNED:
        return known.fused_tuned
    return known.fused_graph if software.execution is Execution.GRAPH else 0.0


def _statistics(coefficients: Coefficients, software: Software) -> float:
    """Readings of a norm in its forward pass that others do for it; twice as many backward."""
    known = coefficients.pictures
    if software.whole:
        return 2.0 * known.statistics_compiled
    return known.statistics if software.execution is Execution.TUNED else 0.0


def _tensor(
    device: Device, precision: Precision, coefficients: Coefficients, *, whole: bool
) -> Tiling:
    """Tiles of matrix units, fed from the last cache; a compiler keeps them fed."""
    matrix, known = coefficients.matrix, coefficients.pictures
    top: float = getattr(device.peak, precision.peak)
    narrow = matrix.tf32 if precision.peak == "tf32" else 1.0
    share = best_share(device, matrix) * known.sustained * narrow
    rate = top * share / coefficients.step.factor
    feed = known.feed * device.memory_bandwidth / coefficients.step.factor
    tiles = tuple(
        replace(tile, speed=min(tile.speed, feed / (rate * _read(tile, precision))))
        for tile in TENSOR_TILES
    )
    return Tiling(
        tiles=TENSOR_TILES if whole else tiles,
        fill=FILL,
        units=float(device.units),
        rate=rate,
    )


def _read(tile: Tile, precision: Precision) -> float:
    """Bytes that a tile reads from the cache for each FLOP."""
    return (tile.rows + tile.columns) / (tile.rows * tile.columns) * precision.value_bytes / 2.0


def _plain(device: Device, precision: Precision, coefficients: Coefficients) -> Tiling:
    """Tiles of ordinary cores; a device without 16 bits has its best product measured in fp32."""
    top: float = getattr(device.peak, precision.peak)
    alone = device.peak.bf16 is None and device.peak.fp16 is None
    best = device.matmul if device.matmul and alone else top * coefficients.matrix.fp32
    return Tiling(
        tiles=PLAIN_TILES,
        fill=PLAIN_FILL,
        units=float(device.units),
        rate=best * coefficients.pictures.plain / coefficients.step.factor,
    )
