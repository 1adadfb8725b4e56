"""Facts: what the terminal and the page both say about a question and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from foretrain.coefficients.intervals import Nearest
from foretrain.plan.study import Study
from foretrain.remark import About, of
from foretrain.show.table import Fact, Piece
from foretrain.show.words import count, percent, span, written
from foretrain.step import rent
from foretrain.step.result import (
    Estimate,
    JobParts,
    JobTime,
    Memory,
    Parts,
    Ranked,
    StageMemory,
)
from foretrain.units import (
    BYTES,
    DOLLARS,
    FLOP_PER_SECOND,
    JOULES,
    PARAMETERS,
    SAMPLES,
    SECONDS,
    TOKENS,
    WATTS,
)
from foretrain.workload.workload import Workload

ROUNDING = 1e-9
"""Shares of a step that are nothing but the rounding of floats."""

UNSURE = (0.02, 0.98)
"""Probabilities of fitting between which they are told."""


def question(study: Study) -> tuple[Fact, ...]:
    """What was asked: the model, the batch and the cluster."""
    workload, cluster = study.workload, study.cluster
    return (
        Fact(
            label="Model", text=_model(workload), more=f"{workload.precision}, {workload.optimizer}"
        ),
        Fact(label="Batch", text=_batch(study)),
        Fact(label="To rent", text=rent.choice(study.offers))
        if study.offers
        else Fact(label="Cluster", text=rent.nodes(cluster), more=rent.devices(cluster)),
    )


def rented(study: Study, entry: Ranked) -> tuple[Fact, ...]:
    """What to rent for one of the best plans; nothing where there is no choice."""
    if not study.offers:
        return ()
    cluster = rent.home(study, entry).cluster
    more = "; ".join(filter(None, (rent.devices(cluster), rent.rate(cluster))))
    return (Fact(label="Rent", text=rent.nodes(cluster), more=more),)


def answer(study: Study, estimate: Estimate) -> tuple[Fact, ...]:
    """What a plan takes beyond its step: speed, money, energy, the whole training."""
    # Utilisation, and of which peak where that is not the usual one of 16 bits.
    peak = study.workload.precision.peak
    of = "" if peak in ("bf16", "fp16") else f" of the {peak} peak"
    rate = written(FLOP_PER_SECOND, estimate.model_flops_per_second_per_device)
    efficiency = Fact(
        label="Efficiency",
        text=f"MFU {percent(estimate.mfu)}{of}",
        more=f"{rate} per device; HFU {percent(estimate.hfu)}",
    )
    money, energy = estimate.cost_per_step, estimate.energy_per_step
    prices = [written(DOLLARS, money)] if money is not None else []
    joules = [written(JOULES, energy)] if energy is not None else []
    each = [Fact(label="Per step", text=", ".join(prices + joules))] if prices + joules else []
    price = (*each, *_training(study, estimate))
    facts = (
        _speed(study, estimate),
        efficiency,
        *price,
        _epoch(estimate),
        *job(estimate.job),
    )
    return tuple(fact for fact in facts if fact is not None)


def step(estimate: Estimate) -> Fact:
    """The time of one step and its interval."""
    interval = span(estimate.step_time_low, estimate.step_time_high, SECONDS)
    return Fact(label="Step", text=written(SECONDS, estimate.step_time), more=interval)


def memory(study: Study, estimate: Estimate) -> Fact:
    """The heaviest device against what it has."""
    device, capacity = estimate.memory, study.cluster.device.memory
    interval = span(device.low, device.high, BYTES)
    return Fact(
        label="Memory",
        text=f"{span(device.total, capacity, BYTES, between='of')} per device",
        more=f"{percent(device.total / capacity)}; {interval}{_where(estimate)}{_sure(device)}",
    )


def _sure(memory: Memory) -> str:
    """How likely the device holds it, where that is a question."""
    low, high = UNSURE
    if not low < memory.probability_fits < high:
        return ""
    return f"; fits with a probability of {percent(memory.probability_fits)}"


def time_pieces(parts: Parts) -> tuple[Piece, ...]:
    """The parts of a step that take any time, in the order in which they happen."""
    whole = parts.total
    amounts = ((field.name, getattr(parts, field.name)) for field in fields(parts))
    return tuple(
        Piece(name=name, amount=amount, share=amount / whole)
        for name, amount in amounts
        if amount > whole * ROUNDING
    )


def memory_pieces(stage: StageMemory, capacity: float) -> tuple[Piece, ...]:
    """The parts of a device's memory, as shares of its capacity."""
    names = ("weights", "gradients", "optimizer", "activations", "buffers")
    amounts = ((name, getattr(stage, name)) for name in names)
    return tuple(
        Piece(name=name, amount=amount, share=amount / capacity)
        for name, amount in amounts
        if amount
    )


def caution(estimate: Estimate) -> tuple[Fact, ...]:
    """What keeps the reader from trusting the numbers too far."""
    assumed = of(estimate.warnings, About.ASSUMED)
    warnings = [text for text in estimate.warnings if text not in assumed]
    facts = [Fact(label="Warning", text=warning) for warning in warnings]
    filled = [each.brief for each in assumed]
    return (
        *facts,
        *([Fact(label="Assumed", text="; ".join(filled))] if filled else []),
        _reach(estimate),
    )


def job(whole: JobTime) -> tuple[Fact, ...]:
    """What a job does beside its steps; nothing where that is nothing."""
    return (*_goodput(whole), *_checkpoint(whole))


