"""What `validate` answers: predictions held against measurements, row by row.

Validate: holds predictions against measurements, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import groupby
from types import MappingProxyType
from typing import Protocol

import numpy as np

from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.intervals import Situation
from foretrain.errors import ForetrainError
from foretrain.evidence.predict import Prediction, predict
from foretrain.measured.run import MeasuredRun, Subject, UnreadRow
from foretrain.plan.plan import AXES, Sharding
from foretrain.show.table import label
from foretrain.show.words import percent, whole
from foretrain.step.result import Parts
from foretrain.study.coefficients import DEFAULT


class MeasuredQuantity(StrEnum):
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

    id: str = field(metadata=label("row"))
    source_id: str
    quantity: MeasuredQuantity
    subject: Subject = field(metadata=label("subject"))
    measured: float | None
    predicted: float | None
    low: float | None
    high: float | None
    error: float | None = field(metadata=label("error", percent))
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

    source_id: str = field(metadata=label("source"))
    quantity: MeasuredQuantity
    subject: Subject = field(metadata=label("subject"))
    rows: int = field(metadata=label("rows", whole))
    predicted: int = field(metadata=label("scored", whole))
    mape: float | None = field(
        metadata=label("error", percent, meaning="mean of the absolute errors")
    )
    median: float | None = field(metadata=label("median", percent, spare=2))
    p90: float | None = field(
        metadata=label("p90", percent, meaning="nine rows of ten err less", spare=3)
    )
    bias: float | None = field(
        metadata=label("bias", percent, meaning="mean of the signed errors", spare=1)
    )
    interval_coverage: float | None = field(
        metadata=label("inside", percent, meaning="measured values within the interval", spare=4)
    )
    interval_width: float | None = field(
        metadata=label("width", percent, meaning="of the interval over the prediction", spare=5)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Predictions held against measurements."""

    rows: tuple[ValidationRow, ...]
    summary: tuple[ValidationSummary, ...]


Row = MeasuredRun | UnreadRow


class Engine(Protocol):
    """Applies a function to every item and gives the answers in the items' order, like `map`."""

    def __call__(
        self, function: Callable[[Row], ValidationRow], items: Sequence[Row], /
    ) -> Iterable[ValidationRow]:
        """The answers."""
        ...


QUANTITIES: Mapping[Subject, MeasuredQuantity] = MappingProxyType(
    {
        Subject.STEP_TIME: MeasuredQuantity.STEP_TIME,
        Subject.TRANSFER_TIME: MeasuredQuantity.TRANSFER_TIME,
        Subject.THROUGHPUT: MeasuredQuantity.THROUGHPUT,
        Subject.PEAK_MEMORY: MeasuredQuantity.PEAK_MEMORY,
        Subject.ACTIVATIONS: MeasuredQuantity.PEAK_MEMORY,
        Subject.ACTIVATION_SHARE: MeasuredQuantity.PEAK_MEMORY,
        Subject.STATE: MeasuredQuantity.PEAK_MEMORY,
        Subject.PROCESS: MeasuredQuantity.PEAK_MEMORY,
    }
)


def validate(
    runs: Sequence[Row],
    *,
    coefficients: Coefficients = DEFAULT,
    played: bool = True,
    engine: Engine = map,
    progress: Callable[[int], None] | None = None,
) -> Validation:
    """How far are predictions from what was measured?

    Args:
        runs: measured runs; those that foretrain does not cover are listed with the reason, and so
            are rows that could not be read.
        coefficients: efficiencies and overheads to predict with.
        played: whether the event simulation checks each step; without it large tables are done in
            a fraction of the time, and a step is that of the closed form.
        engine: applies a function to every item, in order; `map`, or one of several processes.
        progress: told after every row how many are done.

    Returns:
        One row per run, in the order given, and a summary per source and subject. A run that was
        written down from memory, failed its consistency check or ran out of memory is not scored.
    """
    rows: list[ValidationRow] = []
    for row in engine(partial(_row, coefficients=coefficients, played=played), runs):
        rows.append(row)
        if progress is not None:
            progress(len(rows))
    ordered = sorted(rows, key=_group)
    summaries = tuple(_summary(tuple(group)) for _, group in groupby(ordered, key=_group))
    return Validation(rows=tuple(rows), summary=summaries)


