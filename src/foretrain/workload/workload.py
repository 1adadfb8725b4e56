"""Workloads: what is learned. Nothing here may depend on how it is run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foretrain.errors import InputError
from foretrain.workload.graph import Model


class Precision(StrEnum):
    """The precision of matrix products."""

    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"

    @property
    def value_bytes(self) -> float:
        """Bytes of one activation or one working weight."""
        return 2.0 if self in (Precision.FP16, Precision.BF16) else 4.0

    @property
    def master_bytes(self) -> float:
        """Bytes of the fp32 copy of a weight that a 16-bit optimizer updates."""
        return 4.0 if self in (Precision.FP16, Precision.BF16) else 0.0

    @property
    def gradient_bytes(self) -> float:
        """Bytes of one gradient; 16-bit training accumulates and reduces them in fp32.

        Source: korthikanti2022, section 4.1 (18 bytes per parameter with Adam in all).
        """
        return 4.0


class Optimizer(StrEnum):
    """How gradients become updates."""

    SGD = "sgd"
    MOMENTUM = "momentum"
    ADAM = "adam"
    ADAMW = "adamw"

    @property
    def state_bytes(self) -> float:
        """Bytes of fp32 state per parameter, the master copy apart."""
        return {Optimizer.SGD: 0.0, Optimizer.MOMENTUM: 4.0}.get(self, 8.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is learned, and how much of it.

    Attributes:
        model: the network, for the samples of this workload.
        global_batch: samples per step.
        precision: of matrix products and activations.
        optimizer: how gradients become updates.
        samples: samples of the whole training; None when the amount is not given.
        epoch_samples: samples of one epoch; None when the data set is not described.
    """

    model: Model
    global_batch: int
    precision: Precision = Precision.BF16
    optimizer: Optimizer = Optimizer.ADAMW
    samples: float | None = None
    epoch_samples: float | None = None

    def __post_init__(self) -> None:
        if not self.global_batch >= 1:
            raise InputError(
                f"Workload.global_batch must be at least 1 sample, got {self.global_batch}."
            )
        for name in ("samples", "epoch_samples"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"Workload.{name} must be above 0, got {value}.")
