"""Alternatives: the step of a training whose description leaves options of its trainer open.

Every variant that could have run is priced: it is legal and fits in memory. The answer is their
weighted middle in logarithms of seconds, its interval spans them, and the option that moves it most
is named. A variant that does not fit is no candidate while another one does: a run that ran has not
had it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from math import exp, log

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total
from foretrain.step.result import Estimate, Parts
from foretrain.step.setting import Setting, setting
from foretrain.step.situation import among, interval
from foretrain.step.step import factors, step_time
from foretrain.trainers.variants import Variant

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
    held = hold(setting, table_of(plans))
    fit = np.flatnonzero(heaviest_total(setting, held) <= setting.cluster.device.memory)
    first = int(fit[0]) if len(fit) else len(plans) - 1
    times = step_time(setting, factors(setting, held))
    return Rung(
        plan=plans[first], likely=float(times[first]), seconds=tuple(map(float, times[fit]))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
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
        choices: seconds of every plan that may be meant.
        decides: the open option that moves the step most; None if none moves it noticeably.
    """

    candidates: tuple[Candidate, ...]
    likeliest: Candidate
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
    legal = [
        each
        for each in (_legal(variant, cluster, against) for variant in found)
        if each is not None
    ]
    if not legal:
        return None
    priced = [_priced(each, cluster, coefficients) for each in legal]
    could = [each for each in priced if each.fits] or priced
    total = sum(each.variant.weight for each in could)
    could = [
        replace(each, variant=replace(each.variant, weight=each.variant.weight / total))
        for each in could
    ]
    likeliest = max(could, key=lambda each: each.variant.weight)
    middle = sum(each.variant.weight * log(each.rung.likely) for each in could)
    every = [second for each in could for second in (each.rung.likely, *each.rung.seconds)]
    return Weighed(
        candidates=tuple(could),
        likeliest=likeliest,
        ratio=exp(middle - log(likeliest.rung.likely)),
        choices=tuple(every),
        decides=_decides(could),
    )


def _legal(
    variant: Variant, cluster: Cluster, against: Callable[[Plan], Sequence[str]]
) -> Variant | None:
    """A variant without the plans that cannot run; None if none is left."""
    plans = tuple(
        plan
        for plan in variant.plans
        if not problems(variant.workload, cluster, plan) and not against(plan)
    )
    return replace(variant, plans=plans) if plans else None


def _priced(variant: Variant, cluster: Cluster, coefficients: Coefficients) -> Candidate:
    known = setting(variant.workload, cluster, coefficients, software=variant.software)
    return Candidate(variant=variant, setting=known, rung=climb(known, variant.plans))


def _decides(could: Sequence[Candidate]) -> str | None:
    """The open option between whose values the middle moves most."""
    options = dict.fromkeys(name for each in could for name, _ in each.variant.values)
    swings = {name: _swing(could, name) for name in options}
    most = max(swings, key=lambda name: swings[name], default=None)
    return most if most is not None and swings[most] > NOTICED else None


def _swing(could: Sequence[Candidate], option: str) -> float:
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
        decides=weighed.decides,
    )


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
