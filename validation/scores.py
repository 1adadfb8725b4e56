"""How far off step times are: cold, anchored, as scaling efficiency, and what intervals are worth.

    python -m validation.scores

Cold: no coefficient was fitted to a run of the row's publisher. Anchored: one run of the same
framework, model, device and precision has moved the factor of the framework. Every source weighs
the same; figures over all rows stand beside. Bars are those of issue 5; the exit status is 1 if
one is missed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from math import exp
from statistics import fmean

from validation.fitting.classes import CLASSES
from validation.fitting.lessons import Held, held_out, interval_score, lessons_of, observed
from validation.fitting.scaling import Scaling, scaling
from validation.fitting.scores import Score, Scored, anchored, grouped, score
from validation.parts.claims import Claim, table
from validation.parts.cold import Judged, folds, judged, stand_ins
from validation.widths import taught

from foretrain.app.progress import engine
from foretrain.study.coefficients import PRIORS

BARS = {
    "all": (0.16, 0.11),
    "dense, all stated": (0.12, 0.08),
    "experts": (0.28, 0.20),
}
"""Most that the mean and the median error may be, by class; others are reported."""

INSIDE = 0.6
"""Share of a source's rows that its intervals must hold at least."""


def main() -> int:
    """Prints every figure; 1 if a bar is missed."""
    with engine(os.cpu_count() or 1) as spread:
        sets = folds()
        texts = judged("llm_training", sets, engine=spread)
        pictures = judged("cnn_training", sets, engine=spread)
    for name in stand_ins([texts, pictures], sets):
        print(f"NOT COLD: no set was fitted without {name}")
    print("\n".join(details(texts)))
    claims = [*of_texts(texts), *of_pictures(pictures), *of_intervals(texts)]
    print("\n".join(table(claims)))
    return 1 if any(claim.kept is False for claim in claims) else 0


def details(texts: Judged) -> Iterator[str]:
    """Every class, source by source."""
    for name, belongs in CLASSES.items():
        yield from _lines(f"cold, {name}", score(row for row in texts.scored if belongs(row.run)))
    yield from _lines("anchored", score(anchored(texts.scored)))
    yield "scaling efficiency"
    for source, points in grouped(scaling(texts.scored), lambda point: point.source_id).items():
        error = fmean(abs(point.error) for point in points)
        yield f"  {source:18} {len(points):5} {error:7.1%}"


def _lines(name: str, found: Score) -> Iterator[str]:
    yield f"{name}: rows, mean, median"
    for source, its in found.sources.items():
        yield f"  {source:18} {its.rows:5} {its.mean:7.1%} {its.median:7.1%}"
    if found.pooled:
        yield (
            f"  {'all rows':18} {found.pooled.rows:5} {found.pooled.mean:7.1%} "
            f"{found.pooled.median:7.1%}"
        )


def of_texts(texts: Judged) -> Iterator[Claim]:
    """Step times of language models."""
    for name, belongs in CLASSES.items():
        mean, median = BARS.get(name, (None, None))
        found = score(row for row in texts.scored if belongs(row.run))
        yield Claim(name=f"LLM cold, {name}: mean", figure=found.mean, most=mean)
        yield Claim(name=f"LLM cold, {name}: median", figure=found.median, most=median)
    found = score(anchored(texts.scored))
    yield Claim(name="LLM anchored: mean", figure=found.mean, most=0.08)
    yield Claim(name="LLM anchored: median", figure=found.median, most=0.05)
    yield Claim(
        name="scaling efficiency: mean error",
        figure=scaling_error(scaling(texts.scored)),
        most=0.04,
    )


def scaling_error(points: Iterable[Scaling]) -> float | None:
    """Average of the sources' mean errors; None without a family."""
    by_source = grouped(points, lambda point: point.source_id).values()
    return fmean(fmean(abs(it.error) for it in its) for its in by_source) if by_source else None


def of_pictures(pictures: Judged) -> Iterator[Claim]:
    """Step times of convolutional networks."""
    found, moved = score(pictures.scored), score(anchored(pictures.scored))
    yield Claim(name="CNN cold: mean", figure=found.mean, most=0.15)
    yield Claim(name="CNN anchored: mean", figure=moved.mean, most=0.06)


def of_intervals(texts: Judged) -> Iterator[Claim]:
    """What the intervals of language models are worth."""
    cold, moved = intervals(texts.scored)
    yield from _worth("cold", cold)
    large = interval_score(cold).sources.values()
    share = fmean(covered >= INSIDE for covered in large) if large else None
    yield Claim(name="interval, cold: large sources with 60 % inside", figure=share, least=0.8)
    for name, most, of_experts in (("dense", 1.6, False), ("others", 2.0, True)):
        its = [held for held in cold if held.observed.situation.experts is of_experts]
        yield _ratio(f"cold, {name}", its, most=most)
    yield from _worth("anchored", moved)
    yield _ratio("anchored", moved, most=1.25)


def intervals(scored: Sequence[Scored]) -> tuple[tuple[Held, ...], tuple[Held, ...]]:
    """Every row with the interval that other publishers' rows give: cold, and anchored."""
    lessons = lessons_of(taught(scored), PRIORS.coefficients.uncertainty)
    moved = observed(anchored(scored), moved=True)
    return held_out(lessons, observed(scored)), held_out(lessons, moved, moved=True)


def _ratio(name: str, held: Sequence[Held], *, most: float) -> Claim:
    """Upper over lower end, the median of some rows."""
    figure = exp(interval_score(held).ratio) if held else None
    write = "{:.2f}".format
    return Claim(name=f"interval, {name}: high / low", figure=figure, most=most, write=write)


def _worth(name: str, held: Sequence[Held]) -> Iterator[Claim]:
    found = interval_score(held)
    yield Claim(name=f"interval, {name}: rows inside", figure=found.coverage, least=0.75, most=0.87)
    yield Claim(
        name=f"interval, {name}: score over that of one width",
        figure=found.score / found.constant,
        most=1.0,
    )


if __name__ == "__main__":
    sys.exit(main())
