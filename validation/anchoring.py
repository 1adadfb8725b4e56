"""What a few measured runs of one's own are worth: 1, 3 and 10 random ones of a source.

    python -m validation.anchoring            # prints every source and the claims
    python -m validation.anchoring --record   # writes recorded_anchoring.toml and the page's table

Every source with at least 12 scored rows is somebody's own place. The set that knows nothing of
its publisher (of its software, where networks read pictures) predicts its rows; then `calibrate`
moves pace, host and what hides traffic by some random rows, and the others are predicted again:
200 draws of 1, 3 and 10 rows. Logarithms of predictions are taken to be straight in what moves,
which holds to a few per cent of what they move.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import exp
from pathlib import Path
from random import Random
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray
from validation.fitting.decisions import decisions, order, regrets
from validation.fitting.scores import Scored, grouped
from validation.order import predicted
from validation.parts.claims import Claim
from validation.parts.cold import folds, judged
from validation.parts.families import family_of
from validation.parts.record import Recorded, told
from validation.software import PICTURES, SMALL, TEXTS

from foretrain.app.engine import engine
from foretrain.coefficients.coefficients import Coefficients
from foretrain.evidence.fit import STEP, Ask, Fit, Free, Predict, Rows, membership, refit, weights
from foretrain.evidence.result import folds_of, left_out, of_one_place, scatter, standard_error
from foretrain.evidence.validate import Engine
from foretrain.measured.lore import trainer_of
from foretrain.study.coefficients import SHIPPED

LEAST = 12
DRAWS = 200
PLAN_DRAWS = 30
TAKEN = (1, 3, 10)
SEED = 20261127

Floats = NDArray[np.float64]

RECORDED = Recorded(
    path=Path(__file__).parent / "recorded_anchoring.toml",
    command="validation.anchoring",
    mark="anchoring",
    page=Path(__file__).parents[1] / "docs" / "background" / "software-left-out.md",
)


def main(arguments: Sequence[str]) -> int:
    """Prints every source and the claims; 1 if a figure has dropped."""
    with engine(os.cpu_count() or 1) as pool:
        places = own_places(pool)
    found = {place.name: errors(place) for place in places}
    print("source: rows, cold, and with 1, 3 and 10 of its rows")
    for place in places:
        figures = " ".join(f"{each:7.1%}" for each in found[place.name])
        print(f"  {place.name:24} {len(place.rows.measured):5} {figures}")
    small = next(place for place in places if place.name == SMALL)
    return told([*claims(found), *of_plans(small)], RECORDED, record="--record" in arguments)


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnPlace:
    """The scored rows of a source. [row]

    Attributes:
        name: of the source.
        rows: what was measured.
        predicted: log seconds, by a set that knows nothing of the publisher.
        slopes: of those by score of what `calibrate` moves. [row, free]
        scored: the rows themselves.
    """

    name: str
    scored: tuple[Scored, ...]
    rows: Rows
    predicted: Floats
    slopes: Floats


def own_places(pool: Engine) -> list[OwnPlace]:
    """Every source with enough rows."""
    cold = scored({}, pool)
    moved = [
        scored({each.name: each.value(STEP) for each in steps()}, pool, only=each.name)
        for each in steps()
    ]
    places = []
    for name, its in sorted(grouped(cold.values(), lambda row: row.run.source_id).items()):
        if len(its) < LEAST:
            continue
        predicted = np.log([row.predicted for row in its])
        there = [[each.get(row.run.id, row).predicted for row in its] for each in moved]
        slopes = (np.log(there).T - predicted[:, np.newaxis]) / STEP
        places.append(
            OwnPlace(
                name=name, scored=tuple(its), rows=measured(its), predicted=predicted, slopes=slopes
            )
        )
    return places


def steps() -> tuple[Free, ...]:
    """What `calibrate` moves, on the scale of the shipped set."""
    rows = Rows(measured=np.zeros(1), weight=np.ones(1), trainer=np.ones((1, 1)))
    return of_one_place(rows, SHIPPED)[0]


def scored(changes: Mapping[str, float], pool: Engine, *, only: str = "") -> dict[str, Scored]:
    """Every scored row by its id, predicted by the set without its publisher and one change."""
    shipped = SHIPPED.coefficients

    def changed(known: Coefficients) -> Coefficients:
        if not only:
            return known
        ratio = changes[only] / value_of(shipped, only)
        return known.changed({only: value_of(known, only) * ratio})

    found = []
    for tables, kind, group in ((TEXTS, "", None), (PICTURES, "software", family_of)):
        sets = {name: changed(known) for name, known in folds(kind).items()}
        found += [judged(table, sets, engine=pool, group=group) for table in tables]
    return {row.run.id: row for row in chain.from_iterable(each.scored for each in found)}


def value_of(known: Coefficients, name: str) -> float:
    """A coefficient by its name."""
    group, _, key = name.partition(".")
    value: float = getattr(getattr(known, group), key)
    return value


def measured(rows: Sequence[Scored]) -> Rows:
    """The measured side of scored rows."""
    trainers = [trainer_of(row.run) for row in rows]
    return Rows(
        measured=np.log([row.measured for row in rows]),
        weight=weights(trainers, [row.run.repeat or row.run.id for row in rows]),
        trainer=membership(trainers),
    )


def errors(place: OwnPlace, *, draws: int = DRAWS) -> tuple[float, ...]:
    """Mean absolute error, as a fraction: cold, then with so many rows of the place's own."""
    random = Random(f"{SEED} {place.name}")
    many = len(place.predicted)
    off = np.abs(np.expm1(place.predicted - place.rows.measured))
    found = [float(np.mean(off))]
    for taken in TAKEN:
        each = [after(place, random.sample(range(many), taken)) for _ in range(draws)]
        found.append(fmean(each))
    return tuple(found)


