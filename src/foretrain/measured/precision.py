"""The precision of a measured run, from the words of its source.

Gradients of a measured run: the form in which they are added up and sent, and when.

What a source counts as memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from foretrain.cluster.device import Device
from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered
from foretrain.measured.policies import MEGATRON, OVERLAP_SINCE, by_bridge
from foretrain.measured.run import MeasuredRun, Subject
from foretrain.measured.software import by_litgpt
from foretrain.workload.gradients import CODECS, FP32, GradientCodec
from foretrain.workload.workload import Precision

PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        "fp16": Precision.FP16,
        "fp16 mixed": Precision.FP16,
        "fp16 amp": Precision.FP16,
        "fp16 storage": Precision.FP16,
        "amp": Precision.FP16,
        "bf16": Precision.BF16,
        "bf16 mixed": Precision.BF16,
        "bf16-true": Precision.BF16,
        "tf32": Precision.TF32,
        "fp32": Precision.FP32,
        "fp8": Precision.FP8,
        "fp8-cs": Precision.FP8,
        "fp8 (transformer engine hybrid), bf16-mixed": Precision.FP8,
        "fp8-mx": Precision.MXFP8,
        "mxfp8": Precision.MXFP8,
        "nvfp4": Precision.NVFP4,
    }
)
"""Current scaling (`fp8-cs`) has one scale per matrix, as delayed scaling has."""

CONTAINERS = "(ngc)"


def precision_of(run: MeasuredRun, device: Device, assumptions: Assumptions) -> Precision:
    """The precision that a row states, or the usual one of its device.

    Raises:
        NotCovered: a precision that foretrain does not know.
    """
    words = run.precision.lower().partition(" + ")[0]
    if words:
        if words not in PRECISIONS:
            raise NotCovered(f"precision '{run.precision}' is not covered")
        written = PRECISIONS[words]
        if written is Precision.FP16 and device.peak.fp16 is None:
            return assumptions.take(defaults.HALF_STORAGE)
        automatic = CONTAINERS in run.framework.lower() and device.peak.tf32 is not None
        if written is Precision.FP32 and automatic:
            return assumptions.take(defaults.TF32_AS_FP32)
        return written
    if run.subject is Subject.ACTIVATION_SHARE:
        return assumptions.take(defaults.SIXTEEN_BIT)
    if run.linear_precision == Precision.FP8:
        return assumptions.take(defaults.FP8_OF_MLPERF)
    brain = device.peak.bf16 is not None
    return assumptions.take(defaults.BRAIN_FLOAT if brain else defaults.HALF_FLOAT)


PURE = "bf16-true"
"""Weights, gradients and moments all in bf16. Source: litgpt."""

HALF = "fp16"


def gradients_of(run: MeasuredRun, assumptions: Assumptions) -> GradientCodec:
    """How gradients are held and sent; in fp32 where nothing else is known."""
    if run.precision.startswith(PURE):
        return CODECS["bf16"]
    if by_bridge(run):
        return assumptions.take(defaults.HALF_GRADIENTS)
    if not run.precision.startswith(HALF):
        return FP32
    if "deepspeed" in run.framework.lower():
        return assumptions.take(defaults.FP16_GRADIENTS)
    return assumptions.take(defaults.HALF_MESSAGES) if _by_early_megatron(run) else FP32


def reduces_late(run: MeasuredRun) -> bool:
    """Whether gradients of text are reduced after all passes, none beside them.

    Megatron-LM reduced them so until its optimizer learned to overlap in 2023. TensorFlow hands XLA
    a backward pass as one program, whose results are there at its end, and NVIDIA's examples add
    micro-batches up before Horovod is asked (from memory).
    """
    return _by_early_megatron(run) or run.framework.lower().startswith("tensorflow")


def _by_early_megatron(run: MeasuredRun) -> bool:
    name = run.framework.lower()
    return any(each in name for each in MEGATRON) and (run.year or OVERLAP_SINCE) < OVERLAP_SINCE


OWN_RUNS = "own-"
"""How the sources of our own recordings start."""


def counts_allocated(run: MeasuredRun) -> bool:
    """Whether it is what PyTorch's allocator handed out, without what it holds or what is outside.

    LitGPT prints `torch.cuda.max_memory_allocated()` (source: litgpt), and our recorder does too.
    """
    return by_litgpt(run) or run.source_id.startswith(OWN_RUNS)
