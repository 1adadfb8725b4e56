"""curves: what does a model get out of each number of devices, under its best plan there?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

from foretrain.cluster.offer import fewer
from foretrain.coefficients.coefficients import Coefficients
from foretrain.ensemble.result import SharedInput
from foretrain.ensemble.shared_input import alone, shared_input
from foretrain.errors import InputError, NoPlanFits
from foretrain.jobs.result import CurvePoint, ModelCurve
from foretrain.measured.queue_study import JobModel
from foretrain.search.best_plans import best_plans
from foretrain.step.result import Ranked
from foretrain.study.coefficients import DEFAULT
from foretrain.throughput import Point, ThroughputCurve

WORTH = 0.75
"""Samples per second and device, over those of the fewest devices, down to which a job asks for
more. Optimus-like schedulers and users draw this line somewhere between a half and nine tenths;
ours is an assumption that `devices` of the study replaces."""

MOST = 0.25
"""Share of all devices that a job asks for at most, so that several fit; an assumption likewise."""


def curve_of(
    model: JobModel,
    *,
    devices: int,
    coefficients: Coefficients = DEFAULT,
    tell: Callable[[str, int], None] | None = None,
) -> ModelCurve:
    """The best plan of a model on each of its counts of devices, or what is known without plans.

    Args:
        model: the model, its workload and space, or its throughput.
        devices: of the fleet.
        coefficients: how well hardware and software do.
        tell: told the model and the devices before each search.

    Raises:
        NoPlanFits: where nothing fits on any of them, or not on those that a job asks for.
    """
    points: list[CurvePoint] = []
    refused: dict[int, str] = {}
    for count in model.counts:
        if tell is not None:
            tell(model.name, count)
        try:
            points.append(_at(model, count, before=points, coefficients=coefficients))
        except (NoPlanFits, InputError) as error:
            refused[count] = str(error).partition("\n")[0]
    asks, why = _asks(model, points, refused, devices=devices)
    return ModelCurve(
        name=model.name,
        points=tuple(points),
        asks=asks,
        why=why,
        refused=refused,
        members=model.members,
    )


def _at(
    model: JobModel, count: int, *, before: list[CurvePoint], coefficients: Coefficients
) -> CurvePoint:
    """What so many devices do: as is known, or by the best plan on them."""
    if model.study is None:
        assert model.curve, "a model without a study and a curve was not refused"
        known = next(each for each in model.curve.points if each.devices == count)
        unit = before[0].rate / before[0].devices if before else known.rate / count
        return CurvePoint(
            devices=count,
            rate=known.rate,
            low=known.rate if known.low is None else known.low,
            high=known.rate if known.high is None else known.high,
            efficiency=known.rate / count / unit,
            plan=None,
        )
    # The best plan on so many devices; of a member, on its share of them.
    whole = alone(model) if model.members > 1 else model.study
    cluster = fewer(whole.cluster, count // model.members)
    study = replace(whole, cluster=cluster, offers=(), job=None)
    best = best_plans(study, coefficients=coefficients, keep=1, trade_offs=False).best
    fed = shared_input(model, count, best) if model.members > 1 else None
    return _point(best, count, before=before, fed=fed)


def throughput(curve: ModelCurve) -> ThroughputCurve:
    """The curve as a scheduler sees it."""
    points = (
        Point(devices=each.devices, rate=each.rate, low=each.low, high=each.high)
        for each in curve.points
    )
    return ThroughputCurve(name=curve.name, points=tuple(points))


def _point(
    best: Ranked, devices: int, *, before: list[CurvePoint], fed: SharedInput | None
) -> CurvePoint:
    """What a plan does, as far as its samples come quickly enough."""
    found = best.estimate
    alone = found.samples_per_second
    rate = min(alone, fed.best.rate) if fed else alone
    most = rate if fed and fed.best.limit != "training" else inf
    unit = before[0].rate / before[0].devices if before else rate / devices
    return CurvePoint(
        devices=devices,
        rate=rate,
        low=min(rate, alone * found.step_time / found.step_time_high),
        high=min(most, alone * found.step_time / found.step_time_low),
        efficiency=rate / devices / unit,
        plan=best.plan,
        input=fed,
    )


def _asks(
    model: JobModel, points: list[CurvePoint], refused: dict[int, str], *, devices: int
) -> tuple[int, str]:
    """How many devices a job asks for, and why."""
    if not points:
        told = " ".join(f"On {count}: {why}" for count, why in refused.items())
        raise NoPlanFits(f"{model.name}: no plan fits on any number of devices. {told}")
    if model.asks is not None:
        if model.asks in refused:
            raise NoPlanFits(f"{model.name} on {model.asks} devices: {refused[model.asks]}")
        return model.asks, "as the study says"
    room = MOST * devices
    few = [point for point in points if point.devices <= room] or points[:1]
    worth = [point for point in few if point.efficiency >= WORTH]
    if worth[-1] is few[-1]:
        return few[-1].devices, f"the most in {100 * MOST:.0f} % of the cluster"
    return worth[-1].devices, (
        f"the most on which a device does {100 * WORTH:.0f} % of what it does on"
        f" {points[0].devices}"
    )
