"""Predictions of published runs by coefficients that were fitted without their publisher.

`folds/PUBLISHER.toml` is the set that was fitted without that publisher, over the priors. Runs of
a publisher without such a set are predicted with the shipped one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from validation.fitting.scores import Scored, grouped, scored_rows
from validation.parts.publishers import read_publishers

from foretrain.coefficients.coefficients import Coefficients
from foretrain.evidence.validate import Engine, ValidationRow, validate
from foretrain.measured.run import MeasuredRun
from foretrain.study.coefficients import DEFAULT, PRIORS, calibration
from foretrain.study.measurements import read_runs

HERE = Path(__file__).parents[1]
FOLDS = HERE / "folds"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The runs of a table, each predicted without its publisher.

    Attributes:
        runs: all.
        rows: what is said of each.
        scored: those that count.
    """

    runs: tuple[MeasuredRun, ...]
    rows: tuple[ValidationRow, ...]
    scored: tuple[Scored, ...]


def publishers() -> Mapping[str, str]:
    """Who published each source."""
    return read_publishers(HERE / "publishers.toml")


def folds(kind: str = "") -> Mapping[str, Coefficients]:
    """The set of every publisher that one was fitted without.

    Args:
        kind: `software` or `generation` for the sets of those instead.
    """
    return {
        file.stem: calibration(file.read_text("utf-8"), over=PRIORS, where=file.name).coefficients
        for file in sorted((FOLDS / kind).glob("*.toml"))
    }


def stand_ins(every: Iterable[Judged], sets: Mapping[str, Coefficients]) -> tuple[str, ...]:
    """Publishers whose scored rows were predicted with the shipped set: these are not cold."""
    found = {row.publisher for each in every for row in each.scored}
    return tuple(sorted(found - set(sets)))


def judged(
    table: str,
    sets: Mapping[str, Coefficients],
    *,
    engine: Engine = map,
    group: Callable[[MeasuredRun], str] | None = None,
) -> Judged:
    """The runs of a table, each predicted with the set of its publisher.

    Args:
        table: name of the file, without its end.
        sets: coefficients by publisher; the shipped ones stand for those that are missing.
        engine: applies a function to every item, in order.
        group: what a run is left out with, where that is not its publisher.
    """
    runs = read_runs(HERE / "tables" / f"{table}.csv")
    known = publishers()

    def publisher(run: MeasuredRun) -> str:
        return known.get(run.source_id, run.source_id)

    found = {
        row.id: row
        for name, its in grouped(runs, group or publisher).items()
        for row in validate(
            its, coefficients=sets.get(name, DEFAULT), played=False, engine=engine
        ).rows
    }
    rows = tuple(found[run.id] for run in runs)
    return Judged(runs=runs, rows=rows, scored=scored_rows(runs, rows, known))
