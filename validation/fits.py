"""How sure it is that a plan fits, beside runs that fitted and runs that did not.

    python -m validation.fits

How far predictions of memory are off is learned from every source but the one that is judged, apart
for software of which is known what each operation keeps and for all other. A run out of memory is
missed where it is said to fit with at least 95 %; a run that ran is a false alarm where it is not.
The Brier score (the mean squared difference of a probability and what came) is held against that
of the best fixed margin, chosen with all labels in sight. The exit status is 1 if more than one
label is missed, more than 12 % are false alarms, or a fixed margin does better.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from validation.fitting.memory import PERCENTILES, ROUNDED, Need, need
from validation.parts.tables import runs_of

from foretrain.coefficients.device import MemoryErrors
from foretrain.errors import ForetrainError
from foretrain.evidence.predict import CATALOGUE, predict
from foretrain.measured.case import case_of
from foretrain.measured.run import MeasuredRun
from foretrain.step.memory import probability
from foretrain.study.coefficients import DEFAULT

DEMAND = 0.95
MISSES, ALARMS = 1, 0.12
"""Labels that may be missed, and the share of runs that ran of which it may not be said."""

NEVER = frozenset({"korthikanti-mem", "mxnet-imgcls"})
"""Sources of the table that no error is learned from: parts of memory, and pictures of 2016."""

UNSTATED = "torchtune"
"""Its rows without a batch say nothing."""

TAIL, POINTS = 0.1, 10_001
MARGINS = np.arange(-0.3, 0.8, 0.01)


@dataclass(frozen=True, kw_only=True)
class Residual:
    """log(measured / predicted) of one run.

    Attributes:
        source: who published it.
        model: what was trained; rows of one of one source share their errors.
        eager: whether it is known what each operation keeps.
        value: the logarithm.
    """

    source: str
    model: str
    eager: bool
    value: float


@dataclass(frozen=True, kw_only=True)
class Label:
    """A run that fitted or did not.

    Attributes:
        id: of the run.
        source: who published it.
        eager: whether it is known what each operation keeps.
        need: what it is predicted to need, and the device's memory.
        ran: whether it did.
    """

    id: str
    source: str
    eager: bool
    need: Need
    ran: bool


def main() -> int:
    """Prints the errors and what follows from them; 1 if a limit is missed."""
    rows = [*residuals(runs_of("memory")), *PRINTED]
    labels = [*labelled(runs_of("memory")), *labelled(runs_of("llm_training"), beside=True)]
    for eager in (True, False):
        told = learned([row for row in rows if row.eager is eager])
        print(f"{'eager' if eager else 'other'} software: {told}")
    likely = [sure(label, rows) for label in labels]
    missed = [
        each.id for each, p in zip(labels, likely, strict=True) if not each.ran and p >= DEMAND
    ]
    alarms = Counter(
        each.source for each, p in zip(labels, likely, strict=True) if each.ran and p < DEMAND
    )
    ran = sum(each.ran for each in labels)
    print(f"{len(labels) - ran} out of memory, said to fit at {DEMAND:.0%}: {len(missed)}", *missed)
    share = alarms.total() / ran
    print(f"{ran} ran, not said to fit at {DEMAND:.0%}: {share:.1%}", dict(alarms))
    came = np.array([float(each.ran) for each in labels])
    brier = float(np.mean((np.array(likely) - came) ** 2))
    best, margin = fixed(labels)
    print(f"Brier score {brier:.4f}; of the best fixed margin ({margin:+.0%}) {best:.4f}")
    _reliability(likely, came)
    shipped = np.array([each.need.probability for each in labels])
    print(
        f"by the set that is shipped: {int(((shipped >= DEMAND) * (1 - came)).sum())} said to fit,"
        f" {float(((shipped < DEMAND) * came).sum() / came.sum()):.1%} not said to"
    )
    kept = len(missed) <= MISSES and share <= ALARMS and brier < best
    print("kept" if kept else "MISSED")
    return 0 if kept else 1


def residuals(runs: Sequence[MeasuredRun]) -> Iterator[Residual]:
    """How far off each run of a table is that any error may be learned from."""
    for run in runs:
        stated = run.layout.micro_batch or run.global_batch or run.source_id != UNSTATED
        if run.source_id in NEVER or run.out_of_memory or run.check or not stated:
            continue
        try:
            value = predict(run, DEFAULT, played=False).value
        except ForetrainError:
            continue
        if value and run.measured:
            yield Residual(
                source=run.source_id,
                model=run.network.name,
                eager=_is_eager(run),
                value=float(np.log(run.measured / value)),
            )


PRINTED = tuple(
    Residual(source="bigscience-v100", model="GPT 52B", eager=False, value=float(value))
    for value in np.log(np.array([26.0, 29.0, 32.0, 26.0, 32.0]) / 22.02)
)
"""Peaks in GB that rows of steps print, over what is predicted of all five."""


def labelled(runs: Sequence[MeasuredRun], *, beside: bool = False) -> Iterator[Label]:
    """Runs that fitted or did not, each once.

    Args:
        runs: of a table.
        beside: whether of runs that ran only those count whose source has some that did not.
    """
    failing = {run.source_id for run in runs if run.out_of_memory}
    for run in runs:
        if run.source_id in NEVER or (beside and run.source_id not in failing):
            continue
        try:
            found = need(run, DEFAULT)
        except ForetrainError:
            continue
        yield Label(
            id=run.id,
            source=run.source_id,
            eager=_is_eager(run),
            need=found,
            ran=not run.out_of_memory,
        )


def _is_eager(run: MeasuredRun) -> bool:
    return case_of(run, CATALOGUE).software.keeps is not None


def sure(label: Label, rows: Sequence[Residual]) -> float:
    """How sure it is that a run fits, by the errors of other sources."""
    others = [row for row in rows if row.source != label.source and row.eager is label.eager]
    return probability(label.need.total, label.need.room, learned(others))


_LEARNED: dict[tuple[Residual, ...], MemoryErrors] = {}


def learned(rows: Sequence[Residual]) -> MemoryErrors:
    """Percentiles of errors; the rows of one model of one source count once together."""
    key = tuple(rows)
    if key not in _LEARNED:
        many = Counter((row.source, row.model) for row in rows)
        values = np.array([row.value for row in rows])
        weights = np.array([1.0 / many[row.source, row.model] for row in rows])
        places = np.linspace(values.min() - TAIL, values.max() + TAIL, POINTS)
        steps = np.exp(-np.logaddexp(0.0, (values - places[:, np.newaxis]) / ROUNDED))
        found = np.interp(PERCENTILES, steps @ weights / weights.sum(), places)
        names = (field.name for field in fields(MemoryErrors))
        _LEARNED[key] = MemoryErrors(**dict(zip(names, found.round(4).tolist(), strict=True)))
    return _LEARNED[key]


def fixed(labels: Sequence[Label]) -> tuple[float, float]:
    """The Brier score of the best fixed margin, and which that is."""
    came = np.array([float(each.ran) for each in labels])
    spare = np.array([np.log(each.need.room / each.need.total) for each in labels])
    scores = {float(at): float(np.mean(((spare > at) - came) ** 2)) for at in MARGINS}
    best = min(scores, key=lambda at: scores[at])
    return scores[best], best


def _reliability(likely: Sequence[float], came: np.ndarray) -> None:
    """What came of runs of which as much was said."""
    bounds: Mapping[float, float] = {0.0: 0.05, 0.05: 0.5, 0.5: 0.95, 0.95: 1.01}
    for low, high in bounds.items():
        mine = [place for place, p in enumerate(likely) if low <= p < high]
        if mine:
            said = float(np.mean([likely[place] for place in mine]))
            print(f"  said {low:.0%} to {min(high, 1):.0%}: {len(mine):4} runs, ", end="")
            print(f"{said:.0%} said, {float(came[mine].mean()):.0%} ran")


if __name__ == "__main__":
    sys.exit(main())