def after(place: OwnPlace, drawn: Sequence[int]) -> float:
    """Mean absolute error of the other rows once `calibrate` has read some."""
    others, said = others_after(place, drawn)
    return float(np.mean(np.abs(np.expm1(said - place.rows.measured[others]))))


def others_after(place: OwnPlace, drawn: Sequence[int]) -> tuple[NDArray[np.int_], Floats]:
    """The other rows and their log predictions once `calibrate` has read some."""
    free, own = of_one_place(part(place.rows, drawn), SHIPPED)
    predicted, slopes = place.predicted[drawn], place.slopes[drawn]
    own = replace(own, noise=scatter(own.measured - predicted))

    def predict(asks: Sequence[Ask]) -> list[Floats]:
        return [predicted + slopes @ scores for scores, _ in asks]

    nothing = np.zeros(len(free))
    start = Fit(
        scores=nothing,
        paces=np.zeros(0),
        slopes=slopes,
        predicted=predicted,
        covariance=np.eye(len(free)),
    )
    found = refit(start, own, predict)
    scores = found.scores if helps(found, own, predict) else nothing
    others = np.setdiff1d(np.arange(len(place.predicted)), drawn)
    return others, place.predicted[others] + place.slopes[others] @ scores


def helps(found: Fit, rows: Rows, predict: Predict) -> bool:
    """Whether a set is written: where there are enough rows, only if it helps on those left out."""
    names = [str(place) for place in range(len(rows.measured))]
    folds = folds_of(names)
    if folds is None:
        return True
    everything = np.ones(len(names), np.bool_)
    (before,) = predict([(np.zeros(len(found.scores)), everything)])
    then = left_out(found, rows, predict, folds=folds)
    off, left = (np.abs(each - rows.measured) for each in (before, then))
    return float(np.mean(off - left)) > standard_error(off - left, names)


def part(rows: Rows, drawn: Sequence[int]) -> Rows:
    """Some rows, each of which counts, and their trainers alone."""
    trainer = rows.trainer[drawn]
    return replace(
        rows,
        measured=rows.measured[drawn],
        weight=np.ones(len(drawn)),
        trainer=trainer[:, trainer.any(axis=0)],
    )


def claims(found: Mapping[str, tuple[float, ...]]) -> Iterator[Claim]:
    """What few rows are worth."""
    for place, taken in enumerate(TAKEN, start=1):
        rows = f"{taken} row{'s' * (taken > 1)} of one's own"
        worse = [its[place] - its[0] for its in found.values()]
        yield Claim(name=f"{rows}: median source, beside cold", figure=median(worse), most=0.0)
        yield Claim(name=f"{rows}: worst source, beside cold", figure=max(worse), most=0.01)
        mean = fmean(its[place] for its in found.values())
        yield Claim(name=f"{rows}: mean", figure=mean, most=0.08 if taken == 3 else None)


def of_plans(place: OwnPlace, *, draws: int = PLAN_DRAWS) -> Iterator[Claim]:
    """The choice among the plans of small GPTs once three of them were measured."""
    random = Random(f"{SEED} plans of {place.name}")
    orders, lost, off = [], [], []
    for _ in range(draws):
        others, said = others_after(place, random.sample(range(len(place.scored)), 3))
        rows = [
            replace(place.scored[row], predicted=exp(seconds))
            for row, seconds in zip(others, said, strict=True)
        ]
        groups = decisions(rows)
        orders.append(order(groups, predicted))
        lost.append(fmean(regrets(groups, predicted)))
        off.append(fmean(abs(row.error) for row in rows))
    yield Claim(name="small GPTs, 3 rows given: mean", figure=fmean(off), most=0.10)
    yield Claim(name="small GPTs, 3 rows given: pairs in order", figure=fmean(orders), least=0.93)
    yield Claim(name="small GPTs, 3 rows given: mean regret", figure=fmean(lost), most=0.03)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
