"""Differences: what is minimised of two plans, part by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

from foretrain.explain.reasons import OF_MEMORY, OF_TIME, Site, reason
from foretrain.plan.study import Objective
from foretrain.results.estimate import Estimate, Parts
from foretrain.results.why_not import Difference


def spent(objective: Objective, estimate: Estimate) -> float:
    """What is minimised: seconds, dollars or joules of a step, or bytes of a device."""
    values = {
        Objective.TIME: estimate.step_time,
        Objective.COST: estimate.cost_per_step,
        Objective.ENERGY: estimate.energy_per_step,
        Objective.MEMORY: estimate.memory.total,
    }
    found = values[objective]
    assert found is not None, "a search without a price or power was not refused"
    return found


def differences(
    objective: Objective, here: tuple[Site, Estimate], best: tuple[Site, Estimate]
) -> tuple[Difference, ...]:
    """The parts in which two plans differ, the largest difference first.

    What they add up to is the difference of what the two spend.
    """
    mine, theirs = _parts(objective, here[1]), _parts(objective, best[1])
    says = _reasons(objective)
    found = [
        Difference(
            part=part,
            here=mine[part],
            best=theirs[part],
            why=reason(says.get(part), here[0], best[0]),
        )
        for part in mine
        if mine[part] != theirs[part]
    ]
    return tuple(sorted(found, key=lambda each: -abs(each.more)))


def _parts(objective: Objective, estimate: Estimate) -> dict[str, float]:
    """What is minimised, by part: money and energy run with time."""
    if objective is Objective.MEMORY:
        return {name: getattr(estimate.memory, name) for name in OF_MEMORY}
    rate = spent(objective, estimate) / estimate.step_time
    return {field.name: rate * getattr(estimate.parts, field.name) for field in fields(Parts)}


def _reasons(objective: Objective) -> Mapping[str, Callable[[Site], str]]:
    return OF_MEMORY if objective is Objective.MEMORY else OF_TIME
