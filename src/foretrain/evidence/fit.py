"""Observations: measured steps, ready to be predicted with many sets of coefficients.

Fit: coefficients that explain measured runs, no farther from their priors than the runs demand.

Least squares of log(predicted / measured), every source weighing the same, with what was known
before as one more observation of each coefficient. Every trainer has a pace of its own that no
coefficient explains, so that its runs tell more by how they differ than by how long they take.
Large residuals hardly count, so that a few odd rows do not decide.

Sources: holland1977 (the loss); hoerl1970 (priors as a ridge); laird1982 (paces as random effects);
bjorck1996, chapter 9 (Gauss-Newton).

Free coefficients: what a fit may move, and how far it is plausible that it moves.

A fit works on scores: how many standard deviations a value lies from its prior. Shares of
something are spaced as log odds, so that they stay between 0 and 1; everything else as
logarithms, so that it stays above 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from foretrain.coefficients.coefficients import Coefficient, Coefficients
from foretrain.errors import InputError
from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.step.held import Held, hold
from foretrain.step.setting import Setting, recalibrated
from foretrain.step.step import factors, step_time

TENTH = 1.2816
"""Standard deviations between the median and the ninetieth percentile of a normal distribution."""

FARTHEST = 3.0
"""Standard deviations that no fit goes beyond, whatever the rows say."""

EDGE = 0.01
"""How near 0 and 1 the plausible range of a share is taken to end."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    """A coefficient that a fit may move.

    Attributes:
        name: of the coefficient (`links.nvlink`).
        centre: the prior on the scale of the fit.
        spread: its standard deviation there.
        share: whether the value lies between 0 and 1.
    """

    name: str
    centre: float
    spread: float
    share: bool

    def value(self, score: float) -> float:
        """The coefficient at so many standard deviations from its prior."""
        place = self.centre + self.spread * score
        return 1.0 / (1.0 + exp(-place)) if self.share else exp(place)

    def score(self, value: float) -> float:
        """How many standard deviations a value lies from the prior."""
        return (_place(value, share=self.share) - self.centre) / self.spread


def free_of(name: str, prior: Coefficient) -> Free:
    """A coefficient that may move as far as its prior's interval says.

    Raises:
        InputError: the interval has no width, or leaves what its unit allows.
    """
    share = prior.unit == "1" and prior.high <= 1.0
    least = EDGE if share else 0.0
    if not 0.0 < max(prior.low, least) < prior.high:
        raise InputError(f"coefficient '{name}': cannot be fitted, its prior has no width above 0.")
    low, high = (_place(end, share=share) for end in (max(prior.low, least), prior.high))
    return Free(
        name=name,
        centre=_place(prior.value, share=share),
        spread=(high - low) / (2.0 * TENTH),
        share=share,
    )


def values_of(free: Sequence[Free], scores: Floats) -> Mapping[str, float]:
    """The coefficients at some scores, by name."""
    return {each.name: each.value(float(score)) for each, score in zip(free, scores, strict=True)}


def _place(value: float, *, share: bool) -> float:
    if not share:
        return log(value)
    inside = min(max(value, EDGE), 1.0 - EDGE)
    return log(inside / (1.0 - inside))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observation:
    """A measured step.

    Attributes:
        measured: seconds.
        setting: what ran and where, with some coefficients.
        held: the plan and what its stages hold; cuts stay as some coefficients balanced them.
    """

    measured: float
    setting: Setting
    held: Held

    def log_seconds(self, coefficients: Coefficients) -> float:
        """Logarithm of the seconds that a step takes, by the closed form."""
        priced = recalibrated(self.setting, coefficients)
        return log(float(step_time(priced, factors(priced, self.held))[0]))


def observation(setting: Setting, plan: Plan, *, measured: float) -> Observation:
    """A measured step of one plan."""
    return Observation(measured=measured, setting=setting, held=hold(setting, table_of([plan])))


NOISE = 0.12
"""Standard deviation of the logarithm of one run about a model that is right in the mean.

Runs of one configuration scatter by some 6 %; a model leaves out as much again and more.
"""

PACE = 0.16
"""Standard deviation of the logarithm of a trainer's own pace.

One framework's run predicts another's of the same source with a mean error of 18 % (runs of 2020),
which two paces of this spread make.
"""

BEND = 2.385
"""Standard deviations at which a residual counts half: as Cauchy's distribution has it.

