"""Step time and memory of the runs of arXiv 2205.05198 beside our predictions.

    python validation/korthikanti.py

No coefficient is fitted to these rows (`evaluation-only.txt`). The exit status is 1 if a limit is
missed. The paper's memory figures count the transformer blocks alone; what the true first and last
stage hold, with embedding and head, is printed beside.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foretrain.evidence.predict import stages_of
from foretrain.evidence.validate import ValidationRow, validate
from foretrain.measured.run import MeasuredRun, Subject
from foretrain.study.coefficients import DEFAULT
from foretrain.study.measurements import read_runs

TABLES = Path(__file__).parent / "tables"
GIB = 2.0**30

Pair = tuple[MeasuredRun, ValidationRow]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What the errors of a subject's rows may be, as fractions."""

    rows: int
    mean: float
    most: float | None = None


LIMITS = {
    Subject.STEP_TIME: Limit(rows=8, mean=0.05, most=0.12),
    Subject.ACTIVATIONS: Limit(rows=8, mean=0.02),
    Subject.ACTIVATION_SHARE: Limit(rows=16, mean=0.06),
    Subject.STATE: Limit(rows=8, mean=0.01),
}


def main() -> int:
    """Prints every subject; 1 if a limit is missed."""
    runs = [
        run
        for name in ("llm_training.csv", "memory.csv")
        for run in read_runs(TABLES / name)
        if run.source_id in ("korthikanti", "korthikanti-mem")
    ]
    pairs = list(zip(runs, validate(runs).rows, strict=True))
    kept = [
        show(subject, [pair for pair in pairs if pair[0].subject is subject]) for subject in LIMITS
    ]
    return 0 if all(kept) else 1


def show(subject: Subject, pairs: Sequence[Pair]) -> bool:
    """Prints the rows of a subject and whether their errors keep the limit."""
    print(f"\n{subject}")
    for run, row in pairs:
        print(line(run, row))
    limit = LIMITS[subject]
    errors = [abs(row.error) for _, row in pairs if row.error is not None]
    mean, most = (sum(errors) / len(errors), max(errors)) if errors else (1.0, 1.0)
    kept = len(errors) == limit.rows and mean <= limit.mean and most <= (limit.most or most)
    allowed = f"mean at most {limit.mean:.0%}"
    if limit.most is not None:
        allowed += f", largest at most {limit.most:.0%}"
    verdict = "kept" if kept else "MISSED"
    print(f"  {len(errors)} of {limit.rows} rows predicted, mean error {mean:.2%}, ", end="")
    print(f"largest {most:.2%}: {verdict} ({allowed})")
    return kept


def line(run: MeasuredRun, row: ValidationRow) -> str:
    """One row as text."""
    name = f"  {run.network.name:<14} {run.layout.recompute:<42}"
    if row.predicted is None or row.measured is None or row.error is None:
        return f"{name} {row.reason}"
    unit, factor = UNITS[run.subject]
    text = (
        f"{name} measured {row.measured * factor:8.2f} {unit}   "
        f"predicted {row.predicted * factor:8.2f} {unit}   error {row.error:+7.2%}"
    )
    return text + whole_stages(run)


UNITS = {
    Subject.STEP_TIME: ("s", 1.0),
    Subject.ACTIVATIONS: ("GiB", 1 / GIB),
    Subject.ACTIVATION_SHARE: ("%", 100.0),
    Subject.STATE: ("GiB", 1 / GIB),
}


def whole_stages(run: MeasuredRun) -> str:
    """The first and the last stage with embedding and head, where a stage is what was measured."""
    if run.subject not in (Subject.ACTIVATIONS, Subject.STATE):
        return ""
    stages = stages_of(run, DEFAULT)
    return f"   true first stage {stages[0] / GIB:7.2f}, last {stages[-1] / GIB:7.2f} GiB"


if __name__ == "__main__":
    sys.exit(main())
