"""Training: the data set, the evaluations between the steps, and a batch that grows.

Workloads: what is learned. Nothing here may depend on how it is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.workload.gradients import FP32, GradientCodec
from foretrain.workload.graph import Model

Number = TypeVar("Number", float, NDArray[np.float64])


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """The data set.

    Attributes:
        samples: samples of one epoch.
        sample_bytes: bytes of one sample as it is stored; None if not known.
        prepare: seconds that one host core needs to make one sample ready; None if not known.
    """

    samples: float
    sample_bytes: float | None = None
    prepare: float | None = None

    def __post_init__(self) -> None:
        if not self.samples > 0:
            raise InputError(f"Data.samples must be above 0, got {self.samples}.")
        for name in ("sample_bytes", "prepare"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"Data.{name} must be at least 0, got {value}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Forward passes over held-out samples, again and again.

    Attributes:
        every: samples that are trained between two evaluations.
        samples: samples of one evaluation.
    """

    every: float
    samples: float

    def __post_init__(self) -> None:
        for name in ("every", "samples"):
            if not getattr(self, name) > 0:
                raise InputError(f"Evaluation.{name} must be above 0, got {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRamp:
    """A batch that grows in equal increments to the global batch.

    Attributes:
        start: samples of the first step.
        increment: samples by which the batch grows.
        samples: trained samples after which it has its full size; each size takes an equal part.
    """

    start: int
    increment: int
    samples: float

    def __post_init__(self) -> None:
        for name in ("start", "increment", "samples"):
            if not getattr(self, name) > 0:
                raise InputError(f"BatchRamp.{name} must be above 0, got {getattr(self, name)}.")

    def reaches(self, global_batch: int) -> bool:
        """Whether the batch grows to this one in whole increments."""
        rest = global_batch - self.start
        return rest >= 0 and rest % self.increment == 0


class Precision(StrEnum):
    """The precision of matrix products; activations and working weights have at least 16 bits."""

    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    """One scale per matrix, known from the steps before (delayed). Source: micikevicius2022."""
    FP8_CURRENT = "fp8-current"
    """One scale per matrix, sought in it before it is made narrow. Source: transformer-engine."""
    FP8_BLOCK = "fp8-block"
    """Four bytes of scale per 128 values. Source: deepseek2024v3, section 3.3.2."""
    MXFP8 = "mxfp8"
    """One byte of scale per 32 values. Source: ocp-mx, section 5."""
    NVFP4 = "nvfp4"
    """One byte of scale per 16 values. Source: nvidia-nvfp4."""

    @property
    def peak(self) -> str:
        """The field of `cluster.device.Peak` with the FLOP/s of its products."""
        fours = {Precision.NVFP4: "fp4"}
        return fours.get(self, "fp8" if self in EIGHT_BITS else self.value)

    @property
    def value_bytes(self) -> float:
        """Bytes of one activation or one working weight."""
        return 4.0 if self in (Precision.FP32, Precision.TF32) else 2.0

    @property
    def product_bytes(self) -> float:
        """Bytes of one value that a matrix product reads, its part of a scale included."""
        narrow = {
            Precision.FP8: 1.0,
            Precision.FP8_CURRENT: 1.0,
            Precision.FP8_BLOCK: 1.0 + 4.0 / 128,
            Precision.MXFP8: 1.0 + 1.0 / 32,
            Precision.NVFP4: 0.5 + 1.0 / 16,
        }
        return narrow.get(self, self.value_bytes)

    @property
    def cast_bytes(self) -> float:
        """Bytes moved to make one value ready for a product; 0 where products read it as it is.

        A narrow value is read at the precision of activations and written once for each of the two
        products that it meets, which sum over different dimensions. A scale of the whole matrix
        that is sought in it takes another reading; four bits need one besides those of blocks.
        Source: transformer-engine.
        """
        sought = self in (Precision.FP8_CURRENT, Precision.NVFP4)
        reads = 2.0 if sought else 1.0
        narrow = self.product_bytes < self.value_bytes
        return reads * self.value_bytes + 2.0 * self.product_bytes if narrow else 0.0

    @property
    def cast_kernels(self) -> int:
        """Kernels that make one matrix narrow.

        A scale of the whole matrix is sought before, unless it is known from steps before; scales
        of blocks of 32 and 16 are laid out anew for each of the two products.

        Source: transformer-engine (from memory).
        """
        kernels = {
            Precision.FP8: 1,
            Precision.FP8_CURRENT: 2,
            Precision.FP8_BLOCK: 1,
            Precision.MXFP8: 3,
            Precision.NVFP4: 4,
        }
        return kernels.get(self, 0)

    @property
    def cast_calls(self) -> int:
        """Calls of the host for it: the kernels, and room for values and scales for both products.

        Four tensors and one that stands for them, each as much work for an interpreter as the start
        of a kernel. Source: transformer-engine (from memory).
        """
        return self.cast_kernels + 5 if self.cast_kernels else 0

    @property
    def master_bytes(self) -> float:
        """Bytes of the fp32 copy of a weight that a 16-bit optimizer updates."""
        return 4.0 if self.value_bytes < 4.0 else 0.0

    @property
    def gradient_bytes(self) -> float:
        """Bytes of one gradient; 16-bit training accumulates and reduces them in fp32.

        Source: korthikanti2022, section 4.1 (18 bytes per parameter with Adam in all).
        """
        return 4.0


EIGHT_BITS = frozenset({Precision.FP8, Precision.FP8_CURRENT, Precision.FP8_BLOCK, Precision.MXFP8})
"""Precisions of products in eight bits, by recipe."""


class Optimizer(StrEnum):
    """How gradients become updates."""

    SGD = "sgd"
    MOMENTUM = "momentum"
    LARS = "lars"
    """Momentum with a rate of its own for each layer. Source: you2017."""
    LION = "lion"
    """One moment, whose sign is the update. Source: chen2023."""
    ADAGRAD = "adagrad"
    """The sum of squared gradients. Source: duchi2011."""
    MUON = "muon"
    """One moment, made orthogonal by products that are not priced: at most 30 x rows FLOP per
    parameter and step, below 1 % of a step of a million tokens or more. Source: jordan2024."""
    ADAM = "adam"
    ADAMW = "adamw"
    LAMB = "lamb"
    """Adam with a rate of its own for each layer. Source: you2020."""
    ADAMW_16BIT = "adamw-16bit"
    """Both moments in bf16. Source: deepseek2024v3, section 3.3.3."""
    ADAMW_8BIT = "adamw-8bit"
    """Both moments in 8 bits, with an fp32 scale per block of 2048. Source: dettmers2022."""
    ADAFACTOR = "adafactor"
    """Row and column sums of the second moment: next to nothing. Source: shazeer2018."""

    @property
    def state_bytes(self) -> float:
        """Bytes of state per parameter, the master copy apart."""
        return _STATE_BYTES[self]

    @property
    def root_bytes(self) -> float:
        """Bytes per parameter of the root of a second moment; 0 where there is none."""
        return self.state_bytes / 2 if self in _TWO_MOMENTS else 0.0


_STATE_BYTES = {
    Optimizer.SGD: 0.0,
    Optimizer.ADAFACTOR: 0.0,
    Optimizer.ADAMW_16BIT: 2 * 2.0,
    Optimizer.ADAMW_8BIT: 2 * (1 + 4 / 2048),
    **dict.fromkeys(
        (Optimizer.MOMENTUM, Optimizer.LARS, Optimizer.LION, Optimizer.ADAGRAD, Optimizer.MUON), 4.0
    ),
    **dict.fromkeys((Optimizer.ADAM, Optimizer.ADAMW, Optimizer.LAMB), 8.0),
}

_TWO_MOMENTS = frozenset(
    {
        *(Optimizer.ADAM, Optimizer.ADAMW, Optimizer.LAMB),
        *(Optimizer.ADAMW_16BIT, Optimizer.ADAMW_8BIT),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is learned, and how much of it.

    Attributes:
        model: the network, for the samples of this workload.
        global_batch: samples per step.
        precision: of matrix products and activations.
        optimizer: how gradients become updates.
        gradients: the form in which gradients are added up and sent.
        master_copy: whether weights of 16 bits have an fp32 copy, which the optimizer updates.
        samples: samples of the whole training; None when the amount is not given.
        data: the data set; None when it is not described.
        evaluation: what is evaluated between steps; None for nothing.
        ramp: how the batch grows to `global_batch`; None if it is full from the first step on.
    """

    model: Model
    global_batch: int
    precision: Precision = Precision.BF16
    optimizer: Optimizer = Optimizer.ADAMW
    gradients: GradientCodec = FP32
    master_copy: bool = True
    samples: float | None = None
    data: Data | None = None
    evaluation: Evaluation | None = None
    ramp: BatchRamp | None = None

    def __post_init__(self) -> None:
        if not self.global_batch >= 1:
            raise InputError(
                f"Workload.global_batch must be at least 1 sample, got {self.global_batch}."
            )
        if self.samples is not None and not self.samples > 0:
            raise InputError(f"Workload.samples must be above 0, got {self.samples}.")
        if self.ramp is not None and not self.ramp.reaches(self.global_batch):
            raise InputError(
                f"Workload.ramp: {self.ramp.start} samples do not grow to the global batch of "
                f"{self.global_batch} by {self.ramp.increment} at a time."
            )

    def micro_batches(self, data: Number, micro_batch: Number) -> Number:
        """Passes of a micro-batch through each of the replicas per step. [as given]"""
        return self.global_batch / (data * micro_batch)

    @property
    def master_bytes(self) -> float:
        """Bytes of the fp32 copy of a weight that the optimizer updates; 0 where it has none."""
        return self.precision.master_bytes if self.master_copy else 0.0

    @property
    def epoch_samples(self) -> float | None:
        """Samples of one epoch; None when the data set is not described."""
        return None if self.data is None else self.data.samples
