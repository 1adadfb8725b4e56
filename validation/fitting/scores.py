"""Scored rows: predictions that are held against what was measured.

Scores: how far predictions are off, every source weighing the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean, median
from types import MappingProxyType
from typing import TypeVar

from foretrain.coefficients.intervals import Situation
from foretrain.errors import InputError
from foretrain.evidence.validate import MeasuredQuantity, Status, ValidationRow
from foretrain.measured.run import MeasuredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A measured run and what was predicted of it.

    Attributes:
        run: the run.
        publisher: who published it and its siblings; sources of one publisher are left out
            together.
        measured: seconds, or whatever the run's subject is counted in.
        predicted: the same.
        situation: what the width of the prediction's interval follows from, where it has one.
    """

    run: MeasuredRun
    publisher: str
    measured: float
    predicted: float
    situation: Situation | None = None

    def __post_init__(self) -> None:
        if not (self.measured > 0 and self.predicted > 0):
            raise InputError(f"Scored '{self.run.id}': measured and predicted must be above 0.")

    @property
    def error(self) -> float:
        """What is predicted over what was measured, less 1."""
        return self.predicted / self.measured - 1.0

    @property
    def residual(self) -> float:
        """Logarithm of measured / predicted: above 0 where the run was slower than predicted."""
        return log(self.measured / self.predicted)

    def scaled(self, factor: float) -> Scored:
        """The same with another prediction."""
        return replace(self, predicted=self.predicted * factor)


def scored_rows(
    runs: Sequence[MeasuredRun],
    rows: Sequence[ValidationRow],
    publishers: Mapping[str, str],
    *,
    quantity: MeasuredQuantity = MeasuredQuantity.STEP_TIME,
) -> tuple[Scored, ...]:
    """The rows that are scored: measured, without a doubt (`check`), read and not recalled.

    Args:
        runs: measured runs.
        rows: what `validate` says of each.
        publishers: of sources; one that is not named stands for itself.
        quantity: what is scored.
    """
    return tuple(
        Scored(
            run=run,
            publisher=publishers.get(run.source_id, run.source_id),
            measured=row.measured,
            predicted=row.predicted,
            situation=row.situation,
        )
        for run, row in zip(runs, rows, strict=True)
        if row.status is Status.PREDICTED and row.quantity is quantity
        if row.measured is not None and row.predicted is not None
    )


LEAST_ROWS = 5
"""Scored rows without which a source does not count among the sources."""

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Absolute errors of some rows, as fractions.

    Attributes:
        rows: how many.
        mean: of their absolute errors.
        median: of the same.
    """

    rows: int
    mean: float
    median: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Errors of many rows.

    Attributes:
        sources: every source with enough rows.
        mean: average of the sources' means; None without such a source.
        median: average of the sources' medians.
        pooled: all rows, whatever their source; None without a row.
    """

    sources: Mapping[str, Spread]
    mean: float | None
    median: float | None
    pooled: Spread | None


def score(rows: Iterable[Scored], *, least: int = LEAST_ROWS) -> Score:
    """The errors of some rows, source by source and pooled.

    Args:
        rows: scored rows.
        least: rows without which a source is pooled but not averaged.
    """
    every = tuple(rows)
    by_source = grouped(every, lambda row: row.run.source_id)
    sources = {
        source: spread([abs(row.error) for row in its])
        for source, its in sorted(by_source.items())
        if len(its) >= least
    }
    return Score(
        sources=MappingProxyType(sources),
        mean=fmean(it.mean for it in sources.values()) if sources else None,
        median=fmean(it.median for it in sources.values()) if sources else None,
        pooled=spread([abs(row.error) for row in every]) if every else None,
    )


def spread(sizes: Sequence[float]) -> Spread:
    """Mean and median of at least one absolute error."""
    return Spread(rows=len(sizes), mean=fmean(sizes), median=median(sizes))


def anchored(rows: Iterable[Scored]) -> tuple[Scored, ...]:
    """The rows of every group once its first row has moved the factor of its framework.

    The first row of a group (the fewest devices, then the first id) is what one measurement of the
    user's own would be. It is not among the answers, nor is a group of one.
    """
    return tuple(
        row.scaled(first.measured / first.predicted)
        for group in grouped(rows, lambda row: anchor_group(row.run)).values()
        for first, *rest in [sorted(group, key=_size)]
        for row in rest
    )


def anchor_group(run: MeasuredRun) -> tuple[str, ...]:
    """What has to agree for one run to tell of another."""
    told = (run.source_id, run.framework, run.network.name, run.network.variant)
    return (*told, run.place.device, run.precision, run.task)


def _size(row: Scored) -> tuple[int, str]:
    return row.run.place.devices or 0, row.run.id


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by key, both in the order in which they came."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
