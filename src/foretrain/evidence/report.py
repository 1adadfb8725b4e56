"""Errors of a validation by whatever rows have in common.

The report of `validate`: how good the predictions are, and which rows are worst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, median, quantiles
from types import MappingProxyType
from typing import Final

from rich.console import Group, RenderableType

from foretrain.evidence.validate import Status, Validation, ValidationRow, ValidationSummary
from foretrain.measured.run import Subject
from foretrain.show import terminal
from foretrain.show.table import Column, Table
from foretrain.show.words import count, percent, written
from foretrain.units import BYTES, SAMPLES, SECONDS

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


WORST = 10
REASONS = 12
REMARKS = 3
NAMED = 3
"""Rows that are named for each reason; JSON has them all."""


def _rate(samples: float) -> str:
    return written(SAMPLES, samples, frame="{}/s")


WRITE: Final[Mapping[Subject, Callable[[float], str]]] = {
    Subject.STEP_TIME: partial(written, SECONDS),
    Subject.TRANSFER_TIME: partial(written, SECONDS),
    Subject.THROUGHPUT: _rate,
    Subject.PEAK_MEMORY: partial(written, BYTES),
    Subject.ACTIVATIONS: partial(written, BYTES),
    Subject.ACTIVATION_SHARE: percent,
    Subject.STATE: partial(written, BYTES),
    Subject.PROCESS: partial(written, BYTES),
}


def validation_text(validation: Validation) -> Group:
    """What the terminal shows of a validation."""
    shown = summary(validation.summary)
    scored = [row for row in validation.rows if is_scored(row)]
    return Group(
        terminal.heading(f"{count(len(validation.rows), 'row')}, {len(scored)} scored"),
        terminal.table(shown),
        terminal.legend(shown.columns),
        *_remarks(scored),
        *_worst(scored),
        *_first(
            missed([row for row in validation.rows if not is_scored(row)]), REASONS, "Not scored"
        ),
    )


def is_scored(row: ValidationRow) -> bool:
    """Whether a row counts."""
    return row.status is Status.PREDICTED and row.error is not None


def summary(summaries: tuple[ValidationSummary, ...]) -> Table:
    """How far predictions are off, by source and subject."""
    columns = (
        Column(name="source"),
        Column(name="subject"),
        Column(name="rows", number=True),
        Column(name="scored", number=True),
        Column(name="error", meaning="mean of the absolute errors", number=True),
        Column(name="median", number=True, spare=2),
        Column(name="p90", meaning="nine rows of ten err less", number=True, spare=3),
        Column(name="bias", meaning="mean of the signed errors", number=True, spare=1),
        Column(name="inside", meaning="measured values within the interval", number=True, spare=4),
        Column(name="width", meaning="of the interval over the prediction", number=True, spare=5),
    )
    return Table(columns=columns, rows=tuple(_summary_row(summary) for summary in summaries))


def _summary_row(summary: ValidationSummary) -> tuple[str, ...]:
    shares = (summary.mape, summary.median, summary.p90, summary.bias)
    interval = (summary.interval_coverage, summary.interval_width)
    return (
        summary.source_id,
        str(summary.subject),
        f"{summary.rows:,}",
        f"{summary.predicted:,}",
        *("" if share is None else percent(share) for share in (*shares, *interval)),
    )


def _worst(scored: list[ValidationRow]) -> tuple[RenderableType, ...]:
    """The scored rows that err most."""
    if not scored:
        return ()
    rows = sorted(scored, key=lambda row: (-abs(row.error or 0.0), row.id))[:WORST]
    columns = (
        Column(name="row"),
        Column(name="subject"),
        Column(name="measured", number=True, group="amount"),
        Column(name="predicted", number=True, group="amount"),
        Column(name="error", number=True),
    )
    content = Table(columns=columns, rows=tuple(_row(row) for row in rows))
    return (terminal.heading("The rows that err most"), terminal.table(content))


def _row(row: ValidationRow) -> tuple[str, ...]:
    write = WRITE[row.subject]
    values = ("" if value is None else write(value) for value in (row.measured, row.predicted))
    return (row.id, str(row.subject), *values, percent(row.error or 0.0))


def _remarks(scored: list[ValidationRow]) -> tuple[RenderableType, ...]:
    return _first(
        remarks(scored), REMARKS, "Assumed for the rows that are scored, and other remarks"
    )


def _first(content: Table, most: int, title: str) -> tuple[RenderableType, ...]:
    """The first lines of a table, and how many more there are; nothing of an empty one."""
    if not content.rows:
        return ()
    more = len(content.rows) - most
    what = content.columns[-1].name
    return (
        terminal.heading(title),
        terminal.table(replace(content, rows=content.rows[:most])),
        *([terminal.note(f"... and {more} more {what}s: --json")] if more > 0 else []),
    )


def remarks(scored: Sequence[ValidationRow]) -> Table:
    """What was assumed for blanks or is to be known of scored rows, the commonest first."""
    counted = Counter(row.reason for row in scored if row.reason).most_common()
    columns = (Column(name="rows", number=True), Column(name="remark"))
    return Table(columns=columns, rows=tuple((f"{number:,}", remark) for remark, number in counted))


def missed(rows: Sequence[ValidationRow]) -> Table:
    """Rows that were not scored, by name and by reason, the commonest reason first."""
    named: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        named.setdefault((row.status.replace("_", " "), row.reason), []).append(row.id)
    columns = (
        Column(name="rows", number=True),
        Column(name="which"),
        Column(name="status", spare=1),
        Column(name="reason"),
    )
    ordered = sorted(named.items(), key=lambda item: -len(item[1]))
    told = [(f"{len(ids):,}", _which(ids), *why) for why, ids in ordered]
    return Table(columns=columns, rows=tuple(told))


def _which(ids: Sequence[str]) -> str:
    """The first of some rows by name, and how many more there are."""
    more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
    return f"{', '.join(ids[:NAMED])}{more}"
