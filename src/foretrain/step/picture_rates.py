"""Rates of kernels over pictures: convolutions, norms, and what is fused with them.

What a convolution reaches follows from the units that do its products, from what feeds them, and
from how long libraries have known the device. Its windows are multiplied as the library can.

Sources: chetlur2014 (windows unfolded in memory, and on the way), lavin2016 (Winograd).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from foretrain.cluster.device import Device
from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.device import Pictures
from foretrain.step.work import FILL, Tile, Tiling, best_product
from foretrain.trainers.software import Convolutions, Execution, Software
from foretrain.units import years
from foretrain.workload.workload import Precision

FP32_BYTES = 4.0

GRAPHS: Final = (Execution.GRAPH, Execution.COMPILED)
"""Executions of a graph that is known before it runs."""

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
        squares: factor by which Winograd's algorithm makes windows of 3 x 3 with stride 1 quicker,
            in tiles of 2 x 2 within one kernel; 1 where no library has it.
        grouped: time of grouped convolutions over what tiles say.
        relaid: traffic of laying operands out anew, over reading them once.
        depthwise: FLOP/s of windows of single channels, forward.
        depthwise_backward: FLOP/s of both their gradients together.
        memory: bytes per second of norms and other simple kernels.
        fused: share of what can be fused that takes no time of its own, but for what follows norms.
        fused_norms: the same of what follows a norm.
        norm_forward: passes over a picture that a norm takes, of the three that it would take.
        norm_backward: the same of the five of its backward pass.
        drain: seconds that a kernel takes beside its work.
        unshrunk: share of a convolution's time that members which divide its channels still take.
        chosen: whether the library has every algorithm, for every product.
        lowered: whether windows are unfolded in memory, sample by sample.
        start: seconds between two kernels that compiled code starts one after the other.
    """

    tiling: Tiling
    squares: float
    grouped: float
    relaid: float
    depthwise: float
    depthwise_backward: float
    memory: float
    fused: float
    fused_norms: float
    norm_forward: float
    norm_backward: float
    drain: float
    unshrunk: float
    chosen: bool = True
    lowered: bool = False
    start: float = 0.0


def picture_rates(
    device: Device, precision: Precision, coefficients: Coefficients, *, software: Software
) -> PictureRates:
    """The rates of a device, driven by some software."""
    known, slower = coefficients.pictures, coefficients.step.factor
    tensor = has_matrix_units(device) and precision.peak != "fp32" and software.matrix_units
    transforms = (Convolutions.FIRST_TRANSFORMS, Convolutions.CHOSEN)
    windows = device.quick_windows and software.convolutions in transforms
    ordinary = device.peak.fp32 / slower * known.depthwise
    # Readings of a norm in its forward pass that others do for it; twice as many backward.
    tuned = software.execution is Execution.TUNED
    saved = known.statistics if tuned else 0.0
    if software.whole:
        saved = 2.0 * known.statistics_compiled
    fused, fused_norms = _fused(known, precision, software)
    tiling = (
        _tensor(device, precision, coefficients, whole=software.whole)
        if tensor
        else _plain(device, precision, coefficients)
    )
    return PictureRates(
        tiling=replace(tiling, rate=tiling.rate * learned(device, software, known.young)),
        squares=known.winograd if windows and not tensor else 1.0,
        grouped=known.grouped,
        relaid=2.0 * known.relaid if tensor and software.relays else 0.0,
        depthwise=ordinary,
        depthwise_backward=ordinary / known.depthwise_backward,
        memory=memory_rate(device) * _moved(known, software) / slower,
        fused=fused,
        fused_norms=fused_norms,
        norm_forward=1.0 - saved / 3.0,
        norm_backward=1.0 - 2.0 * saved / 5.0,
        drain=known.drain * slower,
        unshrunk=known.unshrunk,
        chosen=software.convolutions is Convolutions.CHOSEN,
        lowered=software.convolutions is Convolutions.LOWERED,
        start=coefficients.host.kernel * slower,
    )


def _moved(known: Pictures, software: Software) -> float:
    """Share of its bandwidth that simple kernels reach."""
    if software.whole or software.execution is Execution.TUNED:
        return known.tuned
    return known.eager * (known.graph if software.execution in GRAPHS else 1.0)


