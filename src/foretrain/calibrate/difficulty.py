"""Difficulty: what makes a prediction less sure, as numbers that are 0 in an easy case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import log
from types import MappingProxyType

from foretrain.coefficients.covers import Covers
from foretrain.results.situation import Situation

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "sharded": "parameters shared among replicas",
        "divided": "a model on several devices",
        "experts": "mixtures of experts",
        "narrow": "products of 8 or 4 bits",
        "wide": "products of 32 bits",
        "unfused": "attention without a fused kernel",
        "pictures": "networks of images",
    }
)
"""Kinds of runs, fields of `Situation`, in words."""

ENOUGH = 5
"""Runs without which a device does not count as covered."""


def _kind(name: str) -> Callable[[Situation, Covers], float]:
    return lambda situation, _covers: float(getattr(situation, name))


def beyond(value: float, ends: tuple[float, float]) -> float:
    """Logarithm of how far a value lies outside of a range; 0 inside."""
    least, most = ends
    return max(0.0, log(value / most) if most > 0 else 0.0, log(least / value) if least > 0 else 0)


FEATURES: Mapping[str, Callable[[Situation, Covers], float]] = MappingProxyType(
    {
        "device": lambda situation, covers: float(situation.device not in covers.devices),
        **{name: _kind(name) for name in KINDS},
        "sample": lambda situation, covers: float(situation.sample not in covers.samples),
        "unseen": lambda situation, covers: float(len(_unseen(situation, covers))),
        "assumed": lambda situation, _covers: float(situation.assumed),
        "host_bound": lambda situation, _covers: situation.host_bound,
        "size": lambda situation, covers: beyond(situation.parameters, covers.parameters),
        "count": lambda situation, covers: beyond(situation.devices, covers.counts),
    }
)
"""Every feature under the name of its widening in `Uncertainty`."""


def covered(situations: Sequence[Situation]) -> Covers:
    """What some runs cover."""
    devices = Counter(it.device for it in situations)
    sizes, counts = [[it.parameters for it in situations], [it.devices for it in situations]]
    return Covers(
        devices=frozenset(name for name, runs in devices.items() if runs >= ENOUGH),
        parameters=(min(sizes), max(sizes)),
        counts=(min(counts), max(counts)),
        kinds=frozenset(name for name in KINDS if any(getattr(it, name) for it in situations)),
        samples=frozenset(it.sample for it in situations),
        multiplied=min(it.multiplied for it in situations),
    )


def outside(situation: Situation, covers: Covers) -> tuple[str, ...]:
    """In what a case is unlike all runs that were fitted to, in words; nothing if in no respect."""
    told = [f"no run on {situation.device}"] if situation.device not in covers.devices else []
    told += [f"no run of {KINDS[name]}" for name in _unseen(situation, covers)]
    if situation.vague > 1.0:
        told.append("no run of a model that is known by its totals only")
    if situation.sample not in covers.samples:
        told.append(f"no run whose samples are {situation.sample}")
    if beyond(situation.parameters, covers.parameters):
        told.append("no run of a model of this size")
    if beyond(situation.devices, covers.counts):
        told.append("no run on that many devices")
    return tuple(told)


def _unseen(situation: Situation, covers: Covers) -> tuple[str, ...]:
    return tuple(name for name in KINDS if getattr(situation, name) and name not in covers.kinds)
