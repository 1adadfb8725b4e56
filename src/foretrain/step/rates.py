"""Rates: what a device and its host reach inside a training, driven by some software.

First those of kernels over pictures: convolutions, norms, and what is fused with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from foretrain.cluster.device import Device
from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.kernels import FusedAttention
from foretrain.step.tiles import FILL, Tile, Tiling, best_share, peak
from foretrain.trainers.software import SHARED, AttentionKernel, Execution, Software
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
        unshrunk: share of a convolution's time that members which divide its channels still take.
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
    unshrunk: float


def picture_rates(
    device: Device, precision: Precision, coefficients: Coefficients, *, software: Software
) -> PictureRates:
    """The rates of a device, driven by some software."""
    known, slower = coefficients.pictures, coefficients.step.factor
    tensor = has_matrix_units(device) and precision.peak != "fp32"
    graph = software.execution in GRAPHS
    memory = known.tuned
    if not software.whole and software.execution is not Execution.TUNED:
        memory = known.graph if graph else known.eager
    ordinary = device.peak.fp32 / slower * known.depthwise
    # Readings of a norm in its forward pass that others do for it; twice as many backward.
    tuned = software.execution is Execution.TUNED
    saved = known.statistics if tuned else 0.0
    if software.whole:
        saved = 2.0 * known.statistics_compiled
    fused = known.fused_graph if graph else 0.0
    if software.compiled or software.whole or tuned:
        fused = known.fused_tuned
    return PictureRates(
        tiling=_tensor(device, precision, coefficients, whole=software.whole)
        if tensor
        else _plain(device, precision, coefficients),
        squares=known.winograd if device.quick_windows and not tensor else 1.0,
        grouped=known.grouped,
        relaid=2.0 * known.relaid if tensor and software.relays else 0.0,
        depthwise=ordinary,
        depthwise_backward=ordinary / known.depthwise_backward,
        memory=memory_rate(device) * memory / slower,
        fused=fused,
        norm_forward=1.0 - saved / 3.0,
        norm_backward=1.0 - 2.0 * saved / 5.0,
        drain=known.drain * slower,
        unshrunk=known.unshrunk,
    )


def has_matrix_units(device: Device) -> bool:
    """Whether 16-bit products run on units of their own."""
    half = device.peak.fp16 or 0.0
    return device.peak.bf16 is not None or half > MATRIX_UNITS * device.peak.fp32


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
    tiles = []
    for tile in TENSOR_TILES:
        # Bytes that it reads from the cache for each FLOP.
        read = (tile.rows + tile.columns) / (tile.rows * tile.columns) * precision.value_bytes / 2.0
        tiles.append(replace(tile, speed=min(tile.speed, feed / (rate * read))))
    return Tiling(
        tiles=TENSOR_TILES if whole else tuple(tiles),
        fill=FILL,
        units=float(device.units),
        rate=rate,
    )


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


FP32_BYTES = 4.0

GRAPHS: Final = (Execution.GRAPH, Execution.COMPILED)
"""Executions of a graph that is known before it runs."""

CALLS = 4.0
"""Calls of a framework for an operator of a transformer, where an interpreter makes them: those
that split, turn and lay out its operands among them. A layer of 13 operators makes 51 forward.

