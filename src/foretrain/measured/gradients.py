"""Gradients of a measured run: the form in which they are added up and sent, and when."""

from __future__ import annotations

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions
from foretrain.measured.policies import MEGATRON, OVERLAP_SINCE, by_bridge
from foretrain.measured.run import MeasuredRun
from foretrain.workload.gradients import CODECS, FP32, GradientCodec

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
