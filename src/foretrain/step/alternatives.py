"""Alternatives: the step of a training whose description leaves options of its trainer open.

Every variant that could have run is priced: it is legal and fits in memory. The answer is their
weighted middle in logarithms of seconds, its interval spans them (but for what is less likely than
an interval's own tails), and the option that moves it most
is named. A variant that does not fit is no candidate while another one does: a run that ran has not
had it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from math import exp, hypot, log, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.intervals import LEVEL
from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total
from foretrain.step.result import Estimate, Parts
from foretrain.step.setting import Setting, setting
from foretrain.step.situation import among, interval
from foretrain.step.step import factors, step_time
from foretrain.trainers.software import Software
from foretrain.trainers.variants import Variant
from foretrain.workload.workload import Workload

DEVIATIONS: Final = NormalDist().inv_cdf((1.0 + LEVEL) / 2.0)
"""Standard deviations from the middle of normal values to either end of an interval."""

NOTICED = 0.01
"""A part of the step below which no option is said to decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """The plan that is taken to be meant.

    Attributes:
        plan: the first that fits, or the last if none does.
        likely: seconds of its step, by the closed form.
        seconds: a step of every plan that fits, by the closed form.
    """

    plan: Plan
    likely: float
    seconds: tuple[float, ...]


def climb(setting: Setting, plans: tuple[Plan, ...]) -> Rung:
    """The first of some plans that fits, and how long all that fit take.

    Args:
        setting: workload, cluster and coefficients.
        plans: plans that can run, the lightest first, with one schedule and nothing offloaded.
    """
    return climbs(setting, (plans,))[0]