def amount(study: Study) -> str:
    """How much is learned in the whole training; empty where the study does not say."""
    workload = study.workload
    if workload.samples is None:
        return ""
    if workload.model.tokens == 1:
        return written(SAMPLES, workload.samples)
    return written(TOKENS, workload.samples * workload.model.tokens)


def purpose(study: Study) -> tuple[Fact, ...]:
    """What counts: how much is learned, what is minimised and what no plan may exceed."""
    limit = study.limit
    limits = (
        count(limit.devices, "device") if limit.devices is not None else "",
        written(DOLLARS, limit.cost) if limit.cost is not None else "",
        f"deadline {written(SECONDS, limit.deadline)}" if limit.deadline is not None else "",
        f"{written(BYTES, limit.memory)} per device" if limit.memory is not None else "",
        written(WATTS, limit.power) if limit.power is not None else "",
    )
    return (
        Fact(label="Amount", text=amount(study) or "not given"),
        Fact(label="Objective", text=study.objective.value),
        Fact(label="Limits", text=", ".join(filter(None, limits)) or "none"),
    )


def misfit(estimate: Estimate) -> tuple[Fact, ...]:
    """That the plan cannot run and why; nothing if it can."""
    if estimate.fits:
        return ()
    return (Fact(label="Warning", text=f"This plan cannot run: {estimate.reason}"),)


def _model(workload: Workload) -> str:
    """The model and its size, where its name is not its size."""
    name = workload.model.name
    if name.endswith(" parameters"):
        return name
    return f"{name}, {written(PARAMETERS, workload.model.parameters)}"


def _batch(study: Study) -> str:
    workload = study.workload
    samples = count(workload.global_batch, "sample")
    if workload.model.tokens == 1:
        return f"{samples} per step"
    tokens = written(TOKENS, workload.global_batch * workload.model.tokens)
    return f"{samples} of {workload.model.tokens:,} tokens per step ({tokens})"


def _speed(study: Study, estimate: Estimate) -> Fact:
    if estimate.tokens_per_second_per_device is None:
        text = f"{written(SAMPLES, estimate.samples_per_second)}/s"
        return Fact(label="Speed", text=text)
    each = f"{written(TOKENS, estimate.tokens_per_second_per_device)}/s per device"
    whole = estimate.samples_per_second * study.workload.model.tokens
    return Fact(label="Speed", text=each, more=f"{written(TOKENS, whole)}/s in all")


def _training(study: Study, estimate: Estimate) -> tuple[Fact, ...]:
    if estimate.time_to_train is None:
        return ()
    cost = written(DOLLARS, estimate.cost_to_train) if estimate.cost_to_train else ""
    low, high = estimate.time_to_train_low, estimate.time_to_train_high
    ends = f" ({written(SECONDS, low)} to {written(SECONDS, high)})" if low and high else ""
    time = f"{written(SECONDS, estimate.time_to_train)}{ends}"
    energy = _training_energy(estimate)
    whole = ", ".join(part for part in (time, cost, energy) if part)
    return (Fact(label="To train", text=whole, more=amount(study)),)


def _training_energy(estimate: Estimate) -> str:
    if estimate.energy_per_step is None or estimate.time_to_train is None:
        return ""
    steps = estimate.time_to_train / estimate.step_time
    return written(JOULES, steps * estimate.energy_per_step)


def _epoch(estimate: Estimate) -> Fact | None:
    if estimate.epoch_time is None:
        return None
    return Fact(label="Per epoch", text=written(SECONDS, estimate.epoch_time))


def _goodput(whole: JobTime) -> tuple[Fact, ...]:
    if whole.goodput is None or (whole.goodput == 1.0 and not whole.start_time):
        return ()
    parts = whole.parts or JobParts(start=whole.start_time)
    amounts = {field.name: getattr(parts, field.name) for field in fields(parts)}
    told = [
        f"{name.replace('_', ' ')} {written(SECONDS, amount)}"
        for name, amount in amounts.items()
        if amount and name != "steps"
    ]
    failed = [count(whole.failures, "failure")] if whole.failures else []
    return (Fact(label="Goodput", text=percent(whole.goodput), more=", ".join(told + failed)),)


def _checkpoint(whole: JobTime) -> tuple[Fact, ...]:
    every, still = whole.checkpoint_interval, whole.checkpoint_seconds
    if every is None or still is None:
        return ()
    text = f"{written(BYTES, whole.checkpoint_bytes)} every {written(SECONDS, every)}"
    return (Fact(label="Checkpoint", text=text, more=f"standing still {written(SECONDS, still)}"),)


def _where(estimate: Estimate) -> str:
    stages = len(estimate.memory.stages)
    if stages == 1:
        return ""
    return f"; stage {estimate.memory.heaviest.stage + 1} of {stages}"


def _reach(estimate: Estimate) -> Fact:
    confidence = estimate.confidence
    inside = "inside" if confidence.inside_calibration else "outside"
    text = f"{inside} what was measured{_like(confidence.nearest)}"
    return Fact(label="Confidence", text=text, more=confidence.outside)


def _like(found: Sequence[Nearest]) -> str:
    """The measured run that is most like the prediction, and how well its kin are predicted."""
    if not found:
        return "; no run was fitted to"
    near = found[0]
    differs = f", which differs in {' and '.join(near.differs)}" if near.differs else ""
    off = f"predictions of that are {near.error:+.0%} off"
    return f"; nearest: {near.run} ({near.id}){differs}; {off}"
