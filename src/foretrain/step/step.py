"""One step of many plans: the only place where compute and transfers meet.

What few fields of a plan decide is priced once per combination (`Factors`), and plans gather it: a
table of plans meets small tables of what its stages hold (`held`), how long its layers' passes take
(`passes`) and those of whole stages, and what follows the passes (`schedule`). A row is a position
in each of them, so taking rows moves positions, not prices.

Transfers that nothing hides are settled here; the parts are what remains, and they add up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from foretrain.plan.plan import Schedule, Sends
from foretrain.plan.table import Column, PlanTable, Rows, distinct
from foretrain.step import schedule
from foretrain.step.compute import together
from foretrain.step.held import Held, each_weighted, weighted
from foretrain.step.layers import Floats, layer_times
from foretrain.step.passes import Passes, exposed, gathers, passes
from foretrain.step.placements import Placements, placements
from foretrain.step.schedule import Tails, delayed, straggling, tails
from foretrain.step.schedules.stages import Number, Passing, Stages
from foretrain.step.setting import Setting
from foretrain.step.simulated_passes import StageTimes, StepTimes
from foretrain.step.strategies import recompute as offload
from foretrain.step.strategies.pipeline import boundary_bytes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagePasses:
    """Seconds of one stage of each run, one micro-batch. [run, combination]

    Attributes:
        forward: forward pass.
        backward: backward pass.
        weights: gradients of weights, part of the backward pass.
        behind: what is added to the backward pass where gradients of weights come later: exchanges
            that hid behind them.
        host: what both passes wait for their host.
        first: what the forward pass saves by gathering a layer's parameters beside compute, the
            mean of its layers.
        last: what the backward pass saves by reducing a layer's gradients there, the same.

    Nothing runs before the first parameters of a step are there, nor after its last gradients: a
    step feels `first` and `last` once. Source: zhao2023, section 3.3.
    """

    forward: Floats
    backward: Floats
    weights: Floats
    behind: Floats
    host: Floats
    first: Floats
    last: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factors:
    """Plans with everything that their step is made of; each table with the place of a plan in it.

    Attributes:
        held: the plans and what they hold.
        passes: one layer of each kind. [kind, combination]
        stages: one stage of each run. [run, combination]
        tails: what a stage does after its passes. [run, combination]
        placements: where groups lie. [placement]
    """

    held: Held
    passes: Passes
    passing: Rows
    stages: StagePasses
    stage: Rows
    tails: Tails
    tail: Rows
    placements: Placements
    group: Rows

    @property
    def plans(self) -> PlanTable:
        """The plans."""
        return self.held.plans


Place = Callable[[Setting, PlanTable], tuple[Placements, Rows]]
"""Where the groups of plans lie."""


def factors(setting: Setting, held: Held, *, place: Place = placements) -> Factors:
    """The times of each plan's stages, and the collectives of its groups."""
    plans = held.plans
    placed, group = place(setting, plans)
    found, passing = _passes(setting, held, placed, group=group)
    pairs, stage = distinct([passing, held.cut])
    stages = _stages(held, found, passing=passing[pairs], cut=held.cut[pairs])
    after, tail = tails(setting, held, placed, group=group)
    return Factors(
        held=held,
        passes=found,
        passing=passing,
        stages=stages,
        stage=stage,
        tails=after,
        tail=tail,
        placements=placed,
        group=group,
    )


def _passes(
    setting: Setting, held: Held, placed: Placements, *, group: Rows
) -> tuple[Passes, Rows]:
    """What the layers of each plan take in a pass."""
    plans = held.plans
    # Compute and collectives of each plan's layers.
    rows, time = distinct([held.layer, placed.place[group]])
    groups = {axis: exchange.take(group[rows]) for axis, exchange in placed.axes.items()}
    times = layer_times(setting, plans.take(rows), groups=groups)
    exchanged, gather = gathers(setting, plans, placed, group=group, held=(held.layers, held.layer))
    rows, passing = distinct(
        [time, gather, plans.offload, plans.offload_layers, offload.of_gradients(plans)]
    )
    found = passes(
        setting,
        plans.take(rows),
        times=(times, time[rows]),
        gathers=(exchanged, gather[rows]),
        held=(held.layers, held.layer[rows]),
    )
    return found, passing


