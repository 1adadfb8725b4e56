"""Classes of runs whose errors are told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from foretrain.measured.run import MeasuredRun

HYBRIDS = ("nemotron_3", "nemotron-3", "nemotron-h", "nemotronh")
LOW_PRECISION = ("fp8", "fp4")


def is_hybrid(run: MeasuredRun) -> bool:
    """Whether some layers are state-space models."""
    return run.network.name.lower().startswith(HYBRIDS)


def is_of_experts(run: MeasuredRun) -> bool:
    """Whether it is a mixture of experts, without state-space layers."""
    experts = run.network.experts is not None or "moe" in run.network.family
    return experts and not is_hybrid(run)


def is_low_precision(run: MeasuredRun) -> bool:
    """Whether matrix products have 8 or 4 bits."""
    words = f"{run.precision} {run.linear_precision}".lower()
    return any(bits in words for bits in LOW_PRECISION)


def is_told(run: MeasuredRun) -> bool:
    """Whether the source states shape, plan, sequence and precision, as far as it must."""
    network, layout = run.network, run.layout
    shape = (network.layers, network.hidden, network.heads, network.sequence)
    degrees = (layout.tensor, layout.pipeline, layout.data)
    follows = run.place.devices is not None and degrees.count(None) <= 1
    return None not in shape and follows and bool(run.precision)


def is_dense_and_told(run: MeasuredRun) -> bool:
    """Whether it is a dense model of which the source states everything that decides the time."""
    return not is_of_experts(run) and not is_hybrid(run) and is_told(run)


CLASSES: Mapping[str, Callable[[MeasuredRun], bool]] = MappingProxyType(
    {
        "all": lambda run: not is_hybrid(run),
        "dense, all stated": lambda run: is_dense_and_told(run) and not is_low_precision(run),
        "experts": lambda run: is_of_experts(run) and not is_low_precision(run),
        "dense, all stated, fp8 and fp4": lambda run: (
            is_dense_and_told(run) and is_low_precision(run)
        ),
        "experts, fp8 and fp4": lambda run: is_of_experts(run) and is_low_precision(run),
        "hybrids": is_hybrid,
    }
)
"""Every class by name: low precision and state-space layers stand apart."""
