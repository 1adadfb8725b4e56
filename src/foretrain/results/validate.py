"""What `validate` answers: predictions held against measurements, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foretrain.measured.run import Subject
from foretrain.results.estimate import Parts
from foretrain.results.situation import Situation


class Quantity(StrEnum):
    """What a row measured."""

    STEP_TIME = "step_time"
    PEAK_MEMORY = "peak_memory"
    TRANSFER_TIME = "transfer_time"
    THROUGHPUT = "throughput"


class Status(StrEnum):
    """What became of a row."""

    PREDICTED = "predicted"
    NOT_PREDICTED = "not_predicted"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRow:
    """One measured row beside its prediction.

    Attributes:
        id: the row's.
        source_id: where it was published.
        quantity: what kind of thing was measured.
        subject: what was measured; it says the unit.
        measured: seconds, bytes, samples/s or a fraction; None if the row does not state it.
        predicted: the same; None if foretrain does not cover the row.
        low: lower end of the prediction's interval.
        high: upper end.
        error: predicted / measured - 1.
        fits: whether the plan is predicted to fit in memory; None where nothing is said of it.
        status: predicted, not_predicted (foretrain does not cover it) or skipped (the row is not
            to be scored).
        reason: why a row was not predicted or is not scored; the defaults assumed for blanks.
        framework: training software.
        device: accelerator, as the table spells it.
        devices: how many; None if the row does not state it.
        strategy: what divides the work, in words; empty unless a step was predicted.
        parts: seconds of which the predicted step consists; None unless a step was predicted.
        situation: what the width of the interval follows from; None unless a step was predicted.
    """

    id: str
    source_id: str
    quantity: Quantity
    subject: Subject
    measured: float | None
    predicted: float | None
    low: float | None
    high: float | None
    error: float | None
    fits: bool | None
    status: Status
    reason: str
    framework: str = ""
    device: str = ""
    devices: int | None = None
    strategy: str = ""
    parts: Parts | None = None
    situation: Situation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSummary:
    """The rows of one source and subject; errors are fractions.

    Attributes:
        rows: rows of the source.
        predicted: rows that were predicted and scored.
        mape: mean of the absolute errors; None without a scored row, like the rest.
        median: their median.
        p90: their ninetieth percentile.
        bias: mean of the signed errors.
        interval_coverage: share of measured values inside the predicted interval.
        interval_width: mean width of the interval over the prediction.
    """

    source_id: str
    quantity: Quantity
    subject: Subject
    rows: int
    predicted: int
    mape: float | None
    median: float | None
    p90: float | None
    bias: float | None
    interval_coverage: float | None
    interval_width: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Predictions held against measurements."""

    rows: tuple[ValidationRow, ...]
    summary: tuple[ValidationSummary, ...]
