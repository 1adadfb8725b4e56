"""How software executes a plan: one kernel after another, as a compiled graph, or hand-tuned."""

from __future__ import annotations

from enum import StrEnum


class Execution(StrEnum):
    """Kinds of training software, by how kernels come about and how they are launched."""

    EAGER = "eager"
    """One operator after another from Python, each its own kernel: PyTorch without compiling."""
    GRAPH = "graph"
    """A graph known before it runs: fewer and fused kernels, launched without Python."""
    TUNED = "tuned"
    """Kernels fused by hand for transformers or for a benchmark, launches kept off the way."""


class AttentionKernel(StrEnum):
    """Generations of fused attention kernels.

    Source: dao2022; dao2023; shah2024; transformer-engine (cuDNN).
    """

    FIRST = "1"
    SECOND = "2"
    THIRD = "3"
    CUDNN = "cudnn"