def _row(run: Row, *, coefficients: Coefficients, played: bool) -> ValidationRow:
    if isinstance(run, UnreadRow):
        return _unread(run)
    try:
        prediction = predict(run, coefficients, played=played)
    except ForetrainError as error:
        reason = "; ".join(str(error).splitlines())
        return _as_row(run, Prediction(), status=Status.NOT_PREDICTED, reason=reason)
    unscored = _unscored(run, prediction)
    words = prediction.assumed
    assumed = f"{len(words)} assumed: {', '.join(words)}" if words else ""
    trainer = f"trainer {prediction.trainer}" if prediction.trainer else ""
    remarks = [unscored, prediction.remark, trainer, assumed]
    return _as_row(
        run,
        prediction,
        status=Status.SKIPPED if unscored else Status.PREDICTED,
        reason="; ".join(remark for remark in remarks if remark),
    )


def _unread(row: UnreadRow) -> ValidationRow:
    return ValidationRow(
        id=row.id,
        source_id=row.source_id,
        quantity=QUANTITIES[row.subject],
        subject=row.subject,
        measured=None,
        predicted=None,
        low=None,
        high=None,
        error=None,
        fits=None,
        status=Status.NOT_PREDICTED,
        reason="; ".join(row.reason.splitlines()),
    )


def _as_row(
    run: MeasuredRun, prediction: Prediction, *, status: Status, reason: str
) -> ValidationRow:
    measured, strategy = _measured(run, prediction), ""
    if (plan := prediction.plan) is not None:
        # What divides the work: axes with more than one device, and shared parameters.
        used = [axis for axis in (*AXES, "expert") if getattr(plan, axis) > 1]
        shared = ["sharded"] * (plan.sharding is Sharding.PARAMETERS)
        strategy = " + ".join((*used, *shared)) or "one device"
    return ValidationRow(
        id=run.id,
        source_id=run.source_id,
        quantity=QUANTITIES[run.subject],
        subject=run.subject,
        measured=measured,
        predicted=prediction.value,
        low=prediction.low,
        high=prediction.high,
        error=None
        if prediction.value is None or measured is None
        else prediction.value / measured - 1,
        fits=prediction.fits,
        status=status,
        reason=reason,
        framework=run.framework,
        device=run.place.device,
        devices=run.place.devices,
        strategy=strategy,
        parts=prediction.parts,
        situation=prediction.situation,
    )


def _measured(run: MeasuredRun, prediction: Prediction) -> float | None:
    return run.measured if prediction.measured is None else prediction.measured


def _unscored(run: MeasuredRun, prediction: Prediction) -> str:
    """Why a run is not scored; empty if it is."""
    if run.out_of_memory:
        return "not scored: ran out of memory"
    if _measured(run, prediction) is None:
        return f"not scored: {run.subject} not stated"
    if run.check:
        return f"not scored: {run.check}"
    return "not scored: written down from memory" if run.source_kind == "memory" else ""


def _group(row: ValidationRow) -> tuple[str, str, str]:
    return row.source_id, row.quantity, row.subject


def _summary(rows: tuple[ValidationRow, ...]) -> ValidationSummary:
    """The scored rows of one source and subject."""
    scored = [row for row in rows if row.status is Status.PREDICTED]
    errors = [row.error for row in scored if row.error is not None]
    sizes = [abs(error) for error in errors]
    ends = [
        (row.low, row.high, row.measured, row.predicted)
        for row in scored
        if row.low is not None and row.high is not None and row.measured is not None
        if row.predicted
    ]
    return ValidationSummary(
        source_id=rows[0].source_id,
        quantity=rows[0].quantity,
        subject=rows[0].subject,
        rows=len(rows),
        predicted=len(scored),
        mape=_mean(sizes),
        median=_quantile(sizes, 0.5),
        p90=_quantile(sizes, 0.9),
        bias=_mean(errors),
        interval_coverage=_mean([float(low <= seen <= high) for low, high, seen, _ in ends]),
        interval_width=_mean([(high - low) / value for low, high, _, value in ends]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _quantile(values: Sequence[float], share: float) -> float | None:
    """By linear interpolation between the two nearest values."""
    return float(np.quantile(values, share)) if values else None
