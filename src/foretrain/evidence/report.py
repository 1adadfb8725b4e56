"""Errors of a validation by whatever rows have in common.

The report of `validate`: how good the predictions are, and which rows are worst.

Measured against predicted: a dot for every row, and lines where both are equal or nearly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import log10
from statistics import fmean, median, quantiles
from types import MappingProxyType
from typing import Final

from foretrain.evidence.validate import Status, Validation, ValidationRow
from foretrain.measured.run import MeasuredRun, Subject, UnreadRow
from foretrain.show.charts import Ticks, axis_of
from foretrain.show.report import AnswerReport, Drawing, ReportSection, Screen
from foretrain.show.table import Column, Piece, Table, label, table
from foretrain.show.words import PARTS, count, percent, whole, written
from foretrain.step.facts import time_pieces
from foretrain.units import BYTES, SAMPLES, SECONDS, Quantity

COUNTED: Mapping[Subject, Quantity] = MappingProxyType(
    {
        Subject.STEP_TIME: SECONDS,
        Subject.TRANSFER_TIME: SECONDS,
        Subject.THROUGHPUT: SAMPLES,
        Subject.PEAK_MEMORY: BYTES,
        Subject.ACTIVATIONS: BYTES,
        Subject.STATE: BYTES,
    }
)
"""What each subject is counted in; a share is not drawn."""

COLOURS = (
    "forward", "expert", "recompute", "gradients", "backward",
    "bubble", "tensor", "parameters", "pipeline", "update",
)  # fmt: skip
"""Of the sources with most rows, by names of the style sheet; the rest share one more."""

REST = "other"
NEAR = 1.25
"""Ratio of predicted to measured at the dashed lines, and its inverse."""

ROOM = 9.0
"""Per cent between two ticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One row: per cent from the left and from the top."""

    x: float
    y: float
    colour: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """All rows of one subject; both axes are the same.

    Attributes:
        axis: of both.
        dots: the rows.
        near: per cent by which the dashed lines lie off the diagonal; 0 draws none.
        legend: colours and the sources that have them.
    """

    axis: Ticks
    dots: tuple[Dot, ...]
    near: float
    legend: tuple[tuple[str, str], ...]


def scatter(rows: Sequence[ValidationRow], quantity: Quantity) -> Scatter:
    """Rows that were measured and predicted, of one subject."""
    values = [value for row in rows for value in (row.measured, row.predicted) if value]
    axis = axis_of(values, quantity)
    largest = Counter(row.source_id for row in rows).most_common()
    colours = {
        source: COLOURS[place] if place < len(COLOURS) else REST
        for place, (source, _) in enumerate(largest)
    }
    legend = [(colour, source) for source, colour in colours.items() if colour != REST]
    if REST in colours.values():
        legend.append((REST, "other sources"))
    # Ticks that leave one another room.
    kept: list[tuple[float, str]] = []
    for at, text in sorted(axis.ticks):
        if not kept or at - kept[-1][0] >= ROOM:
            kept.append((at, text))
    dots = []
    for row in rows:
        measured, predicted = row.measured or axis.low, row.predicted or axis.low
        told = (written(quantity, value) for value in (measured, predicted))
        text = "{}: measured {}, predicted {}, {}".format(row.id, *told, percent(row.error or 0.0))
        dots.append(
            Dot(
                x=axis.place(measured),
                y=100 - axis.place(predicted),
                colour=colours[row.source_id],
                text=text,
            )
        )
    return Scatter(
        axis=Ticks(ticks=tuple(kept), logarithmic=axis.logarithmic),
        dots=tuple(dots),
        near=100 * log10(NEAR) / log10(axis.high / axis.low) if axis.logarithmic else 0.0,
        legend=tuple(legend),
    )


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
WORST = 10
"""Rows that err most on a terminal."""

WORST_OF_A_PAGE = 25
REASONS = 12
REMARKS = 3
NAMED = 3
"""Rows that are named for each reason; JSON has them all."""


WRITE: Final[Mapping[Subject, Callable[[float], str]]] = {
    Subject.STEP_TIME: partial(written, SECONDS),
    Subject.TRANSFER_TIME: partial(written, SECONDS),
    Subject.THROUGHPUT: partial(written, SAMPLES, frame="{}/s"),
    Subject.PEAK_MEMORY: partial(written, BYTES),
    Subject.ACTIVATIONS: partial(written, BYTES),
    Subject.ACTIVATION_SHARE: percent,
    Subject.STATE: partial(written, BYTES),
    Subject.PROCESS: partial(written, BYTES),
}


def validation_report(
    runs: Sequence[MeasuredRun | UnreadRow], validation: Validation
) -> AnswerReport:
    """What is said of a validation.

    Args:
        runs: what was predicted.
        validation: predictions held against measurements.
    """
    rows = [row for row in validation.rows if is_scored(row)]
    sources = {row.source_id for row in validation.rows}
    told = f"{count(len(runs), 'row')} of {count(len(sources), 'source')}"
    return AnswerReport(
        kind="Validation",
        title="Predictions held against measurements",
        subtitle=f"{told}, {len(rows):,} scored.",
        sections=tuple(_sections(validation, rows)),
        coefficients=True,
    )


def _sections(validation: Validation, rows: Sequence[ValidationRow]) -> Iterator[ReportSection]:
    scored = f"{count(len(validation.rows), 'row')}, {len(rows)} scored"
    yield ReportSection(
        name="summary", title=scored, body=(table(validation.summary, *SUMMARY, legend=True),)
    )
    for subject, quantity in COUNTED.items():
        shown = [row for row in rows if row.subject is subject]
        if shown:
            content = {"plot": scatter(shown, quantity), "subject": str(subject)}
            yield ReportSection(
                name=subject.name.lower().replace("_", "-"),
                title=f"Measured against predicted: {subject}",
                body=(Drawing(template="scatter", content=content),),
                page_only=True,
            )
    for name in BY:
        yield ReportSection(
            name=f"by-{name}",
            title=f"Errors by {name}",
            body=(errors_by(name, rows),),
            page_only=True,
        )
    yield ReportSection(
        name="remarks",
        title="Assumed for the rows that are scored, and other remarks",
        body=(remarks(rows),),
    )
    if rows:
        yield _worst(rows)
    others = [row for row in validation.rows if not is_scored(row)]
    yield ReportSection(name="missed", title="Not scored", body=(missed(others),))


SUMMARY: Final = (
    *("source_id", "subject", "rows", "predicted", "mape", "median", "p90", "bias"),
    *("interval_coverage", "interval_width"),
)


def is_scored(row: ValidationRow) -> bool:
    """Whether a row counts."""
    return row.status is Status.PREDICTED and row.error is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """How far some scored rows are off; errors are fractions.

    Attributes:
        rows: how many.
        mean: of the absolute errors.
        median: their median.
        p90: their ninetieth percentile.
        bias: mean of the signed errors.
        inside: share of the measured values within the interval; None where rows have none.
    """

    rows: int = field(metadata=label("rows", whole))
    mean: float = field(metadata=label("error", percent, meaning="mean of the absolute errors"))
    median: float = field(metadata=label("median", percent))
    p90: float = field(metadata=label("p90", percent, meaning="nine rows of ten err less"))
    bias: float = field(metadata=label("bias", percent, meaning="mean of the signed errors"))
    inside: float | None = field(
        metadata=label("inside", percent, meaning="measured values within the interval")
    )


def errors_by(name: str, rows: Sequence[ValidationRow]) -> Table:
    """The errors of scored rows, most rows first."""
    groups: dict[str, list[ValidationRow]] = {}
    for row in rows:
        groups.setdefault(BY[name](row) or UNKNOWN, []).append(row)
    errors: dict[str, Errors] = {}
    for group, found in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        signed = [row.error for row in found if row.error is not None]
        sizes = [abs(error) for error in signed]
        held = [
            row.low <= row.measured <= row.high
            for row in found
            if row.low is not None and row.high is not None and row.measured is not None
        ]
        errors[group] = Errors(
            rows=len(found),
            mean=fmean(sizes),
            median=median(sizes),
            p90=quantiles(sizes, n=10, method="inclusive")[-1] if len(sizes) > 1 else sizes[0],
            bias=fmean(signed),
            inside=fmean(held) if held else None,
        )
    return table(errors, key=name)


def _worst(scored: Sequence[ValidationRow]) -> ReportSection:
    """The scored rows that err most, on a page with what their predicted step consists of."""
    rows = sorted(scored, key=lambda row: (-abs(row.error or 0.0), row.id))
    shown = [_missed(row) for row in rows[:WORST_OF_A_PAGE]]
    drawn = {piece.name for row in shown for piece in row.pieces}
    names = {name: words for name, words in PARTS.items() if name in drawn}

    amount = Column(name="measured", number=True, group="amount")
    content = table(
        rows[:WORST],
        "id",
        "subject",
        (amount, lambda row: _amount(row, row.measured)),
        (replace(amount, name="predicted"), lambda row: _amount(row, row.predicted)),
        "error",
    )
    picture = Drawing(template="worst", content={"rows": shown, "names": names})
    body = (Screen(content), picture)
    return ReportSection(name="worst", title="The rows that err most", body=body)


def _amount(row: ValidationRow, value: float | None) -> str:
    return "" if value is None else WRITE[row.subject](value)


def remarks(scored: Sequence[ValidationRow]) -> Table:
    """What was assumed for blanks or is to be known of scored rows, the commonest first."""
    counted = Counter(row.reason for row in scored if row.reason).most_common()
    columns = (Column(name="rows", number=True), Column(name="remark"))
    rows = tuple((f"{number:,}", remark) for remark, number in counted)
    return Table(columns=columns, rows=rows, most=REMARKS)


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
    told = []
    for why, ids in sorted(named.items(), key=lambda item: -len(item[1])):
        more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
        told.append((f"{len(ids):,}", f"{', '.join(ids[:NAMED])}{more}", *why))
    return Table(columns=columns, rows=tuple(told), most=REASONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A row that errs much.

    Attributes:
        id: the row's.
        error: in words.
        told: what was run and how, in words.
        measured: in words.
        predicted: in words.
        pieces: parts of the predicted step, as shares of the bar; none where it is no step.
        texts: what each piece is, in words.
        mark: per cent of the bar at which the measured value stands.
    """

    id: str
    error: str
    told: str
    measured: str
    predicted: str
    pieces: tuple[Piece, ...]
    texts: tuple[str, ...]
    mark: float


def _missed(row: ValidationRow) -> Missed:
    write, seconds = WRITE[row.subject], row.predicted or 0.0
    longest = max(row.measured or 0.0, seconds)
    pieces = () if row.parts is None else time_pieces(row.parts)
    words = (row.framework, f"{row.devices or ''} {row.device}".strip(), row.strategy)
    return Missed(
        id=row.id,
        error=percent(row.error or 0.0),
        told=", ".join(filter(None, words)),
        measured=write(row.measured or 0.0),
        predicted=write(seconds),
        pieces=tuple(
            Piece(name=it.name, amount=it.amount, share=it.amount / longest) for it in pieces
        ),
        texts=tuple(f"{it.name}: {written(SECONDS, it.amount)}" for it in pieces),
        mark=100 * (row.measured or 0.0) / longest,
    )
