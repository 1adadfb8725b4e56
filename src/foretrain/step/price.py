"""FLOP of a model and of a plan, by the convention that published utilisations follow.

Attention counts in full (no masked half is skipped), a backward pass is two forward passes, and
recomputed work belongs to the hardware's FLOP only, once (korthikanti2022 counts the attention core
that is computed again three times).

Source: chowdhery2022, appendix B (model FLOP utilisation).

What one plan takes: the estimate that `estimate` and `search` answer with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypedDict

import numpy as np

from foretrain import errors as remark
from foretrain.cluster.cluster import cost, energy
from foretrain.coefficients.intervals import Spread
from foretrain.plan.plan import Plan, Recompute
from foretrain.plan.study import JobPlan
from foretrain.plan.table import table_of
from foretrain.step.held import Held, hold
from foretrain.step.job import fed, job_of
from foretrain.step.memory import errors_of, probability, stage_memory
from foretrain.step.memory import interval as memory_interval
from foretrain.step.passes import of_mean_device
from foretrain.step.peak import MemoryPeak
from foretrain.step.result import Estimate, JobTime, Memory, Parts, StageMemory
from foretrain.step.setting import Setting
from foretrain.step.simulated_passes import closed_step
from foretrain.step.simulated_step import simulate, step_seconds
from foretrain.step.situation import (
    confidence,
    interval,
    misfit,
    remarks,
    situation_of,
    sources,
    unlike,
)
from foretrain.step.step import Factors, StepColumns, factors, step, step_times
from foretrain.step.work import peak
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Attention, Operator


def model_flop(model: Model) -> float:
    """FLOP of one sample's forward and backward pass; frozen weights have no gradient."""
    return sum(
        layer.repeats * (operator.flop + operator.backward_flop)
        for layer, operator in model.operators
        if operator.attention is not Attention.FLASH
    )


def recomputed_flop(model: Model, plan: Plan) -> float:
    """FLOP of one sample that a plan computes a second time."""
    if plan.recompute is Recompute.FULL:
        part = plan.recompute_layers / model.cuttable_layers if plan.recompute_layers else 1.0
        return part * _sum(model, lambda layer, _operator: layer.recomputable)
    if plan.recompute is Recompute.SELECTIVE:
        kernels = (None, plan.attention)
        return _sum(model, lambda _layer, each: each.selective and each.attention in kernels)
    return 0.0


def _sum(model: Model, chosen: Callable[[Layer, Operator], bool]) -> float:
    return sum(
        layer.repeats * operator.flop
        for layer, operator in model.operators
        if operator.attention is not Attention.FLASH and chosen(layer, operator)
    )


AGREEMENT = 0.03
"""Relative difference of the two resolutions above which the simulation's answer is given."""

PASSES = 50_000
"""Passes of micro-batches through chunks above which a step is not simulated (about a second)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The step of one plan at both resolutions.

    Attributes:
        parts: of the one that counts.
        closed_form: seconds.
        simulated: seconds; None if it was not played.
        computing: seconds in which the mean device computes.
        warnings: what the reader should know.
        reason: why the plan does not run; None if it does.
    """

    parts: Parts
    closed_form: float
    simulated: float | None
    computing: float
    warnings: tuple[str, ...] = ()
    reason: str | None = None


def price_plan(
    setting: Setting,
    plan: Plan,
    *,
    assumed: tuple[str, ...] = (),
    played: bool = True,
    job: JobPlan | None = None,
) -> Estimate:
    """The estimate of a plan that can run.

    Args:
        setting: workload, cluster and coefficients.
        plan: the plan.
        assumed: defaults that were filled in, in words.
        played: whether the event simulation checks the closed form.
        job: start, checkpoints and restarts; None leaves them and failures out.
    """
    return estimate_of(price_table(setting, [plan]), 0, assumed=assumed, played=played, job=job)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriceTable:
    """Plans in one setting, with everything that is priced for all of them at once.

    Attributes:
        setting: workload, cluster and coefficients.
        plans: the plans.
        factors: what their steps are made of, and what they hold.
        steps: their steps by the closed form. [plan]
    """

    setting: Setting
    plans: tuple[Plan, ...]
    factors: Factors
    steps: StepColumns


