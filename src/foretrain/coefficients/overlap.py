"""Overlap: what may run beside compute."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Overlap: what may run beside compute.

    Attributes:
        gradients: share of the gradients' reduction that may run beside the backward pass.
        contention: share of a hidden exchange of parameters by which it slows compute beside it.
        tensor: share of the tensor axis' exchanges that may run beside the products they belong to.
        experts: share of the exchanges of experts that may run beside other compute of the layer.
    """

    gradients: float
    contention: float
    tensor: float
    experts: float