def climbs(setting: Setting, ladders: Sequence[tuple[Plan, ...]]) -> list[Rung]:
    """The same of several ladders, priced as one table."""
    held = hold(setting, table_of([plan for plans in ladders for plan in plans]))
    fit = heaviest_total(setting, held) <= setting.cluster.device.memory
    times = step_time(setting, factors(setting, held))
    found, start = [], 0
    for plans in ladders:
        rows = np.arange(start, start + len(plans))
        fitting = rows[fit[rows]]
        first = int(fitting[0]) if len(fitting) else int(rows[-1])
        found.append(
            Rung(
                plan=plans[first - start],
                likely=float(times[first]),
                seconds=tuple(map(float, times[fitting])),
            )
        )
        start += len(plans)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedVariant:
    """A variant that is legal.

    Attributes:
        variant: which.
        setting: in which it was priced.
        rung: the plan that is taken to be meant, and those that may be.
    """

    variant: Variant
    setting: Setting
    rung: Rung

    @property
    def fits(self) -> bool:
        """Whether any of its plans fits in memory."""
        return bool(self.rung.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """Variants that could have run, and what follows from all of them.

    Attributes:
        candidates: those that could have run; their weights add up to 1.
        likeliest: the one of the largest weight, first of equals.
        ratio: of the weighted middle to the step of the likeliest.
        choices: seconds as far below and above the middle as what is open reaches.
        decides: the open option that moves the step most; None if none moves it noticeably.
    """

    candidates: tuple[PricedVariant, ...]
    likeliest: PricedVariant
    ratio: float
    choices: tuple[float, ...]
    decides: str | None


def weigh(
    found: Sequence[Variant],
    cluster: Cluster,
    coefficients: Coefficients,
    *,
    against: Callable[[Plan], Sequence[str]] = lambda _: (),
) -> Weighed | None:
    """Price variants; None if none of them is legal.

    Args:
        found: the variants.
        cluster: where.
        coefficients: how well.
        against: what else keeps a plan from running.
    """
    # Variants of a trainer's software have the same plans: each is judged once.
    judged: dict[tuple[int, Plan], bool] = {}

    def runs(workload: Workload, plan: Plan) -> bool:
        key = (id(workload), plan)
        if key not in judged:
            judged[key] = not problems(workload, cluster, plan) and not against(plan)
        return judged[key]

    legal = [each for each in (_legal(variant, runs) for variant in found) if each is not None]
    if not legal:
        return None
    priced = _priced(legal, cluster, coefficients)
    could = [each for each in priced if each.fits] or priced
    total = sum(each.variant.weight for each in could)
    could = [
        replace(each, variant=replace(each.variant, weight=each.variant.weight / total))
        for each in could
    ]
    likeliest = max(could, key=lambda each: each.variant.weight)
    middle = sum(each.variant.weight * log(each.rung.likely) for each in could)
    # The open option between whose values the middle moves most.
    options = dict.fromkeys(name for each in could for name, _ in each.variant.values)
    swings = {name: _swing(could, name) for name in options}
    most = max(swings, key=lambda name: swings[name], default=None)
    return Weighed(
        candidates=tuple(could),
        likeliest=likeliest,
        ratio=exp(middle - log(likeliest.rung.likely)),
        choices=_reach(could, middle),
        decides=most if most is not None and swings[most] > NOTICED else None,
    )


def _legal(variant: Variant, runs: Callable[[Workload, Plan], bool]) -> Variant | None:
    """A variant without the plans that cannot run; None if none is left."""
    plans = tuple(plan for plan in variant.plans if runs(variant.workload, plan))
    return replace(variant, plans=plans) if plans else None


def _priced(
    found: Sequence[Variant], cluster: Cluster, coefficients: Coefficients
) -> list[PricedVariant]:
    """Candidates in the order of the variants; those of one setting are priced together."""
    together: dict[tuple[Workload, Software], list[int]] = {}
    for place, variant in enumerate(found):
        together.setdefault((variant.workload, variant.software), []).append(place)
    priced: dict[int, PricedVariant] = {}
    for (workload, software), places in together.items():
        known = setting(workload, cluster, coefficients, software=software)
        for place, rung in zip(
            places, climbs(known, [found[each].plans for each in places]), strict=True
        ):
            priced[place] = PricedVariant(variant=found[place], setting=known, rung=rung)
    return [priced[place] for place in range(len(found))]


def _reach(could: Sequence[PricedVariant], middle: float) -> tuple[float, float]:
    """Seconds as far below and above the middle as open options reach, as an interval has it.

    What is open errs beside all else, so variances add up: an end is as many deviations away as
    that of a normal value, each side with a deviation of its own. Of a ladder every plan that may
    be meant is one, and the farthest of them counts whole.

    Args:
        could: candidates, by weight.
        middle: logarithm of the weighted middle.
    """
    apart = [(each.variant.weight, log(each.rung.likely) - middle) for each in could]
    ladders = [
        [log(seconds / each.rung.likely) for seconds in (each.rung.likely, *each.rung.seconds)]
        for each in could
    ]
    lower, upper = (
        DEVIATIONS * sqrt(2.0 * sum(weight * max(0.0, side * far) ** 2 for weight, far in apart))
        for side in (-1.0, 1.0)
    )
    down, up = max(-min(each) for each in ladders), max(max(each) for each in ladders)
    return exp(middle - hypot(lower, down)), exp(middle + hypot(upper, up))


def _swing(could: Sequence[PricedVariant], option: str) -> float:
    """How far, in logarithms, the weighted middles of an option's values lie apart."""
    middles = []
    for value in dict.fromkeys(dict(each.variant.values)[option] for each in could):
        some = [each for each in could if dict(each.variant.values)[option] == value]
        total = sum(each.variant.weight for each in some)
        middles.append(sum(each.variant.weight * log(each.rung.likely) for each in some) / total)
    return max(middles) - min(middles)


def in_the_middle(estimate: Estimate, weighed: Weighed, coefficients: Coefficients) -> Estimate:
    """The estimate of the likeliest variant, moved to the weighted middle of all.

    Its memory stays that of the likeliest; times, rates and costs move in proportion.
    """
    ratio = weighed.ratio
    seconds = ratio * estimate.step_time
    situation = among(
        estimate.confidence.situation,
        ratio * weighed.likeliest.rung.likely,
        weighed.choices,
    )
    wide = interval(coefficients, situation)
    parts = Parts(
        **{each.name: ratio * getattr(estimate.parts, each.name) for each in fields(Parts)}
    )
    estimate = _longer(estimate, ratio, factors=(wide.low_factor, wide.high_factor))
    return replace(
        estimate,
        step_time=parts.total,
        closed_form=ratio * estimate.closed_form,
        simulated=None if estimate.simulated is None else ratio * estimate.simulated,
        step_time_low=seconds * wide.low_factor,
        step_time_high=seconds * wide.high_factor,
        parts=parts,
        samples_per_second=estimate.samples_per_second / ratio,
        tokens_per_second_per_device=_times(estimate.tokens_per_second_per_device, 1.0 / ratio),
        model_flops_per_second_per_device=estimate.model_flops_per_second_per_device / ratio,
        mfu=estimate.mfu / ratio,
        hfu=estimate.hfu / ratio,
        cost_per_step=_times(estimate.cost_per_step, ratio),
        energy_per_step=_times(estimate.energy_per_step, ratio),
        epoch_time=_times(estimate.epoch_time, ratio),
        confidence=replace(estimate.confidence, situation=situation),
        warnings=(*estimate.warnings, *_told(weighed)),
        decides=weighed.decides,
    )


def _longer(estimate: Estimate, ratio: float, *, factors: tuple[float, float]) -> Estimate:
    """The same whole job with steps that take so many times as long; its steps' interval moves."""
    whole, before = estimate.job.parts, estimate.time_to_train
    if whole is None or not before:
        return estimate
    parts = replace(whole, steps=ratio * whole.steps)
    low, high = (parts.total + (factor - 1.0) * parts.steps for factor in factors)
    return replace(
        estimate,
        job=replace(estimate.job, parts=parts),
        time_to_train=parts.total,
        time_to_train_low=low,
        time_to_train_high=high,
        cost_to_train=_times(estimate.cost_to_train, parts.total / before),
        cost_to_train_low=_times(estimate.cost_to_train, low / before),
        cost_to_train_high=_times(estimate.cost_to_train, high / before),
    )


def _told(weighed: Weighed) -> Iterator[str]:
    """What is open, and which of it moves the step most."""
    names = dict.fromkeys(name for each in weighed.candidates for name, _ in each.variant.values)
    if len(weighed.candidates) > 1:
        yield (
            f"open in the trainer: {', '.join(names)}; the step is the weighted middle of "
            f"{len(weighed.candidates)} variants that fit"
        )
    if weighed.decides is not None:
        yield f"{weighed.decides} moves the step most: say what it is"


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