Source: validation/device/host.py.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What one device reaches inside a training.

    Attributes:
        matmul: FLOP/s of large matrix products of activations.
        narrow: FLOP/s of products with weights over those; above 1 where they read fewer bits.
        experts: share of its FLOP/s that a product of experts keeps.
        flash_forward: FLOP/s of fused attention, forward.
        flash_backward: the same, backward.
        memory: bytes per second.
        launch: seconds of one call of the host.
        calls: calls for an operator; one over pictures is one call.
        kernel: seconds in which it starts one more kernel of the same call.
        exchange: seconds in which it calls a collective.
        checkpoint: seconds beside its operators of a layer that is computed again.
        gap: seconds lost between two kernels.
        unfused: kernels, and what they move, over what fused ones do.
        widened: bytes of what they move over those of activations.
        units: tiles that run side by side.
        pictures: what kernels over pictures reach.
        apart: whether gradients of weights are added up by kernels of their own.
        hook: seconds in which the host adds up the gradient of one tensor, where no product does.
        casts: kernels that make one factor of a product narrow.
        cast_calls: what the host calls for that, as many times as long as it starts a kernel.
        each: whether every expert has kernels of its own.
        sorts: times that rows are moved on their way to their experts, and back.
        reached: what kernels reach of what limits them, by `Reach`.
    """

    matmul: float
    narrow: float
    flash_forward: float
    flash_backward: float
    memory: float
    launch: float
    calls: float
    kernel: float
    exchange: float
    checkpoint: float
    gap: float
    unfused: float
    widened: float
    units: float
    pictures: PictureRates
    experts: float = 1.0
    apart: bool = False
    hook: float = 0.0
    casts: float = 0.0
    cast_calls: float = 0.0
    each: bool = False
    sorts: float = 1.0
    reached: tuple[float, float, float] = (1.0, 1.0, 1.0)


def rates(
    device: Device, precision: Precision, coefficients: Coefficients, *, software: Software = SHARED
) -> Rates:
    """The rates of a device: data sheet times what was measured of it.

    Attention and whatever else multiplies activations stays at 16 bits where weights are narrower.
    """
    top = peak(device, precision)
    half = device.peak.bf16 or device.peak.fp16
    wide = half if precision.product_bytes < precision.value_bytes and half else top
    matrix, host, slower = coefficients.matrix, coefficients.host, coefficients.step.factor
    traffic = coefficients.traffic
    kept = {"fp8": matrix.fp8, "fp4": matrix.fp4}
    flash = wide * flash_share(device, software, coefficients.attention) / slower
    moves = {
        Execution.EAGER: traffic.eager,
        Execution.GRAPH: traffic.graph,
        Execution.COMPILED: traffic.compiled,
    }
    # A graph of kernels is started whole; a graph of operators knows what is computed again.
    starts = slower * (not software.graphs)
    graph = software.execution in GRAPHS or not software.interpreted
    return Rates(
        matmul=wide * _product_share(device, precision, coefficients) / slower,
        narrow=top / wide * kept.get(precision.peak, 1.0),
        flash_forward=flash,
        flash_backward=flash * coefficients.attention.backward,
        memory=memory_rate(device) * traffic.sustained / slower,
        launch=(host.graph_launch if graph else host.launch) * starts,
        calls=1.0 if graph else CALLS,
        kernel=host.kernel * starts,
        exchange=host.exchange * starts,
        checkpoint=0.0 if graph else host.checkpoint * starts,
        gap=host.gap * slower,
        unfused=moves.get(software.execution, 1.0),
        widened=_widened(precision, coefficients, software),
        experts=matrix.experts,
        apart=software.adds_apart,
        hook=host.launch * starts * software.adds_apart,
        casts=float(precision.cast_kernels),
        cast_calls=float(precision.cast_calls),
        each=not software.grouped,
        sorts=_sorts(precision, software),
        reached=(1.0, traffic.stretched, traffic.scanned),
        units=float(device.units),
        pictures=picture_rates(device, precision, coefficients, software=software),
    )


USUAL_TRIAD = 0.86
"""Share of its bandwidth that an A100 80GB moves, on which coefficients of traffic hang.

Source: gpu-benches, gpu-stream: 1.759 of 2.039 TB/s.
"""


def memory_rate(device: Device) -> float:
    """Bytes per second of the data sheet, by how much of it a device moves beside an A100."""
    return device.memory_bandwidth * (device.triad or USUAL_TRIAD) / USUAL_TRIAD


def _widened(precision: Precision, coefficients: Coefficients, software: Software) -> float:
    """Bytes that kernels move over those of activations, where some work in 4 bytes.

    What a kernel makes of a chain reads and writes activations as they are. A cast of its own reads
    a value in few bytes and writes it in 4, or the other way round; there is one on either side.

    Source: micikevicius2018, section 3.3.
    """
    if software.execution in (Execution.TUNED, Execution.COMPILED):
        return 1.0
    narrow = precision.value_bytes
    moved = FP32_BYTES / narrow - 1.0
    if software.casts and narrow < FP32_BYTES:
        moved += (narrow + FP32_BYTES) / narrow
    return 1.0 + coefficients.traffic.wide * moved


def _sorts(precision: Precision, software: Software) -> float:
    """Times that rows are moved between the exchange and the products of experts.

    Copies are sorted before they are sent and again where they arrive; tokens that go once, only
    there. Blocks of narrow values are whole: rows of an expert that has kernels of its own are
    filled up by one more copy. Source: megatron-core, README of its mixture of experts.
    """
    return 1.0 + (not software.once) + (bool(precision.cast_kernels) and not software.grouped)


def _product_share(device: Device, precision: Precision, coefficients: Coefficients) -> float:
    """What large products reach of the peak."""
    matrix = coefficients.matrix
    if precision.peak == "fp32":
        return matrix.fp32
    best = best_share(device, matrix)
    return best * matrix.sustained * (matrix.tf32 if precision.peak == "tf32" else 1.0)


def flash_share(device: Device, software: Software, coefficients: FusedAttention) -> float:
    """What fused attention reaches of the peak, forward.

    A kernel that is not named is the newest that suits the device in tuned software, and elsewhere
    the one that comes with PyTorch, of the second generation.
    """
    tuned = software.execution is Execution.TUNED
    chosen = software.kernel or (AttentionKernel.CUDNN if tuned else AttentionKernel.SECOND)
    if chosen in (AttentionKernel.THIRD, AttentionKernel.CUDNN) and device.asynchronous:
        return coefficients.asynchronous
    first = chosen is AttentionKernel.FIRST
    share = coefficients.first if first else coefficients.second
    return share * (coefficients.legacy if device.asynchronous else 1.0)
