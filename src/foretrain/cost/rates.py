"""Rates: what a device and its host reach inside a training, driven by some software."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.cluster.device import Device
from foretrain.coefficients.attention import FusedAttention
from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.picture_rates import PictureRates, picture_rates
from foretrain.cost.products import best_share
from foretrain.errors import InputError
from foretrain.plan.execution import AttentionKernel, Execution
from foretrain.plan.software import SHARED, Software
from foretrain.workload.workload import Precision

FP32_BYTES = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What one device reaches inside a training.

    Attributes:
        matmul: FLOP/s of large matrix products of activations.
        narrow: FLOP/s of products with weights over those; above 1 where they read fewer bits.
        flash_forward: FLOP/s of fused attention, forward.
        flash_backward: the same, backward.
        memory: bytes per second.
        launch: seconds in which the host starts a kernel.
        gap: seconds lost between two kernels.
        unfused: kernels, and what they move, over what fused ones do.
        widened: bytes of what they move over those of activations.
        units: tiles that run side by side.
        pictures: what kernels over pictures reach.
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
    gap: float
    unfused: float
    widened: float
    units: float
    pictures: PictureRates
    casts: float = 0.0
    cast_calls: float = 0.0
    each: bool = False
    sorts: float = 1.0
    reached: tuple[float, float, float] = (1.0, 1.0, 1.0)


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
    waits = {Execution.EAGER: host.launch, Execution.GRAPH: host.graph_launch}
    moves = {
        Execution.EAGER: coefficients.traffic.eager,
        Execution.GRAPH: coefficients.traffic.graph,
    }
    launch = 0.0 if software.graphs else waits.get(software.execution, host.launch)
    return Rates(
        matmul=wide * _product_share(device, precision, coefficients) / slower,
        narrow=top / wide * kept.get(precision.peak, 1.0),
        flash_forward=flash,
        flash_backward=flash * coefficients.attention.backward,
        memory=device.memory_bandwidth * traffic.sustained / slower,
        launch=launch * slower,
        gap=host.gap * slower,
        unfused=moves.get(software.execution, 1.0),
        widened=_widened(precision, coefficients, software),
        casts=float(precision.cast_kernels),
        cast_calls=float(precision.cast_calls),
        each=not software.grouped,
        sorts=_sorts(precision, software),
        reached=(1.0, traffic.stretched, traffic.scanned),
        units=float(device.units),
        pictures=picture_rates(device, precision, coefficients, software=software),
    )


def _widened(precision: Precision, coefficients: Coefficients, software: Software) -> float:
    """Bytes that kernels move over those of activations, where some work in 4 bytes.

    Source: micikevicius2018, section 3.3.
    """
    if software.execution is Execution.TUNED:
        return 1.0
    return 1.0 + coefficients.traffic.wide * (FP32_BYTES / precision.value_bytes - 1.0)


def _sorts(precision: Precision, software: Software) -> float:
    """Times that rows are moved between the exchange and the products of experts.

    Copies are sorted before they are sent and again where they arrive; tokens that go once, only
    there. Blocks of narrow values are whole: rows of an expert that has kernels of its own are
    filled up by one more copy. Source: megatron-core (from memory).
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
