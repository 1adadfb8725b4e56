"""Intervals: how far from a prediction the measured time may lie, and which runs are most like it.

The width of an interval to either side, in logarithms, is that of an easy case times a factor for
everything that makes a case harder: the difficulties of its situation, numbers that are 0 in an
easy case. `validation/fitting/lessons.py` says how both are learned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from math import exp, expm1, hypot, log, sqrt
from types import MappingProxyType

from foretrain.coefficients.uncertainty import Covers, Fitted, Uncertainty


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a prediction was made for.

    Attributes:
        device: name of the accelerator.
        devices: how many.
        parameters: of the model.
        software: family of the trainer; empty where nobody says which it is.
        sharded: whether replicas share the parameters.
        divided: whether a copy of the model lies on several devices.
        experts: whether tokens are sent to experts.
        narrow: whether matrix products have 8 or 4 bits.
        wide: whether they have 32.
        unfused: whether attention runs without a fused kernel.
        pictures: whether samples are images.
        shared_pictures: whether devices share the pixels or the channels of one.
        sample: what a sample is: tokens, pictures, volumes, signals or numbers.
        multiplied: share of the model's parameters that products of matrices use.
        vague: factor by which the width is larger because the model's structure is not known.
        known_by: what it is known by then, in words.
        assumed: defaults that stand for what the source does not state.
        host_bound: share of the passes' time that the host needs to start their kernels, at most 1.
        lower: logarithm of the predicted time over that of the quickest plan that may be meant.
        higher: the same of the slowest over the predicted time.
    """

    device: str
    devices: int
    parameters: float
    software: str = ""
    sharded: bool = False
    divided: bool = False
    experts: bool = False
    narrow: bool = False
    wide: bool = False
    unfused: bool = False
    pictures: bool = False
    shared_pictures: bool = field(default=False, metadata={"if_set": True})
    sample: str = "tokens"
    multiplied: float = 1.0
    vague: float = 1.0
    known_by: str = field(default="", repr=False)
    assumed: int = 0
    host_bound: float = 0.0
    lower: float = 0.0
    higher: float = 0.0


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

RARE: Mapping[str, str] = MappingProxyType(
    {"shared_pictures": "networks of images divided by pixels or channels"}
)
"""Kinds without a width of their own, which count as unseen until runs of them are fitted to."""

EVERY: Mapping[str, str] = MappingProxyType({**KINDS, **RARE})

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
        "software": lambda situation, covers: float(situation.software not in covers.software),
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
    software = Counter(it.software for it in situations)
    sizes, counts = [[it.parameters for it in situations], [it.devices for it in situations]]
    return Covers(
        devices=frozenset(name for name, runs in devices.items() if runs >= ENOUGH),
        software=frozenset(name for name, runs in software.items() if name and runs >= ENOUGH),
        parameters=(min(sizes), max(sizes)),
        counts=(min(counts), max(counts)),
        kinds=frozenset(name for name in EVERY if any(getattr(it, name) for it in situations)),
        samples=frozenset(it.sample for it in situations),
        multiplied=min(it.multiplied for it in situations),
    )


def outside(situation: Situation, covers: Covers) -> tuple[str, ...]:
    """In what a case is unlike all runs that were fitted to, in words; nothing if in no respect."""
    told = [f"no run on {situation.device}"] if situation.device not in covers.devices else []
    if situation.software and situation.software not in covers.software:
        told.append(f"no run of {situation.software}")
    told += [f"no run of {EVERY[name]}" for name in _unseen(situation, covers)]
    if situation.vague > 1.0:
        told.append(f"no run of a model that is known by {situation.known_by}")
    if situation.sample not in covers.samples:
        told.append(f"no run whose samples are {situation.sample}")
    if beyond(situation.parameters, covers.parameters):
        told.append("no run of a model of this size")
    if beyond(situation.devices, covers.counts):
        told.append("no run on that many devices")
    return tuple(told)


def _unseen(situation: Situation, covers: Covers) -> tuple[str, ...]:
    return tuple(name for name in EVERY if getattr(situation, name) and name not in covers.kinds)


