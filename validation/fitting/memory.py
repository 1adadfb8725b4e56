"""Memory beside what is counted: coefficients from measured runs, and how far off they are.

A run states what the framework's allocator handed out, or what the whole device held; one that ran
on a device says at least that it needed no more than there is. The rows of one model of one source
share their errors, so each such group counts once.

Peaks: measured memory as the rows that its coefficients are fitted to, and whether runs fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from foretrain.coefficients.coefficients import Coefficient, Coefficients
from foretrain.coefficients.device import MemoryErrors, Reserve
from foretrain.errors import InputError
from foretrain.evidence.predict import CATALOGUE, memory_of_case, setting_of
from foretrain.measured.case import Case, case_of
from foretrain.measured.lore import ALLOCATED
from foretrain.measured.run import MeasuredRun
from foretrain.plan.legality import problems
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.memory import errors_of, heaviest_total, probability
from foretrain.step.setting import setting

Floats = NDArray[np.float64]

NOISE = 0.05
"""Scatter of log(measured) that no coefficient explains: blocks, samples' lengths, moments."""

WHOLE_NOISE = 0.1
"""The same where the whole device was read: repeats of `bigscience-v100` scatter so."""

MISREAD = 0.1
"""A run that is predicted to need so much more than it had was not read as it ran."""

ROUNDED = 0.01
"""Width of the steps in which sources print, as a part of a value."""

ROUNDS = 20
TENTH = 1.2816
"""Normal score of the 90th percentile."""

NAMES = tuple(field.name for field in fields(Reserve))
TAIL = 0.1
POINTS = 10_001
"""Where percentiles are looked for: beyond the residuals, and how finely."""
PERCENTILES = (0.02, 0.1, 0.5, 0.9, 0.98)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """A measured peak and what it consists of.

    Attributes:
        id: of the run.
        source: who published it.
        model: what was trained.
        measured: bytes.
        counted: bytes that formulas count, without what coefficients add.
        kept: bytes that one micro-batch keeps for its backward pass.
        allocated: whether the measured bytes are what the allocator handed out.
        bound: whether they are not what the run needed, but what it had: the device's memory.
    """

    id: str
    source: str
    model: str
    measured: float
    counted: float
    kept: float
    allocated: bool
    bound: bool = False

    @property
    def group(self) -> tuple[str, str]:
        """The rows that share their errors."""
        return self.source, self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Coefficients that were fitted.

    Attributes:
        values: by name.
        low: tenth percentiles.
        high: ninetieth percentiles.
    """

    values: Reserve
    low: Reserve
    high: Reserve


def predicted(row: MemoryRow, known: Reserve) -> float:
    """Bytes of a run."""
    handed_out = row.counted + known.temporaries * row.kept
    if row.allocated:
        return handed_out
    return handed_out * (1.0 + known.fragmentation) + known.reserve


def residual(row: MemoryRow, known: Reserve) -> float:
    """log(measured / predicted): above 0 where a run needed more than predicted.

    A run that had enough says nothing where less is predicted than it had.
    """
    found = log(row.measured / predicted(row, known))
    return 0.0 if row.bound and not -MISREAD < found < 0.0 else found


def fit(rows: Sequence[MemoryRow], priors: Mapping[str, Coefficient]) -> Fitted:
    """The coefficients by least squares towards their priors, within the priors' intervals.

    Args:
        rows: measured runs; without any the priors stand.
        priors: of `Reserve`'s fields, by their names.
    """
    low, high = (
        np.array([getattr(priors[name], end) for name in NAMES]) for end in ("low", "high")
    )
    start = np.array([priors[name].value for name in NAMES])
    # What a row counts in a fit: all of a group once, by how far it may scatter.
    noise = np.array([NOISE if row.allocated else WHOLE_NOISE for row in rows])
    shares: Floats = _votes(rows) / noise**2
    width, share = (high - low) / (2.0 * TENTH), shares
    values, certainty = start, np.diag(1.0 / width**2)
    for _ in range(ROUNDS):
        errors, slopes = _linear(rows, _reserve(values))
        weighed = slopes * share[:, np.newaxis]
        certainty = weighed.T @ slopes + np.diag(1.0 / width**2)
        pull = weighed.T @ errors - (values - start) / width**2
        values = np.clip(values + np.linalg.solve(certainty, pull), low, high)
    spread = TENTH * np.sqrt(np.diag(np.linalg.inv(certainty)))
    return Fitted(
        values=_reserve(values),
        low=_reserve(np.maximum(values - spread, low)),
        high=_reserve(np.minimum(values + spread, high)),
    )


def left_out(rows: Sequence[MemoryRow], priors: Mapping[str, Coefficient]) -> dict[str, float]:
    """Residuals of measured runs by their ids, each group by the coefficients of all others."""
    groups = dict.fromkeys(row.group for row in rows if not row.bound)
    found: dict[str, float] = {}
    for group in groups:
        known = fit([row for row in rows if row.group != group], priors).values
        mine = (row for row in rows if row.group == group and not row.bound)
        found |= {row.id: residual(row, known) for row in mine}
    return found


def percentiles(rows: Sequence[MemoryRow], residuals: Mapping[str, float]) -> MemoryErrors:
    """Percentiles of residuals; every group counts the same, however many rows it has.

    Steps of their distribution are as soft as printed values are rounded.
    """
    values = np.array([residuals[row.id] for row in rows])
    weights = _votes(rows)
    places = np.linspace(values.min() - TAIL, values.max() + TAIL, POINTS)
    steps = 1.0 / (1.0 + np.exp((values - places[:, np.newaxis]) / ROUNDED))
    found = np.interp(PERCENTILES, steps @ weights / weights.sum(), places)
    names = (field.name for field in fields(MemoryErrors))
    return MemoryErrors(**dict(zip(names, found.tolist(), strict=True)))


def percentile_range(
    rows: Sequence[MemoryRow], residuals: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """The least and the most of every percentile as one group after the other is left out."""
    groups = dict.fromkeys(row.group for row in rows)
    found = [
        asdict(percentiles([row for row in rows if row.group != group], residuals))
        for group in groups
    ]
    names = [field.name for field in fields(MemoryErrors)]
    return (
        {name: min(each[name] for each in found) for name in names},
        {name: max(each[name] for each in found) for name in names},
    )


def _votes(rows: Sequence[MemoryRow]) -> Floats:
    """What a row counts: all of a group once."""
    groups = [row.group for row in rows]
    return np.array([1.0 / groups.count(group) for group in groups])


def _linear(rows: Sequence[MemoryRow], known: Reserve) -> tuple[Floats, Floats]:
    """Residuals, and by how much each coefficient moves the logarithm of a prediction."""
    errors = np.array([residual(row, known) for row in rows])
    slopes = np.array([_slopes(row, known) for row in rows]).reshape(len(rows), len(NAMES))
    silent = np.array([row.bound for row in rows], bool) & (errors == 0.0)
    return errors, slopes * ~silent[:, np.newaxis]


def _slopes(row: MemoryRow, known: Reserve) -> tuple[float, ...]:
    """Derivatives of the logarithm of a prediction, in the order of `Reserve`'s fields."""
    whole = predicted(row, known)
    outside = 0.0 if row.allocated else 1.0
    found = {
        "reserve": outside / whole,
        "fragmentation": outside * (row.counted + known.temporaries * row.kept) / whole,
        "temporaries": row.kept * (1.0 + outside * known.fragmentation) / whole,
    }
    return tuple(found[name] for name in NAMES)