def _stages(held: Held, found: Passes, *, passing: Rows, cut: Rows) -> StagePasses:
    """Layers of each kind on a stage of every run, times what one takes, if the host keeps up."""
    counts = held.cuts.layers.take(cut, axis=2).swapaxes(0, 1)
    times, time = found.times, found.time[passing]
    each = (
        found.forward.take(passing, axis=1),
        found.backward.take(passing, axis=1),
        found.coming.take(passing, axis=1),
        times.weights.take(time, axis=1),
        times.forward_host.take(time, axis=1),
        times.backward_host.take(time, axis=1),
        times.weights_host.take(time, axis=1),
        found.first.take(passing, axis=1),
        found.last.take(passing, axis=1),
        found.behind.take(passing, axis=1),
    )
    (
        forward, backward, coming, weights, starting, returning, learning, first, last, behind
    ) = each_weighted(counts, np.stack(np.broadcast_arrays(*each)))  # fmt: skip
    # A stage hands on when device and host are both done with gradients of inputs.
    inputs, calls = backward - coming - weights, returning - learning
    handed = together(inputs, calls)
    slow, slower = together(forward, starting), together(backward, returning)
    layers = np.maximum(1.0, counts.sum(axis=0))
    return StagePasses(
        forward=slow,
        backward=slower,
        weights=slower - handed,
        behind=together(inputs + behind, calls) - handed,
        host=(slow - forward) + (slower - backward),
        first=(together(first, starting) - slow) / layers,
        last=(together(last, returning) - slower) / layers,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepColumns:
    """Exposed seconds of each part, on the slowest stage's time line. [plan]

    Fields as those of `results.estimate.Parts`.
    """

    forward: Column
    backward: Column
    recompute: Column
    tensor: Column
    context: Column
    expert: Column
    halo: Column
    pipeline: Column
    bubble: Column
    gradients: Column
    parameters: Column
    update: Column
    offload: Column
    host: Column
    other: Column


def step_time(setting: Setting, factors: Factors) -> Column:
    """Seconds of a step. [plan]"""
    stages = stage_columns(setting, factors)
    return np.asarray(schedule.seconds(stages, order_columns(setting, factors)))


def step(setting: Setting, factors: Factors) -> StepColumns:
    """What a step consists of. [plan]"""
    stages = stage_columns(setting, factors)
    found = schedule.step(stages, order_columns(setting, factors))
    slowest = _slowest(stages)
    layer = _Slowest(setting, factors, slowest)
    times, passes = factors.passes.times, factors.passes
    moved = factors.tails.offload[slowest, factors.tail]
    last = factors.stages.last[slowest, factors.stage] + factors.tails.tied[slowest, factors.tail]
    gradients, parameters, offload = layer.of_passes(
        [passes.gradients, passes.parameters, passes.offload]
    )
    parts: dict[str, Column] = {
        **dict(
            zip(ITS_OWN, layer.of_times([getattr(times, name) for name in ITS_OWN]), strict=True)
        ),
        "pipeline": _waiting(factors.plans, found.sends),
        "bubble": _waiting(factors.plans, found.bubble) + _behind(factors, layer, slowest),
        "gradients": gradients + np.asarray(found.gradients) + last,
        "parameters": parameters + np.asarray(found.parameters) - last,
        "update": np.asarray(found.update) - moved,
        "offload": offload + moved,
        "host": layer.micro_batches * factors.stages.host[slowest, factors.stage],
    }
    total = np.zeros(len(factors.plans))
    for seconds in parts.values():
        total = total + seconds
    # All rounding ends here; near the total a difference is exact, so that the parts add up to it.
    return StepColumns(**parts, other=found.seconds - total)


ITS_OWN = ("forward", "backward", "recompute", "tensor", "context", "expert", "halo")
"""Parts of a step that are parts of its layers."""


class _Slowest:
    """Seconds of all micro-batches on the slowest stage of each plan."""

    def __init__(self, setting: Setting, factors: Factors, slowest: Rows) -> None:
        held = factors.held
        kinds = held.cuts.layers.shape[1]
        self._counts = [held.cuts.layers[slowest, kind, held.cut] for kind in range(kinds)]
        passes = setting.workload.micro_batches(factors.plans.data, factors.plans.micro_batch)
        self.micro_batches = passes * straggling(setting, factors.plans)
        self._passing = factors.passing
        self._time = factors.passes.time[factors.passing]

    def of_times(self, values: Sequence[Floats]) -> Column:
        """Fields of the layers' times. [field, plan]"""
        return self._of([each.take(self._time, axis=1) for each in values])

    def of_passes(self, values: Sequence[Floats]) -> Column:
        """Fields of the layers' passes. [field, plan]"""
        return self._of([each.take(self._passing, axis=1) for each in values])

    def _of(self, values: Sequence[Floats]) -> Column:
        each = np.stack(np.broadcast_arrays(*values), axis=1)
        return self.micro_batches * weighted(self._counts, each)


def _behind(factors: Factors, layer: _Slowest, slowest: Rows) -> Column:
    """Exchanges that no gradients of weights hide, as these come later. [plan]"""
    late = delayed(_schedules(factors.plans))
    shown = factors.stages.behind[slowest, factors.stage]
    return layer.micro_batches * np.where(late, shown, 0.0)


def _waiting(plans: PlanTable, seconds: Number) -> Column:
    """What stages wait for one another; differences of sums, whose rounding is dropped. [plan]"""
    return np.where(plans.pipeline > 1, np.maximum(seconds, 0.0), 0.0)


def step_times(setting: Setting, factors: Factors, *, row: int = 0) -> StepTimes:
    """Everything that happens in one step of a plan, stage by stage."""
    return step_of(stage_columns(setting, factors), order_columns(setting, factors), row=row)


def step_of(runs: Sequence[Stages], order: Passing, *, row: int = 0) -> StepTimes:
    """The same of one of some plans whose runs of stages and order are known."""
    stages: list[StageTimes] = []
    for run in runs:
        times = {name: _at(getattr(run, name), row) for name in _STAGE_TIMES}
        stage = StageTimes(**times, buckets=int(_at(run.buckets, row)))
        stages += [stage] * int(_at(run.count, row))
    return StepTimes(
        stages=tuple(stages),
        micro_batches=int(_at(order.micro_batches, row)),
        interleaving=int(_at(order.interleaving, row)),
        send=_at(order.send, row),
        sends=Sends(int(_at(order.blocking, row))),
        overlap=_at(order.overlap, row),
        schedule=Schedule(int(_at(order.kind, row))),
    )


_STAGE_TIMES = tuple(field.name for field in fields(StageTimes) if field.name != "buckets")


def _at(column: Number, row: int) -> float:
    """One plan's value of a column, or the number that all plans have."""
    values = np.ravel(column)
    return float(values[row if len(values) > 1 else 0])


def order_columns(setting: Setting, factors: Factors) -> Passing:
    """The order of micro-batches and what its sends take. [plan]"""
    workload, plans = setting.workload, factors.plans
    beside = 0.0 if setting.software.late else setting.coefficients.overlap.gradients
    hop = factors.placements.hop.take(factors.group)
    size = boundary_bytes(workload.model, plans, value_bytes=workload.precision.value_bytes)
    return Passing(
        micro_batches=workload.micro_batches(plans.data, plans.micro_batch),
        interleaving=plans.interleaving,
        send=hop.fixed + hop.per_byte * size,
        blocking=plans.sends,
        overlap=beside,
        kind=_schedules(plans),
    )


def _schedules(plans: PlanTable) -> Column:
    """As numbers: a stage that is alone turns back after every micro-batch and puts nothing off."""
    return plans.schedule * (plans.pipeline > 1)


def stage_columns(setting: Setting, factors: Factors) -> list[Stages]:
    """One stage of every run: what it computes, exchanges and updates. [plan]"""
    found, stage, tails, tail = factors.stages, factors.stage, factors.tails, factors.tail
    slowest = straggling(setting, factors.plans)
    late = delayed(_schedules(factors.plans))
    waits = bool(late.any())
    return [
        Stages(
            count=factors.held.stages(run),
            forward=slowest * found.forward[run].take(stage),
            backward=slowest * found.backward[run].take(stage)
            + (slowest * late * found.behind[run].take(stage) if waits else 0.0),
            weights=slowest * found.weights[run].take(stage) if waits else 0.0,
            gradients=tails.gradients[run].take(tail),
            buckets=tails.buckets[run].take(tail),
            update=tails.update[run].take(tail) + tails.offload[run].take(tail),
            parameters=tails.parameters[run].take(tail)
            + tails.tied[run].take(tail)
            + found.first[run].take(stage)
            + found.last[run].take(stage)
            + _first_gathered(setting, factors, run=run),
        )
        for run in factors.held.runs
    ]


def _first_gathered(setting: Setting, factors: Factors, *, run: int) -> Number:
    """What the first forward pass of a step does not hide of gathering parameters. [plan]

    At least one layer's worth, for nothing runs before it is there.
    """
    if not factors.tails.first.any():
        return 0.0
    first = factors.tails.first[run].take(factors.tail)
    one = first / factors.tails.buckets[run].take(factors.tail)
    forward = factors.stages.forward[run].take(factors.stage)
    overlap = setting.coefficients.overlap.gradients
    left: Number = np.maximum(one, exposed(first, forward, overlap=overlap))
    return left


def _slowest(stages: Sequence[Stages]) -> Rows:
    """Run of the stage that computes longest, the first of equals. [plan]"""
    slowest = np.zeros(np.shape(stages[0].forward), np.intp)
    longest = np.full(np.shape(stages[0].forward), -1.0)
    for run, stage in enumerate(stages):
        busy = stage.forward + stage.backward
        longer = (stage.count > 0) & (busy > longest)
        longest = np.where(longer, busy, longest)
        slowest = np.where(longer, run, slowest)
    return slowest
