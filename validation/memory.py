"""Peak memory of published runs beside our predictions, and how many are told to fit.

    python validation/memory.py

Each model's rows are predicted with coefficients that were fitted to all other rows. The exit
status is 1 if parameter-efficient rows miss a limit. Peaks of full training are reported while
there are fewer than twenty; `bigscience-v100` prints round gigabytes of one configuration.

Sources that came later had no part in any coefficient: they are predicted with the set that is
shipped, and printed source by source with what each counts as memory. A run that ran out of memory
is told right where it is predicted to fit with a probability below a half.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from validation.fitting.memory import (
    Fitted,
    MemoryRow,
    Need,
    fit,
    left_out,
    memory_row,
    need,
    percentile_range,
    percentiles,
    ratio,
)
from validation.parts.tables import runs_of

from foretrain.errors import ForetrainError
from foretrain.evidence.predict import predict
from foretrain.measured.coverage import NotCovered
from foretrain.measured.lore import counted_of
from foretrain.measured.run import MeasuredRun, Subject
from foretrain.study.coefficients import DEFAULT, PRIORS
from foretrain.study.measurements import read_runs

TABLES = Path(__file__).parent / "tables"
GB = 1e9
EFFICIENT = "litgpt"
MEAN, UNDER = 0.08, 0.10
"""Limits of the mean error and of the 95th percentile of under-prediction."""
AIMS = (0.03, 0.05)
LATER = ("fms-accel", "peft-metamath", "torchtune", "dlperf-zero")
"""Sources that no coefficient of memory was fitted to."""

AT_MOST = 0.15
"""What the mean error of each of them should be at most; it is reported."""

VALUES = 39
NEARLY = 0.9
KEPT_APART = {
    line.split("#")[0].strip()
    for line in (TABLES.parent / "evaluation-only.txt").read_text("utf-8").splitlines()
}


@dataclass(frozen=True, kw_only=True)
class Score:
    """Errors of some rows, as fractions."""

    rows: int
    mean: float
    under: float

    @property
    def text(self) -> str:
        """In words."""
        return (
            f"{self.rows} values, mean error {self.mean:.1%}, "
            f"95th percentile of under-prediction {self.under:.1%}"
        )


def scores() -> tuple[Score, Score]:
    """The scores of parameter-efficient rows and of full training, each model left out."""
    runs = [run for run in read_runs(TABLES / "memory.csv") if run.source_id == EFFICIENT]
    training = read_runs(TABLES / "llm_training.csv")
    measured = [*peaks(runs), *trained(training)]
    priors = {name: PRIORS.known[f"memory.{name}"] for name in asdict(DEFAULT.memory)}
    residuals = left_out([*measured, *_bounds(training)], priors)
    efficient = [residuals[row.id] for row in measured if row.source == EFFICIENT]
    whole = [residuals[row.id] for row in measured if row.source != EFFICIENT]
    return score(efficient), score(whole)


def main() -> int:
    """Prints every row and what it amounts to; 1 if a limit is missed."""
    runs = [run for run in read_runs(TABLES / "memory.csv") if run.source_id == EFFICIENT]
    training = read_runs(TABLES / "llm_training.csv")
    rows = [*peaks(runs), *trained(training), *_bounds(training)]
    priors = {name: PRIORS.known[f"memory.{name}"] for name in asdict(DEFAULT.memory)}
    residuals = left_out(rows, priors)
    measured = [row for row in rows if not row.bound]
    kept = show(measured, residuals)
    _show_fit(measured, fit(rows, priors), residuals)
    print("  runs that nearly filled their device:", *(row.id for row in rows if row.bound))
    _show_fits("litgpt", runs)
    _show_fits("training", training)
    print("\n".join(told_of_later(runs_of("memory"))))
    return 0 if kept else 1


def told_of_later(runs: Sequence[MeasuredRun]) -> Iterator[str]:
    """Errors of the sources that had no part in a fit, and how many failures are told right."""
    yield f"\nnot fitted to (aim: a mean error of {AT_MOST:.0%})"
    for source in LATER:
        its = [run for run in runs if run.source_id == source]
        found, missed = _errors([run for run in its if not run.out_of_memory])
        for counted in dict.fromkeys(counted for counted, _ in found):
            errors = np.array([error for each, error in found if each == counted])
            yield (
                f"  {source:14} {len(errors):4} values  mean {np.abs(errors).mean():6.1%}  "
                f"median {np.median(np.abs(errors)):6.1%}  bias {errors.mean():+6.1%}  "
                f"(counted is {counted})"
            )
        for reason, rows in missed.most_common():
            yield f"  {source:14} {rows:4} not predicted: {reason}"
        failed = [need(run, DEFAULT) for run in its if run.out_of_memory]
        if failed:
            right = sum(each.probability < 0.5 for each in failed)
            yield f"  {source:14} {len(failed):4} out of memory, {right} told so"


def _errors(runs: Sequence[MeasuredRun]) -> tuple[list[tuple[str, float]], Counter[str]]:
    """What is counted and the error of each run, and why others have none."""
    found, missed = [], Counter[str]()
    for run in runs:
        try:
            value = predict(run, DEFAULT, played=False).value
        except NotCovered as error:
            missed[str(error)] += 1
            continue
        if run.measured is not None and value is not None and not run.check:
            found.append((str(counted_of(run)), value / run.measured - 1.0))
    return found, missed


def peaks(runs: Sequence[MeasuredRun]) -> Iterator[MemoryRow]:
    """Rows whose subject is the peak."""
    for run in runs:
        if run.subject is Subject.PEAK_MEMORY and run.measured is not None:
            yield memory_row(run, run.measured, DEFAULT)


def trained(runs: Sequence[MeasuredRun]) -> Iterator[MemoryRow]:
    """Rows of another subject that state a peak too."""
    with (TABLES / "llm_training.csv").open(encoding="utf-8", newline="") as file:
        stated = {row["id"]: row["peak_mem_gb"] for row in csv.DictReader(file)}
    for run in runs:
        if stated[run.id]:
            yield memory_row(run, float(stated[run.id]) * GB, DEFAULT)


def _bounds(runs: Sequence[MeasuredRun]) -> Iterator[MemoryRow]:
    """Runs of one known plan that nearly filled their device: they needed no more than it has."""
    for run in runs:
        if run.source_id in KEPT_APART or not run.may_be_fitted:
            continue
        try:
            found = need(run, DEFAULT)
        except ForetrainError:
            continue
        if found.choices == 1 and found.total > NEARLY * found.room:
            yield memory_row(run, found.room, DEFAULT, bound=True)


def show(rows: Sequence[MemoryRow], residuals: Mapping[str, float]) -> bool:
    """Every row and the scores; whether the limits are kept."""
    for row in rows:
        error = ratio(residuals[row.id])
        print(
            f"  {row.id:<22} {row.model:<22} measured {row.measured / GB:6.2f} GB   "
            f"predicted {row.measured * (1 + error) / GB:6.2f} GB   error {error:+6.1%}"
        )
    efficient = score([residuals[row.id] for row in rows if row.source == EFFICIENT])
    whole = score([residuals[row.id] for row in rows if row.source != EFFICIENT])
    kept = efficient.rows == VALUES and efficient.mean <= MEAN and efficient.under <= UNDER
    print(f"\nparameter-efficient: {efficient.text}: {'kept' if kept else 'MISSED'}")
    print(f"  (at most {MEAN:.0%} and {UNDER:.0%}; aims {AIMS[0]:.0%} and {AIMS[1]:.0%})")
    print(f"full training: {whole.text} (reported)")
    return kept


def score(residuals: Sequence[float]) -> Score:
    """What residuals amount to."""
    errors = np.array([ratio(each) for each in residuals])
    return Score(
        rows=len(errors),
        mean=float(np.abs(errors).mean()),
        under=float(np.quantile(np.maximum(-errors, 0.0), 0.95)),
    )


def _show_fit(rows: Sequence[MemoryRow], fitted: Fitted, residuals: Mapping[str, float]) -> None:
    """What a set of coefficients should say."""
    print("\nfitted to all rows")
    for name, value in asdict(fitted.values).items():
        print(f"  memory.{name} = {value:.6g} ({getattr(fitted.low, name):.6g} to ", end="")
        print(f"{getattr(fitted.high, name):.6g})")
    low, high = percentile_range(rows, residuals)
    for name, value in asdict(percentiles(rows, residuals)).items():
        print(f"  memory_errors.{name} = {value:.4f} ({low[name]:.4f} to {high[name]:.4f})")


def _show_fits(name: str, runs: Sequence[MeasuredRun]) -> None:
    """How many runs are told to fit, of those that ran and of those that did not."""
    ran, failed = [], []
    for run in runs:
        try:
            (failed if run.out_of_memory else ran).append(need(run, DEFAULT))
        except ForetrainError:
            continue
    print(f"\n{name}: out of memory and told not to fit: {_share(failed, fits=False)}")
    print(f"{name}: ran and told to fit: {_share(ran, fits=True)}")


def _share(needs: Sequence[Need], *, fits: bool) -> str:
    right = sum(each.fits is fits for each in needs)
    sure = np.mean([each.probability for each in needs]) if needs else float("nan")
    return f"{right} of {len(needs)} (mean probability of fitting {sure:.0%})"


if __name__ == "__main__":
    sys.exit(main())