Source: holland1977, table 1 (19 of 20 parts of what least squares know where errors are normal).
"""

SOURCE_ROWS = 12.0
"""Rows that one source counts as, however many it has."""

MOST_SCATTER = 0.1
"""Standard deviation of the logarithm of repeats above which nothing is learned from a source."""

STEP = 0.25
"""Standard deviations by which a coefficient is moved to see what it does."""

TURNS = 2
"""Times that slopes are taken: at the start, and where the first ones lead."""

ROUNDS = 4
"""Steps with the same slopes, each of which needs only predictions."""

STILL = 0.02
"""Standard deviations below which a fit has come to rest."""

UNTOUCHED = 1e-6
"""Slopes below this are none: a link says nothing of a run without it."""

Flags = NDArray[np.bool_]
Ask = tuple[Floats, Flags]
"""Scores, and the rows to predict with them. [free], [row]"""

Predict = Callable[[Sequence[Ask]], Sequence[Floats]]
"""Log seconds of the rows asked for, 0 for all others. [row]"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The measured side of a fit. [row]

    Attributes:
        measured: log of what was measured.
        weight: what a row counts.
        trainer: 1 where a row is of a trainer. [row, trainer]
        noise: standard deviation of the logarithm of one row about a model that is right in the
            mean.
    """

    measured: Floats
    weight: Floats
    trainer: Floats
    noise: float = NOISE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """What a fit found.

    Attributes:
        scores: of the free coefficients. [free]
        paces: log of what each trainer takes beside that. [trainer]
        slopes: of log predictions by score, at the end. [row, free]
        predicted: log predictions at the end. [row]
        covariance: of the scores. [free, free]
    """

    scores: Floats
    paces: Floats
    slopes: Floats
    predicted: Floats
    covariance: Floats

    def interval(self, free: Sequence[Free], place: int) -> tuple[float, float]:
        """Tenth and ninetieth percentile of a coefficient."""
        half = TENTH * float(np.sqrt(self.covariance[place, place]))
        score = float(self.scores[place])
        return free[place].value(score - half), free[place].value(score + half)


def noisy(groups: Sequence[str], repeats: Sequence[str], measured: Floats) -> frozenset[str]:
    """Sources whose own repeats scatter, so that a row tells as little of a model as of another.

    Judged by every run of a source: what makes some of them doubtful touches its others too.

    Args:
        groups: source of each row.
        repeats: configuration of each row.
        measured: log of what was measured. [row]
    """
    names, source = np.unique(np.asarray(groups), return_inverse=True)
    _, same, times = np.unique(np.asarray(repeats), return_inverse=True, return_counts=True)
    means = np.bincount(same, measured) / times
    # Each group of n repeats has n - 1 deviations from its own mean that tell of the scatter.
    apart = np.bincount(source, (measured - means[same]) ** 2)
    told = np.bincount(source, 1.0 - 1.0 / times[same])
    return frozenset(names[apart > MOST_SCATTER**2 * np.maximum(told, 1.0)].tolist())


def weights(
    groups: Sequence[str], repeats: Sequence[str], *, sources: Sequence[str] = ()
) -> Floats:
    """What each row counts: groups count alike, and runs of one configuration as one. [row]

    Args:
        groups: what each row is of: a source, or one trainer of it.
        repeats: configuration of each row.
        sources: whose groups share machines and people, so that all of one count as the root of
            their number; none where each group is a source.
    """
    _, source = np.unique(np.asarray(groups), return_inverse=True)
    _, same, times = np.unique(np.asarray(repeats), return_inverse=True, return_counts=True)
    alone = 1.0 / times[same]
    counted = np.bincount(source, alone)
    found: Floats = alone * np.minimum(1.0, SOURCE_ROWS / counted)[source]
    if not sources:
        return found
    shared: dict[str, set[str]] = {name: set() for name in sources}
    for name, group in zip(sources, groups, strict=True):
        shared[name].add(group)
    return found / np.sqrt([float(len(shared[name])) for name in sources])


def membership(groups: Sequence[str]) -> Floats:
    """1 where a row is of a group. [row, group]"""
    names, place = np.unique(np.asarray(groups), return_inverse=True)
    return np.eye(len(names))[place]


def fit(rows: Rows, predict: Predict, *, start: Floats) -> Fit:
    """Coefficients by Gauss-Newton, from a start.

    Args:
        rows: what was measured.
        predict: log seconds at some scores; slopes are differences of it.
        start: scores to begin with. [free]
    """
    slopes = np.ones((len(rows.measured), len(start)))
    found = Fit(
        scores=start,
        paces=np.zeros(rows.trainer.shape[1]),
        slopes=slopes,
        predicted=rows.measured,
        covariance=np.eye(len(start)),
    )
    for _ in range(TURNS):
        slopes = _slopes(predict, found.scores, touched=np.abs(found.slopes) > UNTOUCHED)
        found = refit(replace(found, slopes=slopes), rows, predict)
    return found


def refit(known: Fit, rows: Rows, predict: Predict) -> Fit:
    """A fit from a known one, with its slopes: what a fold needs, whose left-out rows weigh 0."""
    everything = np.ones(len(rows.measured), np.bool_)
    found = known
    for _ in range(ROUNDS):
        before = found.scores
        (predicted,) = predict([(before, everything)])
        found = _stepped(rows, replace(found, predicted=predicted))
        if np.max(np.abs(found.scores - before), initial=0.0) < STILL:
            break
    (predicted,) = predict([(found.scores, everything)])
    return replace(found, predicted=predicted)


def _slopes(predict: Predict, scores: Floats, *, touched: Flags) -> Floats:
    """What each score does to log predictions. [row, free]"""
    moves = STEP * np.eye(len(scores))
    asks = [(scores + move, rows) for move, rows in zip(moves, touched.T, strict=True)]
    anywhere: Flags = np.asarray(touched.any(axis=1))
    here, *there = predict([(scores, anywhere), *asks])
    slopes = np.zeros(touched.shape)
    for place, each in enumerate(there):
        rows = touched[:, place]
        slopes[rows, place] = (each[rows] - here[rows]) / STEP
    return slopes


def _stepped(rows: Rows, known: Fit) -> Fit:
    """One step of Gauss-Newton, with the weights that the residuals before it deserve."""
    free = len(known.scores)
    state = np.concatenate([known.scores, known.paces / PACE])
    slopes = np.hstack([known.slopes, PACE * rows.trainer]) / rows.noise
    residual = (rows.measured - known.predicted - rows.trainer @ known.paces) / rows.noise
    weight = rows.weight / (1.0 + (residual / BEND) ** 2)
    curvature = slopes.T @ (weight[:, np.newaxis] * slopes) + np.eye(len(state))
    covariance: Floats = np.asarray(np.linalg.inv(curvature))
    moved = state + covariance @ (slopes.T @ (weight * residual) - state)
    return replace(
        known,
        scores=np.clip(moved[:free], -FARTHEST, FARTHEST),
        paces=PACE * moved[free:],
        covariance=covariance[:free, :free],
    )