def _reserve(values: Floats) -> Reserve:
    return Reserve(**dict(zip(NAMES, values.tolist(), strict=True)))


def ratio(error: float) -> float:
    """What a residual is as predicted over measured, less 1."""
    return exp(-error) - 1.0


NOTHING_ADDED = {"memory.reserve": 0.0, "memory.fragmentation": 0.0, "memory.temporaries": 0.0}
KEPT_ADDED = NOTHING_ADDED | {"memory.temporaries": 1.0}
"""What a micro-batch keeps is then counted once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a run needs on its heaviest device, of the plans that it may have had the leanest.

    Attributes:
        total: bytes.
        room: bytes of the device.
        probability: how likely it fits.
        choices: plans that it may have had.
    """

    total: float
    room: float
    probability: float
    choices: int

    @property
    def fits(self) -> bool:
        """Whether it is predicted to fit."""
        return self.total <= self.room


def memory_row(
    run: MeasuredRun, measured: float, coefficients: Coefficients, *, bound: bool = False
) -> MemoryRow:
    """A measured peak and what formulas count of it.

    Args:
        run: the run.
        measured: bytes of the peak.
        coefficients: for all but what they add to memory.
        bound: whether `measured` is what the device has instead.

    Raises:
        NotCovered: foretrain does not predict such a run.
        InputError: the plan cannot run on the cluster.
    """
    case = case_of(run, CATALOGUE)
    counted, with_kept = (
        memory_of_case(case, coefficients.changed(added)).total
        for added in (NOTHING_ADDED, KEPT_ADDED)
    )
    return MemoryRow(
        id=run.id,
        source=run.source_id,
        model=run.network.name + f" {run.network.parameters or 0:g}",
        measured=measured,
        counted=counted,
        kept=with_kept - counted,
        allocated=(case.prints_allocated or ALLOCATED.of(run)) and not bound,
        bound=bound,
    )


def need(run: MeasuredRun, coefficients: Coefficients) -> Need:
    """What a run needs.

    Raises:
        NotCovered: foretrain does not predict such a run.
        InputError: the plan cannot run on the cluster.
    """
    case = case_of(run, CATALOGUE)
    totals, room = tuple(_totals(case, coefficients)), case.cluster.device.memory
    errors = errors_of(setting_of(case, coefficients))
    total = min(totals)
    spread = case.workload.model.spread
    return Need(
        total=total,
        room=room,
        probability=probability(total, room, errors, spread=spread),
        choices=len(totals),
    )


def _totals(case: Case, coefficients: Coefficients) -> Iterator[float]:
    """Bytes of every plan that a run may have had."""
    for each in (case, *case.others):
        priced = setting(each.workload, each.cluster, coefficients, software=each.software)
        for plan in each.plausible:
            wrong = problems(each.workload, each.cluster, plan)
            if wrong:
                raise InputError("\n".join(wrong))
            yield float(heaviest_total(priced, hold(priced, table_of([plan])))[0])
