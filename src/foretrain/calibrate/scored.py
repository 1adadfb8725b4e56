"""Scored rows: predictions that are held against what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from foretrain.errors import InputError
from foretrain.measured.run import MeasuredRun
from foretrain.results.situation import Situation
from foretrain.results.validate import Quantity, Status, ValidationRow


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
    quantity: Quantity = Quantity.STEP_TIME,
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