def _fused(known: Pictures, precision: Precision, software: Software) -> tuple[float, float]:
    """Share of the kernels that can be fused which are: of those after norms last, of all others.

    Libraries fuse norms of 16 bits alone; a compiler writes a kernel for any values.
    """
    compiles = software.compiled or software.whole
    tuned = software.execution is Execution.TUNED
    narrow = precision.value_bytes < FP32_BYTES
    fused = known.fused_tuned if compiles or tuned else 0.0
    if software.execution in GRAPHS and narrow and not compiles:
        return fused, known.fused_graph
    return fused, fused if compiles or narrow else 0.0


RIPE = 1.0
"""Years in which libraries make up half of what they still lack on a device.

MLPerf's rounds lie half a year apart; what the same devices gain in one of them shrinks after two
or three (from memory).
"""


def learned(device: Device, software: Software, young: float) -> float:
    """Share of their later rate that convolutions of a library reach on a device.

    Args:
        device: whose release is known, or every library knows it.
        software: whose libraries were built at some time, or know every device.
        young: share that they lack on the day when the device appears.
    """
    released = years(device.released or "")
    if released is None or software.built is None:
        return 1.0
    age = max(software.built - released, 0.0)
    left: float = 0.5 ** (age / RIPE)
    return 1.0 - young * left


CORES: Final = ((8.6, 128.0), (7.0, 64.0), (6.1, 128.0), (6.0, 64.0), (5.0, 128.0), (3.0, 192.0))
"""Ordinary cores of a processor from a compute capability on, the latest first; 8.0 has 64.

Source: NVIDIA, CUDA C++ programming guide, throughput of arithmetic instructions.
"""

FED = 2048.0
"""FLOP that the matrix units of one processor of an A100 do in a clock. Source: nvidia-a100."""

FED_PLAIN = 256.0
"""The same of the ordinary cores of a processor of Maxwell. Source: as `CORES`."""


def cores_of(device: Device) -> float | None:
    """Ordinary cores of a processor; None where nobody says."""
    capability = device.compute_capability or 0.0
    return next((cores for first, cores in CORES if capability >= first), None)


def fed(device: Device, share: float, top: float, *, usual: float) -> float:
    """Share of a best product that convolutions reach, as units wait for what feeds them.

    Addresses of windows and values take a processor as many clocks whatever its units do in them:
    on units of half the rate they cost half as much of the share. Matrix units whose instructions
    do not wait run beside that.

    Args:
        device: with a compute capability, or it reaches the share.
        share: what a processor of the usual rate reaches.
        top: FLOP/s of all units.
        usual: FLOP in a clock of the processor that reaches the share.
    """
    cores = cores_of(device)
    if cores is None:
        return share
    clock = 2.0 * cores * top / device.peak.fp32
    return 1.0 / (1.0 + (1.0 / share - 1.0) * clock / usual)


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
    # tf32 has half the rate, and values of twice the bytes.
    half = device.peak.fp16 or device.peak.bf16 or top
    sustained = fed(device, known.sustained, half, usual=FED)
    share = best_product(device, matrix) * narrow
    share *= known.sustained * matrix.asynchronous if device.asynchronous else sustained
    if device.compute_capability is not None and device.peak.bf16 is None:
        share *= known.earliest
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
    # Libraries that know of no matrix units compute narrow values as wide ones.
    narrow = has_matrix_units(device)
    top: float = device.peak.fp32 if narrow else getattr(device.peak, precision.peak)
    alone = device.peak.bf16 is None and device.peak.fp16 is None
    best = device.matmul if device.matmul and alone else top * coefficients.matrix.fp32
    share = fed(device, coefficients.pictures.plain, device.peak.fp32, usual=FED_PLAIN)
    return Tiling(
        tiles=PLAIN_TILES,
        fill=PLAIN_FILL,
        units=float(device.units),
        rate=best * share / coefficients.step.factor,
    )


USUAL_TRIAD = 0.86
"""Share of its bandwidth that an A100 80GB moves, on which coefficients of traffic hang.

Source: gpu-benches, gpu-stream: 1.759 of 2.039 TB/s.
"""


def memory_rate(device: Device) -> float:
    """Bytes per second of the data sheet, by how much of it a device moves beside an A100."""
    return device.memory_bandwidth * (device.triad or USUAL_TRIAD) / USUAL_TRIAD
