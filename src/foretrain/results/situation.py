"""Situations: what makes a prediction easy or hard, as far as its width depends on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a prediction was made for.

    Attributes:
        device: name of the accelerator.
        devices: how many.
        parameters: of the model.
        sharded: whether replicas share the parameters.
        divided: whether a copy of the model lies on several devices.
        experts: whether tokens are sent to experts.
        narrow: whether matrix products have 8 or 4 bits.
        wide: whether they have 32.
        unfused: whether attention runs without a fused kernel.
        pictures: whether samples are images.
        sample: what a sample is: tokens, pictures, volumes, signals or numbers.
        multiplied: share of the model's parameters that products of matrices use.
        vague: factor by which the width is larger because the model is known by its totals only.
        assumed: defaults that stand for what the source does not state.
        host_bound: share of the passes' time that the host needs to start their kernels, at most 1.
        lower: logarithm of the predicted time over that of the quickest plan that may be meant.
        higher: the same of the slowest over the predicted time.
    """

    device: str
    devices: int
    parameters: float
    sharded: bool = False
    divided: bool = False
    experts: bool = False
    narrow: bool = False
    wide: bool = False
    unfused: bool = False
    pictures: bool = False
    sample: str = "tokens"
    multiplied: float = 1.0
    vague: float = 1.0
    assumed: int = 0
    host_bound: float = 0.0
    lower: float = 0.0
    higher: float = 0.0
