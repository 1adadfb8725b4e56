"""Rates: what a device and its host reach inside a training, driven by some software."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from foretrain.cluster.device import Device
from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.device import FusedAttention, KernelTraffic
from foretrain.step.picture_rates import (
    FP32_BYTES,
    GRAPHS,
    PictureRates,
    cores_of,
    memory_rate,
    picture_rates,
)
from foretrain.step.work import best_share, peak
from foretrain.trainers.software import SHARED, AttentionKernel, Execution, Software
from foretrain.workload.workload import Precision

CALLS = 4.0
"""Calls of a framework for an operator of a transformer, where an interpreter makes them: those
that split, turn and lay out its operands among them. A layer of 13 operators makes 51 forward.

Source: validation/device/host.py.
"""


A_CLOCK: Final = ((10.3, 32.0), (6.0, 16.0))
"""Exponentials that a processor takes in a clock from a compute capability on, the latest first.

Source: NVIDIA, CUDA C++ programming guide, throughput of arithmetic instructions; blog of Blackwell
Ultra (twice as many; from memory).
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
        exponential: FLOP of units in the time of an exponential; 0 where nobody says.
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
    exponential: float = 0.0
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
        unfused=_unfused(traffic, software),
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
        exponential=flop_of_one(device, wide),
        pictures=picture_rates(device, precision, coefficients, software=software),
    )


def _unfused(traffic: KernelTraffic, software: Software) -> float:
    """Kernels between products, and what they move, over what fused ones do."""
    moves = {
        Execution.EAGER: traffic.eager,
        Execution.GRAPH: traffic.graph,
        Execution.COMPILED: traffic.compiled,
    }
    return moves.get(software.execution, 1.0)


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


def flop_of_one(device: Device, top: float) -> float:
    """FLOP that units do while one exponential is taken; 0 where nobody says.

    Attention takes one for every pair of a query and a key, on units that have not become quicker
    while those of matrices have: 128 FLOP on an A100, 512 on a B200.

    Args:
        device: with a compute capability, or nothing is known.
        top: FLOP/s of its units.
    """
    cores, capability = cores_of(device), device.compute_capability or 0.0
    taken = next((each for first, each in A_CLOCK if capability >= first), None)
    if cores is None or taken is None:
        return 0.0
    return 2.0 * cores * top / device.peak.fp32 / taken
