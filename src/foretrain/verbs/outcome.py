"""What becomes of a shape in a scenario: its value there, its regret, or why it cannot run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.setting import Setting, setting
from foretrain.explain.differences import spent
from foretrain.explain.excess import excesses
from foretrain.plan.idle import idle
from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan
from foretrain.plan.shape import on
from foretrain.plan.space import Space
from foretrain.plan.spelling import setting_of
from foretrain.plan.study import Study
from foretrain.plan.within import within
from foretrain.verbs.price import price_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A shape on the devices of a scenario that suit it best.

    Attributes:
        plan: with its replicas; None if it cannot run.
        value: what it has of the objective, closed form.
        reason: why it cannot run, on the most devices that may be had.
    """

    plan: Plan | None
    value: float | None
    reason: str | None


def placed(study: Study, shape: Plan, coefficients: Coefficients) -> Placed:
    """A shape in a scenario, on the number of devices on which it has least of the objective."""
    found = [
        _on(setting(study.workload, cluster, coefficients), shape, study=study)
        for cluster in _clusters(study)
    ]
    running = [each for each in found if each.value is not None]
    return min(running, key=lambda each: (each.value or 0.0, str(each.plan)), default=found[0])


def _clusters(study: Study) -> Iterator[Cluster]:
    """Everything that may be rented within the limits, the largest of each offer first."""
    for offer in within(study.choices, study.limit):
        yield from (offer.of(devices) for devices in reversed(offer.devices))


def _on(setting: Setting, shape: Plan, *, study: Study) -> Placed:
    cluster = setting.cluster
    plan = on(shape, cluster.devices)
    if plan is None:
        return _refused(
            f"{cluster.devices:,} devices are no multiple of tensor x context x pipeline = "
            f"{shape.tensor * shape.context * shape.pipeline:,}"
        )
    wrong = [*problems(study.workload, cluster, plan), *_outside(study, plan)]
    if wrong:
        return _refused(wrong[0].rstrip("."))
    estimate = price_plan(setting, plan, played=False, job=study.job)
    if not estimate.fits:
        return _refused(str(estimate.reason))
    over = [each.limit for each in excesses(setting, estimate, study.limit)]
    if over:
        return _refused(f"over the {over[0]}")
    return Placed(plan=plan, value=spent(study.objective, estimate), reason=None)


def _refused(reason: str) -> Placed:
    return Placed(plan=None, value=None, reason=reason)


def _outside(study: Study, plan: Plan) -> Iterator[str]:
    """Keys of the scenario's [plan] that leave a plan out."""
    quiet = idle(plan, study.workload.model)
    for field in fields(Space):
        choices, value = getattr(study.space, field.name), getattr(plan, field.name)
        if choices is not None and value not in choices and field.name not in quiet:
            yield f"its [plan] has no {setting_of(field.name, value).removeprefix('plan.')}"
