"""One step of many plans: the only place where compute and transfers meet.

Transfers that nothing hides are settled here; the parts are what remains, and they add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from foretrain.cost import schedule
from foretrain.cost.factors import Factors, weighted
from foretrain.cost.memory import stage_weights
from foretrain.cost.setting import Setting
from foretrain.cost.stages import Number, Passing, Stages
from foretrain.cost.timeline import StageTimes, StepTimes
from foretrain.plan.plan import Sends
from foretrain.plan.table import Column, PlanTable
from foretrain.strategies import owners_of, step_transfers_of
from foretrain.strategies.data import micro_batches
from foretrain.strategies.pipeline import boundary_bytes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepColumns:
    """Exposed seconds of each part, on the slowest stage's time line. [plan]

    Fields as those of `results.estimate.Parts`.
    """

    forward: Column
    backward: Column
    recompute: Column
    tensor: Column
    pipeline: Column
    bubble: Column
    gradients: Column
    parameters: Column
    update: Column
    other: Column


def step_time(setting: Setting, factors: Factors) -> Column:
    """Seconds of a step. [plan]"""
    stages = stage_columns(setting, factors)
    return np.asarray(schedule.seconds(stages, order_columns(setting, factors)))


def step(setting: Setting, factors: Factors) -> StepColumns:
    """What a step consists of. [plan]"""
    stages = stage_columns(setting, factors)
    found = schedule.step(stages, order_columns(setting, factors))
    passes, times = micro_batches(setting.workload, factors.plans), factors.times
    counts = _slowest_counts(stages, factors)
    parts: dict[str, Column] = {
        "forward": passes * weighted(counts, factors.of_times(times.forward)),
        "backward": passes * weighted(counts, factors.of_times(times.backward)),
        "recompute": passes * weighted(counts, factors.of_times(times.recompute)),
        "tensor": passes * weighted(counts, factors.of_times(times.tensor)),
        "pipeline": _waiting(factors.plans, found.sends),
        "bubble": _waiting(factors.plans, found.bubble),
        "gradients": np.asarray(found.gradients),
        "parameters": np.asarray(found.parameters),
        "update": np.asarray(found.update),
    }
    total = np.zeros(len(factors.plans))
    for seconds in parts.values():
        total = total + seconds
    # All rounding ends here; near the total a difference is exact, so that the parts add up to it.
    return StepColumns(**parts, other=found.seconds - total)


def _waiting(plans: PlanTable, seconds: Number) -> Column:
    """What stages wait for one another; differences of sums, whose rounding is dropped. [plan]"""
    return np.where(plans.pipeline > 1, np.maximum(seconds, 0.0), 0.0)


def step_times(setting: Setting, factors: Factors) -> StepTimes:
    """Everything that happens in one step of the first plan, stage by stage."""
    order = order_columns(setting, factors)
    stages: list[StageTimes] = []
    for run in stage_columns(setting, factors):
        times = {name: _first(getattr(run, name)) for name in _STAGE_TIMES}
        stage = StageTimes(**times, buckets=int(_first(run.buckets)))
        stages += [stage] * int(_first(run.count))
    return StepTimes(
        stages=tuple(stages),
        micro_batches=int(_first(order.micro_batches)),
        interleaving=int(_first(order.interleaving)),
        send=_first(order.send),
        sends=Sends(int(_first(order.blocking))),
        overlap=setting.coefficients.gradient_overlap,
    )


_STAGE_TIMES = tuple(field.name for field in fields(StageTimes) if field.name != "buckets")


def _first(column: Number) -> float:
    return float(np.ravel(column)[0])


def order_columns(setting: Setting, factors: Factors) -> Passing:
    """The order of micro-batches and what its sends take. [plan]"""
    workload, plans = setting.workload, factors.plans
    hop = factors.groups.hop.take(factors.group)
    size = boundary_bytes(workload.model, plans, value_bytes=workload.precision.value_bytes)
    return Passing(
        micro_batches=micro_batches(workload, plans),
        interleaving=plans.interleaving,
        send=hop.fixed + hop.per_byte * size,
        blocking=plans.sends,
        overlap=setting.coefficients.gradient_overlap,
    )


def stage_columns(setting: Setting, factors: Factors) -> list[Stages]:
    """One stage of every run: what it computes, exchanges and updates. [plan]"""
    held = factors.held
    forward = factors.of_times(factors.times.forward_pass)
    backward = factors.of_times(factors.times.backward_pass)
    group = factors.groups.data.take(factors.group)
    transfers = step_transfers_of(setting.workload, factors.plans)
    stages = []
    for run, weights in enumerate(stage_weights(setting, held)):
        counts = held.counts(run)
        parts = dict.fromkeys(("gradients", "parameters"), np.zeros(len(weights)))
        for transfer in transfers:
            seconds = group.seconds(weights * transfer.size, transfer.pattern)
            parts[transfer.part] = parts[transfer.part] + seconds
        stages.append(
            Stages(
                count=held.stages(run),
                forward=weighted(counts, forward),
                backward=weighted(counts, backward),
                gradients=parts["gradients"],
                buckets=np.maximum(1.0, weighted(counts, [np.ones(1)] * len(counts))),
                update=_update(setting, factors.plans, weights),
                parameters=parts["parameters"],
            )
        )
    return stages


def _update(setting: Setting, plans: PlanTable, weights: Column) -> Column:
    """Seconds of the optimizer, which only moves data. [plan]

    Gradients are read for their norm and set to zero by everyone; the rest is done by whoever owns
    it: gradients read, state and fp32 weights read and written, 16-bit weights written.
    """
    precision, optimizer, rate = (
        setting.workload.precision,
        setting.workload.optimizer,
        setting.rate,
    )
    everyone = 2.0 * precision.gradient_bytes
    copy = precision.value_bytes if precision.master_bytes else 0.0
    state = 2.0 * (optimizer.state_bytes + (precision.master_bytes or precision.value_bytes))
    owner = precision.gradient_bytes + state + copy
    return weights * (everyone + owner / owners_of(plans)) / rate.memory + rate.launch


def _slowest_counts(stages: Sequence[Stages], factors: Factors) -> list[Column]:
    """Layers of each kind on the stage that computes longest, the first of equals. [kind][plan]"""
    slowest = np.zeros(len(factors.plans), np.intp)
    longest = np.full(len(factors.plans), -1.0)
    for run, stage in enumerate(stages):
        busy = stage.forward + stage.backward
        longer = (stage.count > 0) & (busy > longest)
        longest = np.where(longer, busy, longest)
        slowest = np.where(longer, run, slowest)
    layers, cut = factors.held.cuts.layers, factors.held.cut
    return [layers[slowest, kind, cut] for kind in range(layers.shape[1])]