def price_table(setting: Setting, plans: Sequence[Plan]) -> PriceTable:
    """Plans that can run, of which `estimate_of` gives the estimates."""
    priced = factors(setting, hold(setting, table_of(plans)))
    return PriceTable(
        setting=setting, plans=tuple(plans), factors=priced, steps=step(setting, priced)
    )


def estimate_of(
    table: PriceTable,
    row: int,
    *,
    assumed: tuple[str, ...] = (),
    played: bool = True,
    job: JobPlan | None = None,
) -> Estimate:
    """The estimate of one of the plans, the same as if it were priced alone.

    Args:
        table: the plans.
        row: which of them.
        assumed: as for `price_plan`.
        played: the same.
        job: the same.
    """
    setting, plan, rows = table.setting, table.plans[row], np.array([row])
    held = table.factors.held.take(rows, table.factors.plans.take(rows))
    settled = _settled(table, row, played=played)
    # At both resolutions the step waits for its samples.
    parts, simulated = fed(setting, plan, settled.parts), settled.simulated
    if parts.input:
        settled = replace(
            settled,
            parts=parts,
            closed_form=max(parts.total, settled.closed_form),
            simulated=None if simulated is None else max(parts.total, simulated),
        )
    memory = _memory(setting, held)
    whole = job_of(setting, plan, parts=settled.parts, wanted=job)
    warnings = (
        *map(remark.assumed, assumed),
        *settled.warnings,
        *remarks(setting, memory),
        *whole.remarks,
    )
    told = replace(settled, warnings=warnings, reason=misfit(setting, held, memory))
    return _estimate(setting, plan, told, memory=memory, job=whole.time)


def _settled(table: PriceTable, row: int, *, played: bool) -> Settled:
    """The step; played too, and where the two differ the simulation counts."""
    parts = Parts(**{name: float(getattr(table.steps, name)[row]) for name in _PARTS})
    closed = Settled(
        parts=parts,
        closed_form=parts.total,
        simulated=None,
        computing=_computing(table, row),
    )
    if not played:
        return closed
    times = step_times(table.setting, table.factors, row=row)
    passes = len(times.stages) * times.micro_batches * times.interleaving
    if passes > PASSES:
        return replace(closed, warnings=(f"not simulated: {passes:,} passes in one step",))
    seconds = step_seconds(times)
    difference = closed.closed_form / seconds - 1.0
    if abs(difference) <= AGREEMENT:
        return replace(closed, simulated=seconds)
    found = simulate(times)
    busy = [stage.forward + stage.backward for stage in times.stages]
    idle = found.stages[busy.index(max(busy))]
    in_passes = closed.parts.gradients - float(closed_step(times).gradients)
    parts = replace(
        closed.parts,
        bubble=idle.bubble,
        pipeline=idle.pipeline,
        gradients=in_passes + idle.gradients,
    )
    remark = (
        f"the event simulation decides: the closed form says {closed.closed_form:.4g} s, "
        f"{difference:+.1%}"
    )
    return replace(closed, parts=parts, simulated=seconds, warnings=(remark,))


_PARTS = tuple(field.name for field in fields(StepColumns))


def _computing(table: PriceTable, row: int) -> float:
    """Seconds in which the mean device computes, of layers that are priced already."""
    found, rows = table.factors, np.array([row])
    times, layer = found.passes.times, found.passes.time[found.passing[rows]]
    each = (times.forward, times.backward, times.recompute)
    forward, backward, again = (seconds.take(layer, axis=1) for seconds in each)
    plans, once = found.plans.take(rows), forward + backward + again
    return float(of_mean_device(table.setting, plans, once)[0])


