"""Errors of a validation by whatever rows have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median, quantiles
from types import MappingProxyType

from foretrain.report.table import Column, Table
from foretrain.report.words import percent
from foretrain.results.validate import ValidationRow

BY: Mapping[str, Callable[[ValidationRow], str]] = MappingProxyType(
    {
        "source": lambda row: row.source_id,
        "device": lambda row: row.device,
        "strategy": lambda row: row.strategy,
        "framework": lambda row: row.framework,
    }
)
"""What rows are told apart by, each in a table of its own."""

UNKNOWN = "not stated"


def errors_by(name: str, rows: Sequence[ValidationRow]) -> Table:
    """The errors of scored rows, most rows first."""
    groups: dict[str, list[ValidationRow]] = {}
    for row in rows:
        groups.setdefault(BY[name](row) or UNKNOWN, []).append(row)
    columns = (
        Column(name=name),
        Column(name="rows", number=True),
        Column(name="error", meaning="mean of the absolute errors", number=True),
        Column(name="median", number=True),
        Column(name="p90", meaning="nine rows of ten err less", number=True),
        Column(name="bias", meaning="mean of the signed errors", number=True),
        Column(name="inside", meaning="measured values within the interval", number=True),
    )
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return Table(columns=columns, rows=tuple(_line(*item) for item in ordered))


def _line(name: str, rows: Sequence[ValidationRow]) -> tuple[str, ...]:
    signed = [row.error for row in rows if row.error is not None]
    sizes = [abs(error) for error in signed]
    ninetieth = quantiles(sizes, n=10, method="inclusive")[-1] if len(sizes) > 1 else sizes[0]
    shares = (fmean(sizes), median(sizes), ninetieth, fmean(signed))
    return (name, f"{len(rows):,}", *map(percent, shares), _inside(rows))


def _inside(rows: Sequence[ValidationRow]) -> str:
    """Share of the measured values within the interval; nothing where rows have none."""
    held = [
        row.low <= row.measured <= row.high
        for row in rows
        if row.low is not None and row.high is not None and row.measured is not None
    ]
    return percent(fmean(held)) if held else ""
