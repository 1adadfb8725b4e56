"""Learns how wide intervals are, and writes it to the set of coefficients that foretrain ships.

    python -m validation.widths

After `python -m validation.calibrate`, since residuals are those of its folds. Also writes what the
set covers: devices, sizes and kinds of the runs that it was fitted to.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from statistics import median

from validation.calibrate import FILE, kept_apart
from validation.fitting.decisions import decisions
from validation.fitting.lessons import Group, Lessons, learned, lessons_of
from validation.fitting.plan_errors import fitted, pairs
from validation.fitting.scores import Scored, grouped
from validation.parts.cold import folds, judged
from validation.parts.families import family_of, generation_of

from foretrain.app.engine import engine
from foretrain.coefficients.coefficients import Calibration, Coefficient, Origin
from foretrain.coefficients.intervals import KINDS, covered
from foretrain.coefficients.uncertainty import Fitted
from foretrain.evidence.validate import Engine
from foretrain.study.coefficients import PRIORS, SHIPPED, as_toml

TABLES = ("llm_training", "more/llm_training", "cnn_training", "more/cnn_training")
ASSUMED = frozenset({"quicker", "sample"})
"""What `Uncertainty` holds that rows do not teach: to which side the next publisher errs, and what
no row that may be fitted to has been."""

SOURCE = "cross-validated residuals, by python -m validation.widths"


def main() -> int:
    """Writes the shipped set anew."""
    with engine(os.cpu_count() or 1) as spread:
        scored = [row for name in TABLES for row in judged(name, folds(), engine=spread).scored]
        besides = [
            (taught(chain.from_iterable(_judged(kind, group, engine=spread))), _named(kind, group))
            for kind, group in (("software", family_of), ("generation", generation_of))
        ]
    made = with_widths(SHIPPED, taught(scored), besides=besides)
    made = with_plan_errors(made, besides[0][0])
    about = FILE.read_text("utf-8").partition("\n")[0].removeprefix("# ")
    FILE.write_text(as_toml(made, over=PRIORS, about=about), "utf-8")
    for name, it in made.known.items():
        if name.startswith(("uncertainty.", "plan_errors.")):
            print(f"{name:24} {it.value:.3f} ({it.low:.3f} to {it.high:.3f})")
    return 0


def _judged(kind: str, group: Group, *, engine: Engine) -> Iterator[tuple[Scored, ...]]:
    """Rows of every table, predicted without something else than their publisher."""
    for name in TABLES:
        yield judged(name, folds(kind), engine=engine, group=group).scored


def _named(kind: str, group: Group) -> Group:
    return lambda run: f"{kind}/{group(run)}"


def taught(scored: Iterable[Scored]) -> list[Scored]:
    """The rows that something may be fitted to."""
    apart = kept_apart()
    return [row for row in scored if row.run.source_id not in apart]


def with_widths(
    made: Calibration,
    scored: Sequence[Scored],
    *,
    besides: Sequence[tuple[Sequence[Scored], Group]] = (),
) -> Calibration:
    """A calibration with the widths that cold residuals teach, and what their rows cover."""
    lessons = lessons_of(scored, PRIORS.coefficients.uncertainty, besides=besides)
    whole, parts = asdict(learned(lessons)), [asdict(learned(it)) for it in _left_out(lessons)]
    rows = tuple(row.run.id for row in scored)
    widths = {
        f"uncertainty.{name}": _coefficient(value, [part[name] for part in parts], rows)
        for name, value in whole.items()
        if name not in ASSUMED
    }
    covers = covered([row.situation for row in scored if row.situation is not None])
    known: Mapping[str, Coefficient] = {**made.known, **widths}
    return replace(made, known=known, covers=replace(covers, runs=fitted_runs(scored)))


def with_plan_errors(made: Calibration, scored: Sequence[Scored]) -> Calibration:
    """A calibration with how far two plans of one study err apart, software left out."""
    known = tuple(pairs(decisions(scored)))
    whole = asdict(fitted(known))
    parts = [
        asdict(fitted([it for it in known if it.source_id != name]))
        for name in sorted({it.source_id for it in known})
    ]
    rows = tuple(row.run.id for row in scored)
    errors = {
        f"plan_errors.{name}": _coefficient(value, [part[name] for part in parts], rows)
        for name, value in whole.items()
    }
    return replace(made, known={**made.known, **errors})


def fitted_runs(scored: Sequence[Scored]) -> tuple[Fitted, ...]:
    """The rows, those of one source, model and device together."""
    groups = grouped(
        [row for row in scored if row.situation is not None],
        lambda row: (row.run.source_id, row.run.network.name, row.situation.device),
    )
    return tuple(
        Fitted(
            id=rows[0].run.id,
            model=name,
            device=device,
            sample=found[0].sample,
            parameters=median(it.parameters for it in found),
            devices=(min(it.devices for it in found), max(it.devices for it in found)),
            kinds=frozenset(kind for kind in KINDS if any(getattr(it, kind) for it in found)),
            rows=len(rows),
            error=median(row.error for row in rows),
        )
        for (_, name, device), rows in sorted(groups.items())
        for found in [[row.situation for row in rows]]
    )


def _left_out(lessons: Lessons) -> list[Lessons]:
    """The lessons without each publisher."""
    return [lessons.without(name) for name in sorted({it.publisher for it in lessons.rows})]


def _coefficient(value: float, without: Sequence[float], rows: tuple[str, ...]) -> Coefficient:
    """A width, between the least and the most that comes out without some publisher."""
    return Coefficient(
        value=value,
        unit="1",
        low=min(value, *without),
        high=max(value, *without),
        kind=Origin.MEASURED,
        source=SOURCE,
        rows=rows,
    )


if __name__ == "__main__":
    sys.exit(main())
