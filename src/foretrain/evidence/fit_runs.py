"""Observe: measured runs as what a fit learns from.

fit_runs: coefficients fitted to measured runs, and how well they do on runs left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache
from math import expm1
from types import MappingProxyType
from typing import Protocol

import numpy as np

from foretrain.coefficients.coefficients import Calibration, Coefficient, Coefficients, Origin
from foretrain.errors import ForetrainError, InputError
from foretrain.evidence.fit import (
    MOST_SCATTER,
    UNTOUCHED,
    Ask,
    Fit,
    Flags,
    Floats,
    Free,
    Observation,
    Predict,
    Rows,
    fit,
    free_of,
    membership,
    noisy,
    observation,
    refit,
    values_of,
    weights,
)
from foretrain.evidence.predict import CATALOGUE, measured_seconds, predict
from foretrain.evidence.result import (
    FARTHEST,
    Calibrated,
    Judged,
    Moved,
    Odd,
    deviations,
    folds_of,
    left_out,
    of_one_place,
    scatter,
    standard_error,
)
from foretrain.measured import lore
from foretrain.measured.case import case_of
from foretrain.measured.run import MeasuredRun, Subject
from foretrain.step.alternatives import climb
from foretrain.step.setting import setting
from foretrain.study.coefficients import PRIORS
from foretrain.units import SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class FitQuestion:
    """Some runs, and the sets that are to predict some of them.

    Attributes:
        runs: the runs.
        sets: the coefficients.
        asked: for each set, positions of the runs to predict.
    """

    runs: tuple[MeasuredRun, ...]
    sets: tuple[Coefficients, ...]
    asked: tuple[tuple[int, ...], ...]


def log_seconds(question: FitQuestion) -> list[Floats]:
    """Logarithms of predicted seconds for each set, 0 where none was asked for."""
    found = []
    for coefficients, asked in zip(question.sets, question.asked, strict=True):
        predicted = np.zeros(len(question.runs))
        for place in asked:
            seen = observed(question.runs[place])
            assert seen is not None
            predicted[place] = seen.log_seconds(coefficients)
        found.append(predicted)
    return found


@lru_cache(maxsize=4096)
def observed(run: MeasuredRun) -> Observation | None:
    """A run as an observation; None for one that says nothing of a step's time.

    A plan whose recomputation is not stated is the one that the priors find to fit; one whose
    degrees are not stated tells nothing, for which plan ran is not known.
    """
    coefficients = PRIORS.coefficients
    if run.subject is not Subject.STEP_TIME or run.out_of_memory:
        return None
    try:
        case = case_of(run, CATALOGUE)
        measured = measured_seconds(run, case)
        if measured is None or case.others:
            return None
        priced = setting(case.workload, case.cluster, coefficients, software=case.software)
        plan = climb(priced, case.plausible).plan if case.heavier else case.plan
    except ForetrainError:
        return None
    return observation(priced, plan, measured=measured)


PIECE = 48
"""Runs that are predicted together, so that each process prepares few of them."""

GROUPS = ("matrix", "attention", "traffic", "host", "overlap")
"""What the time of a step tells of. Of links it tells too little apart from what hides them; those
are held by micro-benchmarks."""

FIXED = (
    "host.memory",
    "host.spread",
    "matrix.experts",
    "overlap.experts",
    "traffic.stretched",
    "traffic.scanned",
)
"""No run of a dense transformer tells of them, or somebody measured them."""


def fittable(known: Calibration = PRIORS) -> tuple[str, ...]:
    """Names of the coefficients that steps may move: those that are not known exactly."""
    return tuple(
        name
        for name, it in known.known.items()
        if name.split(".", maxsplit=1)[0] in GROUPS and name not in FIXED and it.low < it.high
    )


class FitEngine(Protocol):
    """Applies a function to every item and gives the answers in the items' order, like `map`."""

    def __call__(
        self, function: Callable[[FitQuestion], list[Floats]], items: Sequence[FitQuestion], /
    ) -> Iterable[list[Floats]]:
        """The answers."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """What is fitted, and to what.

    Attributes:
        free: names of the coefficients that may move, unless the runs are of one place.
        kept_apart: sources to which nothing is fitted.
        left_out: groups that a run belongs to (its publisher, a family of software), each of which
            is left out once; None leaves nobody out.
        name: of the new set.
        date: of the fit, year first.
        command: by which it can be made again.
        own: whether the runs are of one place, and move what differs from place to place alone.
        anyway: whether to accept a set that is doubted.
    """

    free: tuple[str, ...]
    kept_apart: AbstractSet[str]
    left_out: Callable[[MeasuredRun], AbstractSet[str]] | None
    name: str
    date: str
    command: str
    own: bool = False
    anyway: bool = False


def fit_runs(
    runs: Sequence[MeasuredRun],
    fitting: Fitting,
    *,
    priors: Calibration = PRIORS,
    engine: FitEngine = map,
    progress: Callable[[str], None] = lambda _: None,
) -> Calibrated:
    """Which coefficients do measured runs speak for?

    Args:
        runs: measured runs; those that are doubtful, recalled or kept apart are left out.
        fitting: what is fitted, and to what.
        priors: what was known before, from which no fit goes farther than rows demand.
        engine: applies a function to every item, in order; `map`, or one of several processes.
        progress: told in words what is done.

    Returns:
        The set fitted to all runs, and those fitted without each group that is left out.

    Raises:
        InputError: no run is left, or a coefficient cannot be fitted.
    """
    apart = fitting.kept_apart | _noisy(runs)
    used = tuple(
        run for run in runs if run.may_be_fitted and run.source_id not in apart and observed(run)
    )
    if not used:
        raise InputError(
            "calibrate: no run is left to fit to. Runs need a measured step time. A source's "
            f"repeats of one configuration must agree within {MOST_SCATTER:.0%}."
        )
    free, rows, ask = _asked(used, fitting, priors=priors, engine=engine)
    progress(f"{len(used)} runs, {len(free)} coefficients")
    whole = fit(rows, ask, start=np.zeros(len(free)))
    progress(f"fitted to all runs: {_error(whole, rows):.3f}")
    folds = {}
    groups = [fitting.left_out(run) if fitting.left_out else frozenset() for run in used]
    for group in sorted(frozenset().union(*groups)):
        keep = np.array([group not in each for each in groups]) & (rows.weight > 0)
        found = refit(whole, replace(rows, weight=rows.weight * keep), ask)
        folds[group] = _calibration(found, free, fitting, priors=priors, used=used, keep=keep)
        progress(f"fitted without {group}")
    keep = rows.weight > 0
    odd = _odd(used, priors.coefficients) if fitting.left_out is None else ()
    judged = _judged(whole, rows, ask, used=used) if fitting.left_out is None else None
    doubts = tuple(_doubts(judged, odd, runs=len(used)))
    return Calibrated(
        calibration=_calibration(whole, free, fitting, priors=priors, used=used, keep=keep),
        moved=_moved(whole, free, priors),
        folds=MappingProxyType(folds),
        rows=tuple(run.id for run in used),
        error=_error(whole, rows),
        judged=judged,
        odd=odd,
        doubts=doubts,
        accepted=fitting.anyway or not doubts,
    )


def _asked(
    used: tuple[MeasuredRun, ...], fitting: Fitting, *, priors: Calibration, engine: FitEngine
) -> tuple[tuple[Free, ...], Rows, Predict]:
    """What may move, the measured side of the runs, and who predicts them."""
    trainers = [lore.trainer_of(run) for run in used]
    repeats = [run.repeat or run.id for run in used]
    rows = Rows(
        measured=np.log([seen.measured for seen in map(observed, used) if seen is not None]),
        weight=weights(trainers, repeats, sources=[run.source_id for run in used]),
        trainer=membership(trainers),
    )
    if not fitting.own:
        named = []
        for name in fitting.free:
            if name not in priors.known:
                raise InputError(
                    f"coefficient '{name}': unknown. Known: {', '.join(priors.known)}."
                )
            named.append(free_of(name, priors.known[name]))
        return tuple(named), rows, _Predicting(used, tuple(named), priors=priors, engine=engine)
    free, rows = of_one_place(rows, priors)
    ask = _Predicting(used, free, priors=priors, engine=engine)
    (before,) = ask([(np.zeros(len(free)), np.ones(len(used), np.bool_))])
    return free, replace(rows, noise=scatter(rows.measured - before)), ask


def _odd(runs: Sequence[MeasuredRun], coefficients: Coefficients) -> tuple[Odd, ...]:
    """Runs that no prediction comes near, the farthest first."""
    found = []
    for run in runs:
        said = predict(run, coefficients, played=False)
        known = said.measured, said.value, said.low, said.high
        measured, value, low, high = (0.0 if each is None else each for each in known)
        assert min(measured, value, low, high) > 0, "a run that was observed is not predicted"
        far = deviations(measured, value, (low, high))
        if abs(far) > FARTHEST:
            found.append(Odd(run=run.id, measured=measured, predicted=value, deviations=far))
    return tuple(sorted(found, key=lambda each: -abs(each.deviations)))


def _judged(whole: Fit, rows: Rows, ask: Predict, *, used: Sequence[MeasuredRun]) -> Judged | None:
    """What the fit is worth on configurations that were left out of it."""
    configurations = [f"{run.source_id}, {run.repeat or run.id}" for run in used]
    folds = folds_of(configurations)
    if folds is None:
        return None
    everything = np.ones(len(used), np.bool_)
    (before,) = ask([(np.zeros(len(whole.scores)), everything)])
    after = left_out(whole, rows, ask, folds=folds)
    off, then = (np.abs(each - rows.measured) for each in (before, after))
    return Judged(
        rows=len(used),
        before=float(np.mean(off)),
        after=float(np.mean(then)),
        error=standard_error(off - then, configurations),
    )


def _doubts(judged: Judged | None, odd: Sequence[Odd], *, runs: int) -> Iterator[str]:
    """Why the set should not be used."""
    if judged is not None and not judged.helps:
        yield (
            f"it does not help: runs that were left out of the fit are predicted "
            f"{expm1(judged.after):.1%} off, and {expm1(judged.before):.1%} without it (chance "
            f"alone moves the difference by {expm1(judged.error):.1%})"
        )
    # A loss that bends bears a few odd rows among many, not one of which all depends.
    if (judged is None and odd) or 2 * len(odd) > runs:
        far = odd[0]
        yield (
            f"{len(odd)} of {runs} runs are not to be believed, {far.run} least: "
            f"{SECONDS.write(far.measured)} measured, {SECONDS.write(far.predicted)} predicted, "
            f"{abs(far.deviations):.0f} standard deviations"
        )


def _noisy(runs: Sequence[MeasuredRun]) -> frozenset[str]:
    """Sources that tell nothing: every run counts here, the doubtful ones too."""
    known = [(run, seen.measured) for run in runs if not run.check and (seen := observed(run))]
    return noisy(
        [run.source_id for run, _ in known],
        [run.repeat or run.id for run, _ in known],
        np.log([measured for _, measured in known]),
    )


class _Predicting:
    """Predictions of all runs with some scores, piece by piece wherever the engine works."""

    def __init__(
        self,
        runs: tuple[MeasuredRun, ...],
        free: Sequence[Free],
        *,
        priors: Calibration,
        engine: FitEngine,
    ) -> None:
        self._pieces = [runs[at : at + PIECE] for at in range(0, len(runs), PIECE)]
        self._free, self._engine = free, engine
        self._coefficients = priors.coefficients

    def __call__(self, asks: Sequence[Ask]) -> Sequence[Floats]:
        """Log seconds for each of some scores, of the rows that are asked for. [row]"""
        sets = tuple(
            self._coefficients.changed(values_of(self._free, scores)) for scores, _ in asks
        )
        questions = []
        for place, piece in enumerate(self._pieces):
            inside = slice(place * PIECE, place * PIECE + len(piece))
            asked = tuple(tuple(map(int, np.flatnonzero(rows[inside]))) for _, rows in asks)
            questions.append(FitQuestion(runs=piece, sets=sets, asked=asked))
        found = list(self._engine(log_seconds, questions))
        return [np.concatenate(pieces) for pieces in zip(*found, strict=True)]


def _error(found: Fit, rows: Rows) -> float:
    return float(np.sqrt(np.mean((found.predicted - rows.measured) ** 2)))


def _calibration(
    found: Fit,
    free: Sequence[Free],
    fitting: Fitting,
    *,
    priors: Calibration,
    used: Sequence[MeasuredRun],
    keep: Flags,
) -> Calibration:
    """The set with what was fitted, each value with the rows that it makes a difference to."""
    known = dict(priors.known)
    for place, each in enumerate(free):
        touched = keep & (np.abs(found.slopes[:, place]) > UNTOUCHED)
        rows = tuple(used[int(row)].id for row in np.flatnonzero(touched))
        if not rows:
            continue
        low, high = found.interval(free, place)
        known[each.name] = Coefficient(
            value=each.value(float(found.scores[place])),
            unit=known[each.name].unit,
            low=low,
            high=high,
            kind=Origin.MEASURED,
            source=fitting.command,
            rows=rows,
        )
    return Calibration(name=fitting.name, date=fitting.date, known=known, covers=priors.covers)


def _moved(found: Fit, free: Sequence[Free], priors: Calibration) -> tuple[Moved, ...]:
    return tuple(
        Moved(
            name=each.name,
            prior=priors.known[each.name].value,
            value=each.value(float(found.scores[place])),
            low=found.interval(free, place)[0],
            high=found.interval(free, place)[1],
            unit=priors.known[each.name].unit,
            score=float(found.scores[place]),
            rows=int(np.sum(np.abs(found.slopes[:, place]) > UNTOUCHED)),
        )
        for place, each in enumerate(free)
    )
