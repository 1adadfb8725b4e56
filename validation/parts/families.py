"""Families of software and generations of devices: what is left out whole to judge predictions.

A run of a trainer that we know says little of one that we do not: so all rows of a family are
predicted by coefficients that none of them was fitted to, and likewise all rows of a generation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from foretrain.measured.run import MeasuredRun

BENCHMARK: Final = re.compile(r"^mlperf-")
"""Sources whose runs are of one code, whatever their framework is called."""

FAMILIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "megatron-deepspeed": r"megatron-deepspeed|megatron\+deepspeed",
        "megatron": r"megatron-bridge|megatron-core|nemo|^megatron-lm",
        "hugging-face": r"^hf trainer|peft|torchtune",
        "oneflow-paddle-mxnet": r"oneflow|paddle|mxnet|mindspore",
        "tensorflow": r"tensorflow",
        "jax": r"jax|maxtext|^pax",
        "pytorch": r"torch|composer|fsdp|deepspeed|litgpt|timm",
        "before": r"caffe|cudnn|cudaconvnet|neon|chainer|fbfft|cl-nn",
    }
)
"""Families by what the framework of a row is called, in lower case; the first that is found."""

GENERATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "blackwell": r"\b(G?B[23]00)",
        "hopper": r"\b(GH200|H[128]00|H200|H20)\b",
        "ampere": r"\bA\d+|30[6-9]0|RTX A\d",
        "volta": r"V100|Titan V",
        "turing": r"T4|20[78]0|RTX [68]000|Quadro",
        "older": r"K[48]0|P100|P40|M40|10[78]0|[Tt]itan",
        "tpu": r"TPU",
    }
)
"""Generations by what the device of a row is called; the first that is found."""


def family_of(run: MeasuredRun) -> str:
    """The family of a run's software; `others` where its name tells nothing."""
    if BENCHMARK.match(run.source_id):
        return "mlperf"
    return _first(FAMILIES, run.framework.lower())


def generation_of(run: MeasuredRun) -> str:
    """The generation of a run's device; `others` where its name tells nothing.

    Rows that name no device are of the publisher whose devices stand for theirs: V100.
    """
    return _first(GENERATIONS, run.place.device or "V100")


def kinds_of(run: MeasuredRun) -> frozenset[str]:
    """What a run is left out with beside its publisher, as the names of the sets say."""
    return frozenset({f"software/{family_of(run)}", f"generation/{generation_of(run)}"})


def model_of(run: MeasuredRun) -> str:
    """What a run is left out with where its model is, as the name of the set says."""
    return f"model/{_slug(run.network.name)}"


def precision_of(run: MeasuredRun) -> str:
    """The same where its precision is."""
    return f"precision/{_slug(run.precision or 'not stated')}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


def _first(patterns: Mapping[str, str], text: str) -> str:
    return next((name for name, each in patterns.items() if re.search(each, text)), "others")