def _memory(setting: Setting, held: Held) -> Memory:
    """Bytes on a device of every stage, and of the heaviest."""
    many = held.stages(held.every_run)[:, 0].astype(int)
    run = np.repeat(np.arange(len(many)), many)
    rows = np.zeros(len(run), np.intp)
    alike = held.take(rows, held.plans.take(rows))
    found = stage_memory(setting, alike, run=run, later=np.arange(len(run)) - alike.first(run))
    phases = np.broadcast_to(found.phase, run.shape)
    stages = [
        StageMemory(
            stage=stage,
            **{name: float(getattr(found, name)[stage]) for name in _MEMORY},
            peak=MemoryPeak(int(phases[stage])).words if setting.software.phased else "",
        )
        for stage in range(len(run))
    ]
    worst = max(stages, key=lambda stage: stage.total)
    return memory_of(setting, worst, stages)


def memory_of(setting: Setting, worst: StageMemory, stages: Sequence[StageMemory]) -> Memory:
    """What the heaviest of some stages needs, and how sure that is."""
    errors, spread = errors_of(setting), setting.workload.model.spread
    room = setting.cluster.device.memory
    low, high = memory_interval(worst.total, errors, spread=spread)
    return Memory(
        **{name: getattr(worst, name) for name in _MEMORY},
        peak=worst.peak,
        low=low,
        high=high,
        probability_fits=probability(worst.total, room, errors, spread=spread),
        stages=tuple(stages),
    )


_MEMORY = tuple(field.name for field in fields(StageMemory) if field.name not in ("stage", "peak"))


def _estimate(
    setting: Setting, plan: Plan, settled: Settled, *, memory: Memory, job: JobTime
) -> Estimate:
    workload, cluster, seconds = setting.workload, setting.cluster, settled.parts.total
    situation = situation_of(setting, plan, settled.parts)
    spread = interval(setting.coefficients, situation)
    rate = workload.global_batch / seconds
    flop, tokens = model_flop(workload.model), workload.model.tokens
    useful, top = flop * rate / plan.devices, peak(cluster.device, workload.precision)
    price = cost(cluster, seconds, devices=plan.devices)
    told = confidence(setting, situation)
    return Estimate(
        plan=plan,
        devices=plan.devices,
        step_time=seconds,
        closed_form=settled.closed_form,
        simulated=settled.simulated,
        step_time_low=seconds * spread.low_factor,
        step_time_high=seconds * spread.high_factor,
        parts=settled.parts,
        memory=memory,
        samples_per_second=rate,
        tokens_per_second_per_device=rate * tokens / plan.devices if tokens > 1 else None,
        model_flops_per_second_per_device=useful,
        mfu=useful / top,
        hfu=useful / top * (1.0 + recomputed_flop(workload.model, plan) / flop),
        cost_per_step=price,
        energy_per_step=energy(cluster, seconds, computing=settled.computing, devices=plan.devices),
        epoch_time=None if workload.epoch_samples is None else workload.epoch_samples / rate,
        start_time=job.start_time,
        goodput=job.goodput,
        **_to_train(setting, plan, job, spread=spread),
        job=job,
        fits=settled.reason is None,
        probability_fits=memory.probability_fits,
        reason=settled.reason,
        confidence=told,
        warnings=(*settled.warnings, *unlike(told)),
        sources=sources(setting),
    )


class _ToTrain(TypedDict):
    """Seconds and dollars of a whole job with both ends, where they are known."""

    time_to_train: float | None
    time_to_train_low: float | None
    time_to_train_high: float | None
    cost_to_train: float | None
    cost_to_train_low: float | None
    cost_to_train_high: float | None


def _to_train(setting: Setting, plan: Plan, job: JobTime, *, spread: Spread) -> _ToTrain:
    whole, low, high = (
        _whole(job, factor) for factor in (1.0, spread.low_factor, spread.high_factor)
    )
    bill, least, most = (
        None if each is None else cost(setting.cluster, each, devices=plan.devices)
        for each in (whole, low, high)
    )
    return _ToTrain(
        time_to_train=whole,
        time_to_train_low=low,
        time_to_train_high=high,
        cost_to_train=bill,
        cost_to_train_low=least,
        cost_to_train_high=most,
    )


def _whole(job: JobTime, factor: float) -> float | None:
    """Seconds of a job whose steps take so many times as long; None where it is not known."""
    return None if job.parts is None else job.parts.total + (factor - 1.0) * job.parts.steps
