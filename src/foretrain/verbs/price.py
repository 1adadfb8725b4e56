"""What one plan takes: the estimate that `estimate` and `search` answer with."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from foretrain.cost.coefficients import CALIBRATED_DEVICES, NEAREST_SOURCE, SOURCES
from foretrain.cost.compute import peak
from foretrain.cost.factors import Factors, Held
from foretrain.cost.flop import model_flop, recomputed_flop
from foretrain.cost.memory import stage_memory
from foretrain.cost.price import cost, energy
from foretrain.cost.prices import Prices
from foretrain.cost.step import step_times
from foretrain.cost.timeline import StageTimes
from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.results.estimate import Confidence, Estimate, Memory, Parts, StageMemory
from foretrain.simulate.step import simulate
from foretrain.units import BYTES

AGREEMENT = 0.03
"""Relative difference of the two resolutions above which the simulation's answer is given."""

PASSES = 2_000_000
"""Passes of micro-batches through chunks above which a step is not simulated (some ten seconds)."""


def price_plan(
    prices: Prices, plan: Plan, *, assumed: tuple[str, ...] = (), played: bool = True
) -> Estimate:
    """The estimate of a plan that can run."""
    held = prices.hold(table_of([plan]))
    priced = prices.factors(held)
    columns = prices.step(priced)
    parts = Parts(**{field.name: float(getattr(columns, field.name)[0]) for field in fields(Parts)})
    closed_form, warnings = parts.total, [f"assumed {text}" for text in assumed]
    simulated = None
    if played:
        parts, simulated, remarks = _check(prices, priced, parts)
        warnings += remarks
    memory = _memory(prices, held)
    return _estimate(
        prices,
        plan,
        parts=parts,
        closed_form=closed_form,
        simulated=simulated,
        memory=memory,
        warnings=tuple(warnings),
    )


def _check(
    prices: Prices, priced: Factors, parts: Parts
) -> tuple[Parts, float | None, list[str]]:
    """Play the step; where the two resolutions differ, the simulation's parts count."""
    times = step_times(prices.workload, priced, prices.rate, prices.coefficients)
    passes = len(times.stages) * times.micro_batches * times.interleaving
    if passes > PASSES:
        return parts, None, [f"not simulated: {passes:,} passes of micro-batches in one step"]
    found = simulate(times)
    difference = parts.total / found.seconds - 1.0
    if abs(difference) <= AGREEMENT:
        return parts, found.seconds, []
    busiest = max(range(len(times.stages)), key=lambda s: _busy(times.stages[s]))
    stage = found.stages[busiest]
    played = replace(
        parts,
        bubble=stage.bubble,
        pipeline=stage.pipeline,
        gradients=stage.gradients,
        update=stage.update,
        parameters=stage.parameters,
    )
    remark = f"the closed form differs from the event simulation by {difference:+.1%}; this is the simulation"
    return played, found.seconds, [remark]


def _busy(stage: StageTimes) -> float:
    return stage.forward + stage.backward


def _memory(prices: Prices, held: Held) -> Memory:
    """Bytes on a device of every stage, and of the heaviest."""
    stages: list[StageMemory] = []
    for run in held.runs:
        later = np.arange(float(held.stages(run)[0]))
        rows = np.zeros(len(later), np.intp)
        same = held.take(rows, held.plans.take(rows))
        found = stage_memory(
            prices.workload,
            same,
            run,
            reserve=prices.coefficients.memory_reserve,
            later=later,
        )
        for position in range(len(later)):
            parts = {name: float(getattr(found, name)[position]) for name in _MEMORY}
            stages.append(StageMemory(stage=len(stages), **parts))
    worst = max(stages, key=lambda stage: stage.total)
    spread = prices.coefficients.memory_uncertainty
    return Memory(
        **{name: getattr(worst, name) for name in _MEMORY},
        low=worst.total * (1.0 - spread),
        high=worst.total * (1.0 + spread),
        stages=tuple(stages),
    )


_MEMORY = tuple(field.name for field in fields(StageMemory) if field.name != "stage")


def _misfit(prices: Prices, memory: Memory) -> str | None:
    """Why the plan does not run, or None."""
    room = prices.cluster.device.memory
    if memory.total <= room:
        return None
    worst = max(memory.stages, key=lambda stage: stage.total)
    return (
        f"device memory: stage {worst.stage} needs {BYTES.write(memory.total)} per device, "
        f"{prices.cluster.device.name} has {BYTES.write(room)}"
    )


def _estimate(  # noqa: PLR0913 - the one place that assembles the answer
    prices: Prices,
    plan: Plan,
    *,
    parts: Parts,
    closed_form: float,
    simulated: float | None,
    memory: Memory,
    warnings: tuple[str, ...],
) -> Estimate:
    workload, cluster, seconds = prices.workload, prices.cluster, parts.total
    spread = prices.coefficients.time_uncertainty
    rate = workload.global_batch / seconds
    flop = model_flop(workload.model)
    useful = flop * rate / plan.devices
    top = peak(cluster.device, workload.precision)
    steps = None if workload.samples is None else workload.samples / workload.global_batch
    price = cost(cluster, seconds)
    reason = _misfit(prices, memory)
    return Estimate(
        plan=plan,
        devices=plan.devices,
        step_time=seconds,
        closed_form=closed_form,
        simulated=simulated,
        step_time_low=seconds * (1.0 - spread),
        step_time_high=seconds * (1.0 + spread),
        parts=parts,
        memory=memory,
        samples_per_second=rate,
        tokens_per_second_per_device=(
            rate * workload.model.tokens / plan.devices if workload.model.tokens > 1 else None
        ),
        model_flops_per_second_per_device=useful,
        mfu=useful / top,
        hfu=useful / top * (1.0 + recomputed_flop(workload.model, plan) / flop),
        cost_per_step=price,
        energy_per_step=energy(cluster, seconds),
        epoch_time=None if workload.epoch_samples is None else workload.epoch_samples / rate,
        start_time=0.0,
        goodput=1.0,
        time_to_train=None if steps is None else steps * seconds,
        cost_to_train=None if steps is None or price is None else steps * price,
        fits=reason is None,
        reason=reason,
        confidence=_confidence(prices),
        warnings=warnings,
        sources=_sources(prices),
    )


def _confidence(prices: Prices) -> Confidence:
    inside = prices.cluster.device.name in CALIBRATED_DEVICES and prices.workload.model.tokens > 1
    return Confidence(inside_calibration=inside, nearest_source=NEAREST_SOURCE)


def _sources(prices: Prices) -> tuple[str, ...]:
    """Keys of references.bib: the model's and the coefficients'."""
    texts = [prices.workload.model.source, *(source.source for source in SOURCES.values())]
    return tuple(dict.fromkeys(text for text in texts if text))
