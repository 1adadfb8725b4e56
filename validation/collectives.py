"""Transfer times: protocol terms fitted to one machine, held against another.

    python validation/collectives.py

Three checks over published runs of nccl-tests, all-reduces of 64 KB and more, at most 12 % off in
the mean: H100 on two nodes predicts one node; one node predicts two nodes, though its rows tell
nothing of a network; H100 predicts A100, from its data sheet. What comes out where two nodes of
A100 tell of the network stands below. Sizes that were run twice on two nodes of H100 count by the
quicker run; the other one is up to 2.2 times as slow.

Then the terms that all rows together ask for, as they stand in the set of coefficients. The exit
status is 1 if a check is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from validation.fitting.collectives import LEAST, NAMES, Timed, errors, fitted, predicted, quickest

from foretrain.coefficients.coefficients import Coefficient
from foretrain.evidence.predict import CATALOGUE
from foretrain.measured.place import exchange_case
from foretrain.step.collective import PATTERNS, algorithms
from foretrain.step.strategies.strategy import Pattern
from foretrain.study.coefficients import DEFAULT, PRIORS
from foretrain.study.measurements import read_runs
from foretrain.units import BYTES, SECONDS

TABLES = tuple(
    Path(__file__).parent / "tables" / name for name in ("collectives.csv", "more/collectives.csv")
)
BAR = 0.12
BEFORE = DEFAULT.changed({name: PRIORS.known[name].value for name in NAMES})
"""The shipped set with protocol terms as they were known before any fit."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """Terms fitted to some runs, held against others.

    Attributes:
        title: what is held against what.
        fit: runs.
        held: the others.
        bar: largest mean error; None if it is only told.
    """

    title: str
    fit: Sequence[Timed]
    held: Sequence[Timed]
    bar: float | None = BAR


def timed(least: float = LEAST, *, unscored: str = "") -> Iterator[Timed]:
    """The rows that are fitted and scored.

    Args:
        least: bytes of the shortest messages.
        unscored: a source of which the rows that are not scored are wanted instead.
    """
    for run in (run for table in TABLES for run in read_runs(table)):
        wanted = run.source_id == unscored if unscored else not run.check
        if not wanted or run.measured is None:
            continue
        case = exchange_case(run, CATALOGUE)
        if case.size >= least:
            yield Timed(
                id=run.id,
                run=f"{run.source_id}: {run.place.devices} {run.place.device}, {case.collective}",
                cluster=case.cluster,
                pattern=PATTERNS[case.collective],
                size=case.size,
                seconds=run.measured,
                together=case.together,
            )


def checks(rows: Sequence[Timed]) -> Iterator[Check]:
    """What is fitted to what, and held against what."""
    reduced = [
        row for row in rows if row.pattern is Pattern.ALL_REDUCE and row.source == "aws-nccl"
    ]
    node = [row for row in reduced if ": 8 H100" in row.run]
    every = [row for row in reduced if ": 16 H100" in row.run]
    nodes, a100 = quickest(every), [row for row in reduced if "A100" in row.run]
    amd = [row for row in rows if "MI250X" in row.run]
    yield Check(title="H100: two nodes predict one", fit=nodes, held=node)
    yield Check(title="H100: one node predicts two", fit=node, held=nodes)
    yield Check(
        title="the same with A100's network known", fit=[*node, *a100], held=nodes, bar=None
    )
    yield Check(title="H100 predicts A100", fit=[*node, *nodes], held=a100)
    yield Check(title="the same, slow repeats too", fit=[*node, *a100], held=every, bar=None)
    for pattern in (Pattern.ALL_REDUCE, Pattern.ALL_GATHER):
        held = [row for row in amd if row.pattern is pattern]
        fit = [*node, *nodes, *a100]
        yield Check(title=f"NCCL predicts RCCL, {pattern}", fit=fit, held=held, bar=None)


def passed(check: Check) -> bool:
    """Print one check; whether it is kept."""
    terms = fitted(check.fit, PRIORS.known, BEFORE)
    coefficients = BEFORE.changed({name: term.value for name, term in terms.items()})
    off = errors(check.held, coefficients)
    mean = float(np.abs(off).mean())
    kept = check.bar is None or mean <= check.bar
    verdict = "told" if check.bar is None else "kept" if kept else "MISSED"
    print(
        f"{check.title}: {len(off)} rows, mean error {mean:.1%}, bias {off.mean():+.1%}: {verdict}"
    )
    seconds = predicted(check.held, coefficients)
    for row, found, error in zip(check.held, seconds, off, strict=True):
        assert row.pattern is not None
        (name,) = algorithms(row.cluster, coefficients, row.pattern, sizes=[row.size])
        told = f"{SECONDS.write(row.seconds):>10s}  predicted {SECONDS.write(float(found)):>10s}"
        print(f"  {BYTES.write(row.size):>9s}  measured {told}  {error:+6.0%}  {name}")
    return kept


def terms_of(rows: Sequence[Timed]) -> Mapping[str, Coefficient]:
    """What all rows together ask for, repeats by the quicker one."""
    return fitted(quickest(rows), PRIORS.known, BEFORE)


def main() -> bool:
    """Print everything; whether all checks are kept."""
    rows = tuple(timed())
    kept = [passed(check) for check in checks(rows)]
    print("terms fitted to all rows: value, interval, value of the shipped set")
    for name, term in terms_of(rows).items():
        interval = f"{term.low:.3g} to {term.high:.3g}"
        print(f"  {name:24s} {term.value:.3g}  {interval:22s} {DEFAULT.value(name):.3g}")
    return all(kept)


if __name__ == "__main__":
    sys.exit(not main())
