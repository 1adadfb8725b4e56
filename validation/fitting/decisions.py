"""Decisions: whether predictions put the plans of a run in the right order.

Runs that differ in nothing but the plan are a group; what somebody loses who takes the plan that
is predicted best is the regret.

Fixed rules: what people choose a plan by who do not predict.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from statistics import fmean
from types import MappingProxyType

from validation.fitting.batches import model_devices, passes, software, step_samples
from validation.fitting.scores import Scored, grouped

from foretrain.measured.run import MeasuredRun, RunLayout

LEAST_PLANS = 3
"""Plans without which there is no choice to speak of."""

APART = 0.05
"""Relative difference of measured times below which two plans count as equally good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One plan of a group; repeats are averaged.

    Attributes:
        run: the first run of the plan.
        runs: how many there are.
        measured: seconds per sample.
        predicted: the same.
    """

    run: MeasuredRun
    runs: int
    measured: float
    predicted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Plans among which somebody had to choose."""

    choices: tuple[Choice, ...]

    @property
    def source_id(self) -> str:
        """Who published them."""
        return self.choices[0].run.source_id

    @property
    def best(self) -> float:
        """Seconds per sample of the plan that is truly best."""
        return min(choice.measured for choice in self.choices)


Preference = Callable[[Choice], float]
"""What a rule goes by: the plan with the least is chosen."""


def decisions(rows: Iterable[Scored]) -> tuple[Decision, ...]:
    """The groups of runs that differ only in the plan, with at least three plans.

    They have the same global batch; what is left has the same number of passes of replicas, so
    that the batch follows the micro-batch. Times are per sample.
    """
    known = [row for row in rows if step_samples(row.run) is not None]
    by_batch = grouped(known, lambda row: (_alike(row.run), step_samples(row.run)))
    found = [_choices(group) for group in by_batch.values()]
    left = [
        row
        for group, choices in zip(by_batch.values(), found, strict=True)
        if len(choices) < LEAST_PLANS and passes(group[0].run) is not None
        for row in group
    ]
    by_passes = grouped(left, lambda row: (_alike(row.run), passes(row.run)))
    found += [_choices(group) for group in by_passes.values()]
    return tuple(Decision(choices=it) for it in found if len(it) >= LEAST_PLANS)


def _alike(run: MeasuredRun) -> Hashable:
    """All but plan and batch."""
    return (software(run), run.network, run.place)


def _choices(rows: Sequence[Scored]) -> tuple[Choice, ...]:
    plans = grouped(rows, lambda row: _plan(row.run))
    return tuple(_merged(repeats) for repeats in plans.values())


def _plan(run: MeasuredRun) -> RunLayout:
    """The layout without what the batch says."""
    return replace(run.layout, accumulation=None)


def _merged(repeats: Sequence[Scored]) -> Choice:
    samples = [step_samples(row.run) or 1.0 for row in repeats]
    return Choice(
        run=repeats[0].run,
        runs=len(repeats),
        measured=fmean(row.measured / size for row, size in zip(repeats, samples, strict=True)),
        predicted=fmean(row.predicted / size for row, size in zip(repeats, samples, strict=True)),
    )


def order(groups: Iterable[Decision], prefer: Preference) -> float | None:
    """Share of the pairs more than 5 % apart that a preference puts in the right order.

    A pair that the preference does not tell apart is right by half. None without such a pair.
    """
    rights = [
        _right(*pair, prefer=prefer)
        for group in groups
        for pair in combinations(group.choices, 2)
        if _apart(*pair)
    ]
    return fmean(rights) if rights else None


def _apart(one: Choice, other: Choice) -> bool:
    slow, fast = max(one.measured, other.measured), min(one.measured, other.measured)
    return slow / fast - 1.0 > APART


def _right(one: Choice, other: Choice, *, prefer: Preference) -> float:
    said, true = prefer(one) - prefer(other), one.measured - other.measured
    return 0.5 if said == 0.0 else float(said * true > 0.0)


def regrets(groups: Iterable[Decision], prefer: Preference) -> tuple[float, ...]:
    """What every group loses whose preferred plan is taken: its time over the best less 1.

    Of plans that the preference does not tell apart any may be taken: their mean counts.
    """
    return tuple(_regret(group, prefer) for group in groups)


def _regret(group: Decision, prefer: Preference) -> float:
    liked = min(prefer(choice) for choice in group.choices)
    taken = [choice.measured for choice in group.choices if prefer(choice) == liked]
    # A mean of equal times may differ from them by its rounding.
    return max(0.0, fmean(taken) / group.best - 1.0)


def repeat_scatter(rows: Iterable[Scored]) -> dict[str, float]:
    """How far a run is off as a prediction of its repeats, by source: mean over ordered pairs.

    Sources without repeats are not among them.
    """
    repeats = grouped(
        rows, lambda row: (_alike(row.run), row.run.global_batch, row.run.layout)
    ).values()
    errors: dict[str, list[float]] = {}
    for group in repeats:
        for one, other in combinations(group, 2):
            both = (one.measured / other.measured, other.measured / one.measured)
            errors.setdefault(one.run.source_id, []).extend(abs(ratio - 1) for ratio in both)
    return {source: fmean(sizes) for source, sizes in errors.items()}


RECOMPUTED = {"none": 0.0, "selective": 1.0, "full": 2.0}


def _layout(choice: Choice) -> RunLayout:
    return choice.run.layout


def least_model_parallelism(choice: Choice) -> float:
    """The fewest devices that share one copy of the model."""
    return float(model_devices(choice.run))


def least_tensor(choice: Choice) -> float:
    """The smallest tensor axis."""
    return float(_layout(choice).tensor or 1)


def least_pipeline(choice: Choice) -> float:
    """The fewest stages."""
    return float(_layout(choice).pipeline or 1)


def most_data(choice: Choice) -> float:
    """The most replicas, stated or following from the number of devices."""
    return -float(
        _layout(choice).data or ((choice.run.place.devices or 1) / least_model_parallelism(choice))
    )


def largest_micro_batch(choice: Choice) -> float:
    """The most samples at once."""
    return -(_layout(choice).micro_batch or 0.0)


def smallest_micro_batch(choice: Choice) -> float:
    """The fewest samples at once."""
    return _layout(choice).micro_batch or inf


def least_recompute(choice: Choice) -> float:
    """As little computed twice as is stated."""
    words = _layout(choice).recompute.split(maxsplit=1)
    return RECOMPUTED.get(words[0], 1.0) if words else 1.0


def least_sharding(choice: Choice) -> float:
    """As little divided among replicas as is stated."""
    return float(_layout(choice).zero_stage or 0)


RULES: Mapping[str, Preference] = MappingProxyType(
    {
        "least model parallelism": least_model_parallelism,
        "least tensor": least_tensor,
        "least pipeline": least_pipeline,
        "most data": most_data,
        "largest micro-batch": largest_micro_batch,
        "smallest micro-batch": smallest_micro_batch,
        "least recompute": least_recompute,
        "least sharding": least_sharding,
    }
)
"""Every rule by name. All plans of a group fit, since they ran."""
