"""compare: what differs between two questions, what does each difference cost, how sure is that?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from math import exp, hypot, log

from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.intervals import LEVEL
from foretrain.plan.study import Study
from foretrain.search.explain.classes import classes
from foretrain.search.explain.compared import (
    Comparison,
    Departure,
    MeasuredStep,
    PartChange,
    SideOfTwo,
)
from foretrain.search.explain.departures import PinnedPlan, departures
from foretrain.search.explain.explain import MeantPlan, meant_by
from foretrain.search.resolution import spread
from foretrain.show.words import written
from foretrain.step.result import Estimate, Parts
from foretrain.study.coefficients import DEFAULT
from foretrain.units import SECONDS

Side = Study | MeasuredStep


def compare(first: Side, second: Side, *, coefficients: Coefficients = DEFAULT) -> Comparison:
    """Say what differs between two studies or measured steps, and what each difference costs.

    Args:
        first: of one plan; of one that leaves plans open, the plan that a search proposes is meant.
        second: the same.
        coefficients: how well hardware and software do.

    Raises:
        InputError: a study has no answer, or its plan cannot run.
        NoPlanFits: one leaves plans open, and none fits.
    """
    one, other = (meant_by(_study(each), coefficients) for each in (first, second))
    here, there = _side(one, first), _side(other, second)
    ways = departures(_end(one), _end(other), coefficients)
    width, shared = _unsure((one, here), (other, there), coefficients, alike=not ways)
    ways = (*_missed(first, here, back=True), *ways, *_missed(second, there))
    ratio = there.step_time / here.step_time
    low, high = ratio * exp(-width), ratio * exp(width)
    cost = None if here.cost is None or there.cost is None else there.cost - here.cost
    time = there.step_time - here.step_time
    memory = there.estimate.memory.total - here.estimate.memory.total
    profiles = [
        classes(meant, each.profile, coefficients)
        for meant, each in ((one, first), (other, second))
        if isinstance(each, MeasuredStep) and each.profile is not None
    ]
    return Comparison(
        first=here,
        second=there,
        time=time,
        time_low=here.step_time * (low - 1.0),
        time_high=here.step_time * (high - 1.0),
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
        shared=shared,
        cost=cost,
        memory=memory,
        departures=closed(ways, time=time, cost=cost, memory=memory),
        parts=_parts(here.estimate, there.estimate),
        operators=profiles[-1] if profiles else (),
    )


def _study(side: Side) -> Study:
    return side.study if isinstance(side, MeasuredStep) else side


def _missed(side: Side, told: SideOfTwo, *, back: bool = False) -> Iterator[Departure]:
    """What lies between the prediction of a measured step and the step; backwards on the way out.

    What its row says and no study can, changes the prediction first.
    """
    if not isinstance(side, MeasuredStep):
        return
    predicted = told.estimate.step_time
    expected = predicted if side.expected is None else side.expected
    ends = [("what else the row says", predicted, expected), (MEASURED, expected, side.step_time)]
    for what, start, end in reversed(ends) if back else ends:
        if start == end and what != MEASURED:
            continue
        before, after = (end, start) if back else (start, end)
        each = told.estimate.cost_per_step
        yield Departure(
            what=what,
            before=written(SECONDS, before),
            after=written(SECONDS, after),
            time=after - before,
            cost=None if each is None else each * ((after - before) / predicted),
            memory=0.0,
        )


def closed(
    ways: tuple[Departure, ...], *, time: float, cost: float | None, memory: float
) -> tuple[Departure, ...]:
    """Departures that add up, one after another, to the last bit: the last one takes the rounding.

    Args:
        ways: from the first to the second.
        time: what they add up to but for the rounding of floats.
        cost: the same of money.
        memory: the same of memory.
    """
    if not ways:
        return ()
    sums = {
        "time": sum((each.time for each in ways), 0.0),
        "cost": sum((each.cost or 0.0 for each in ways), 0.0),
        "memory": sum((each.memory for each in ways), 0.0),
    }
    whole = {"time": time, "cost": cost, "memory": memory}
    rest = {name: 0.0 if (total := whole[name]) is None else total - sums[name] for name in whole}
    if not any(rest.values()):
        return ways
    rounding = Departure(
        what="rounding",
        before="",
        after="",
        time=rest["time"],
        cost=None if cost is None else rest["cost"],
        memory=rest["memory"],
    )
    return (*ways, rounding)


def _end(meant: MeantPlan) -> PinnedPlan:
    return PinnedPlan(study=meant.study, plan=meant.estimate.plan)


def _side(meant: MeantPlan, side: Side) -> SideOfTwo:
    measured = side if isinstance(side, MeasuredStep) else None
    return SideOfTwo(
        plan=meant.estimate.plan,
        cluster=meant.study.cluster.name,
        nodes=meant.study.cluster.nodes,
        proposed=meant.found is not None,
        estimate=meant.estimate,
        measured=None if measured is None else measured.step_time,
        of="" if measured is None else measured.of,
    )


MEASURED = "measured"
"""What the difference between a prediction and its measured step is called."""

SCORE = 1.2816
"""Standard deviations from the middle to the end of an interval that holds 80 %."""


def _unsure(
    first: tuple[MeantPlan, SideOfTwo],
    second: tuple[MeantPlan, SideOfTwo],
    coefficients: Coefficients,
    *,
    alike: bool,
) -> tuple[float, str]:
    """How far the logarithm of the ratio may be off, and which errors cancel in it.

    What was measured has no error of ours. Plans of one model, on one kind of device, by one
    software share most of their errors; what is left is known of published pairs of plans
    (`resolution`). Otherwise nothing is known to cancel, and both intervals count.
    """
    assert LEVEL == 0.8, "an interval that holds another share"
    (one, here), (other, there) = first, second
    predicted = [each.estimate for each in (here, there) if each.measured is None]
    if len(predicted) < 2:
        words = "none: one of the two is measured" if predicted else "nothing: both are measured"
        return sum(map(_half, predicted)), words
    if alike:
        return 0.0, "all of them: the two are one question"
    mine, theirs = one.study, other.study
    kin = (
        mine.workload.model.name == theirs.workload.model.name
        and mine.cluster.device.name == theirs.cluster.device.name
        and mine.workload.precision is theirs.workload.precision
        and _software(mine) == _software(theirs)
    )
    if kin:
        errors = coefficients.plan_errors
        apart = spread(errors, one.estimate.plan, other.estimate.plan)
        return SCORE * apart, "what plans of one model on one kind of device share"
    widths = (_half(each.estimate) for each in (one, other))
    return hypot(*widths), "none that is known: model, device, precision or software differ"


def _software(study: Study) -> str:
    return "" if study.trainer is None else study.trainer.name


def _half(estimate: Estimate) -> float:
    """Half of an interval, in logarithms."""
    return log(estimate.step_time_high / estimate.step_time_low) / 2.0


def _parts(here: Estimate, there: Estimate) -> tuple[PartChange, ...]:
    """Parts of the step that differ, the largest difference first."""
    found = [
        PartChange(
            part=each.name,
            first=getattr(here.parts, each.name),
            second=getattr(there.parts, each.name),
        )
        for each in fields(Parts)
        if getattr(here.parts, each.name) != getattr(there.parts, each.name)
    ]
    return tuple(sorted(found, key=lambda each: -abs(each.second - each.first)))