LEVEL = 0.8
"""Share of measured times that an interval is to hold: from the 10th to the 90th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """An interval around a prediction.

    Attributes:
        low_factor: its lower end over the prediction.
        high_factor: its upper end over the prediction.
        inside: whether runs like this one were fitted to.
        reason: what is unlike them; empty if nothing is.
    """

    low_factor: float
    high_factor: float
    inside: bool
    reason: str


def spread(situation: Situation, uncertainty: Uncertainty, covers: Covers) -> Spread:
    """The interval of a prediction.

    Args:
        situation: what was predicted.
        uncertainty: how wide intervals are.
        covers: what the predictions' coefficients were fitted to.
    """
    slower = width(situation, uncertainty, covers)
    unlike = outside(situation, covers)
    return Spread(
        low_factor=exp(-hypot(slower * uncertainty.quicker, situation.lower)),
        high_factor=exp(hypot(slower, situation.higher)),
        inside=not unlike,
        reason="; ".join(unlike),
    )


def width(situation: Situation, uncertainty: Uncertainty, covers: Covers) -> float:
    """How far up the interval reaches, as a logarithm, where the plan is known exactly.

    What makes a case harder errs on its own account: variances add up.
    """
    added = (
        expm1(2.0 * getattr(uncertainty, name) * feature(situation, covers))
        for name, feature in FEATURES.items()
    )
    return uncertainty.time * situation.vague * sqrt(1.0 + sum(added))


def after_anchor(uncertainty: Uncertainty) -> Uncertainty:
    """The same once a measured run has moved the factor of its framework."""
    return replace(uncertainty, time=uncertainty.anchored, quicker=uncertainty.anchored_quicker)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Measured runs that are like a prediction.

    Attributes:
        id: of one of them.
        run: what ran on what.
        rows: how many such runs one source has.
        differs: in what they differ from what is predicted, in words; empty if in nothing known.
        error: median of predicted / measured less 1, without the publisher's rows in the fit.
    """

    id: str
    run: str
    rows: int
    differs: tuple[str, ...]
    error: float


MOST = 3
"""Runs that are named."""

TENFOLD = log(10.0)
"""A factor of ten in size or number makes runs as unlike as another device does."""

SAMPLE = 4.0
"""What another kind of sample counts beside another device: its kernels are others."""

NOTED = 1.5
"""Ratio of two sizes below which they count as the same."""


def nearest(situation: Situation, covers: Covers) -> tuple[Nearest, ...]:
    """Runs that a set was fitted to, those most like a prediction first.

    Of runs that are equally like it those of which there are more come first.
    """
    kinds = _kinds(situation)
    ranked = nsmallest(
        MOST, covers.runs, key=lambda run: (_distance(situation, run, kinds), -run.rows, run.id)
    )
    return tuple(_named(situation, run) for run in ranked)


def _distance(situation: Situation, run: Fitted, kinds: frozenset[str]) -> float:
    """How unlike a run is; 1 for another device."""
    return (
        SAMPLE * (run.sample != situation.sample)
        + (run.device != situation.device)
        + len(kinds ^ run.kinds)
        + abs(log(run.parameters / situation.parameters)) / TENFOLD
        + beyond(situation.devices, run.devices) / TENFOLD
    )


def _kinds(situation: Situation) -> frozenset[str]:
    return frozenset(name for name in KINDS if getattr(situation, name))


def _named(situation: Situation, run: Fitted) -> Nearest:
    fewest, most = run.devices
    many = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return Nearest(
        id=run.id,
        run=f"{run.model} on {many} {run.device}",
        rows=run.rows,
        differs=tuple(_differences(situation, run)),
        error=run.error,
    )


def _differences(situation: Situation, run: Fitted) -> Iterator[str]:
    """In what a run differs from a prediction, in words."""
    if run.sample != situation.sample:
        yield f"samples ({run.sample}, not {situation.sample})"
    if run.device != situation.device:
        yield "device"
    here, there = _kinds(situation), run.kinds
    yield from (f"{KINDS[name]} (here alone)" for name in KINDS if name in here - there)
    yield from (f"{KINDS[name]} (there alone)" for name in KINDS if name in there - here)
    ratio = situation.parameters / run.parameters
    if not 1 / NOTED < ratio < NOTED:
        yield f"parameters ({run.parameters / 1e9:.3g} G)"
    if beyond(situation.devices, run.devices) > log(NOTED):
        yield "number of devices"
