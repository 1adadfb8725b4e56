"""Nearest: which of the runs that a set was fitted to are most like a prediction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nsmallest
from math import log

from foretrain.coefficients.intervals import KINDS, Situation, beyond
from foretrain.coefficients.uncertainty import Covers, Fitted


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
