"""Facts: what the terminal and the page both say about a question and its answer.

Rent: what may be rented for a training, and what of it a plan takes, in words.

The report of `estimate`: what one plan takes, on one screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Final

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import Offer, rented
from foretrain.errors import About, of
from foretrain.plan.study import Study
from foretrain.show.report import AnswerReport, Block, Brief, Paper, Pieces, ReportSection
from foretrain.show.table import Fact, Piece
from foretrain.show.words import MEMORY, PARTS, count, percent, span, written
from foretrain.step.result import Estimate, JobParts, JobTime, Parts, Ranked, StageMemory
from foretrain.step.situation import unlike
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

MOST_NAMED: Final = 4
"""Clusters, and numbers of nodes, that are listed one by one."""


def home(study: Study, entry: Ranked) -> Study:
    """The study on the cluster of one of its plans."""
    return replace(study, cluster=rented(study.choices, entry.cluster, entry.nodes), offers=())


def nodes(cluster: Cluster) -> str:
    """The nodes of a cluster: "64 nodes of dgx-h100"."""
    return f"{count(cluster.nodes, 'node')} of {cluster.name}"


def devices(cluster: Cluster) -> str:
    """The devices of a cluster and the memory of each."""
    memory = written(BYTES, cluster.device.memory)
    return f"{cluster.devices:,} x {cluster.device.name}, {memory} each"


def rent_rate(cluster: Cluster) -> str:
    """What a cluster costs by the hour; empty without a price."""
    if cluster.price is None:
        return ""
    return f"{written(DOLLARS, 3600 * cluster.price * cluster.devices)}/h"


def choice(offers: Sequence[Offer]) -> str:
    """What may be rented: "8, 16 or 32 nodes of dgx-h100; 4 to 64 nodes of dgx-a100"."""
    names = list(dict.fromkeys(offer.cluster.name for offer in offers))
    if len(names) > MOST_NAMED:
        first = ", ".join(names[:MOST_NAMED])
        return f"{_numbers(offers)} nodes of {first} or {len(names) - MOST_NAMED} other clusters"
    return "; ".join(
        f"{_numbers([offer for offer in offers if offer.cluster.name == name])} nodes of {name}"
        for name in names
    )


def _numbers(offers: Sequence[Offer]) -> str:
    """Numbers of nodes: each of a few, of many the ends."""
    numbers = sorted({nodes for offer in offers for nodes in offer.nodes})
    if len(numbers) > MOST_NAMED:
        return f"{numbers[0]:,} to {numbers[-1]:,}"
    *others, last = (f"{nodes:,}" for nodes in numbers)
    return f"{', '.join(others)} or {last}" if others else last


ROUNDING = 1e-9
"""Shares of a step that are nothing but the rounding of floats."""

UNSURE = (0.02, 0.98)
"""Probabilities of fitting between which they are told."""


def question(study: Study) -> tuple[Fact, ...]:
    """What was asked: the model, the batch and the cluster."""
    workload, model, cluster = study.workload, study.workload.model, study.cluster
    # A model that is known by its size has it as its name.
    size = f", {written(PARAMETERS, model.parameters)}" * (not model.name.endswith(" parameters"))
    samples = count(workload.global_batch, "sample")
    batch = f"{samples} per step"
    if model.tokens > 1:
        tokens = written(TOKENS, workload.global_batch * model.tokens)
        batch = f"{samples} of {model.tokens:,} tokens per step ({tokens})"
    return (
        Fact(
            label="Model",
            text=f"{model.name}{size}",
            more=f"{workload.precision}, {workload.optimizer}",
        ),
        Fact(label="Batch", text=batch),
        Fact(label="To rent", text=choice(study.offers))
        if study.offers
        else Fact(label="Cluster", text=nodes(cluster), more=devices(cluster)),
    )


def to_rent(study: Study, entry: Ranked) -> tuple[Fact, ...]:
    """What to rent for one of the best plans; nothing where there is no choice."""
    if not study.offers:
        return ()
    cluster = home(study, entry).cluster
    more = "; ".join(filter(None, (devices(cluster), rent_rate(cluster))))
    return (Fact(label="Rent", text=nodes(cluster), more=more),)


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
    speed = Fact(label="Speed", text=f"{written(SAMPLES, estimate.samples_per_second)}/s")
    if estimate.tokens_per_second_per_device is not None:
        alone = f"{written(TOKENS, estimate.tokens_per_second_per_device)}/s per device"
        whole = estimate.samples_per_second * study.workload.model.tokens
        speed = Fact(label="Speed", text=alone, more=f"{written(TOKENS, whole)}/s in all")
    epoch = estimate.epoch_time
    return (
        speed,
        efficiency,
        *([Fact(label="Per step", text=", ".join(prices + joules))] if prices + joules else []),
        *_training(study, estimate),
        *([] if epoch is None else [Fact(label="Per epoch", text=written(SECONDS, epoch))]),
        *job(estimate.job),
    )


def step(estimate: Estimate) -> Fact:
    """The time of one step and its interval."""
    interval = span(estimate.step_time_low, estimate.step_time_high, SECONDS)
    return Fact(label="Step", text=written(SECONDS, estimate.step_time), more=interval)


def memory(study: Study, estimate: Estimate) -> Fact:
    """The heaviest device against what it has."""
    device, capacity = estimate.memory, study.cluster.device.memory
    more = [percent(device.total / capacity), span(device.low, device.high, BYTES)]
    if len(device.stages) > 1:
        more.append(f"stage {device.heaviest.stage + 1} of {len(device.stages)}")
    if device.peak:
        more.append(f"fullest {device.peak}")
    if UNSURE[0] < device.probability_fits < UNSURE[1]:
        more.append(f"fits with {percent(device.probability_fits)}")
    return Fact(
        label="Memory",
        text=f"{span(device.total, capacity, BYTES, between='of')} per device",
        more="; ".join(more),
    )


SMALL = 0.005
"""Share of a whole below which pieces are added up where there is little room."""


def few(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The larger pieces of a whole, and the smaller ones as one."""
    small = [each for each in pieces if each.share < SMALL]
    if len(small) < 2:
        return pieces
    rest = Piece(
        name=f"{len(small)} others",
        amount=sum(each.amount for each in small),
        share=sum(each.share for each in small),
    )
    return (*(each for each in pieces if each not in small), rest)


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


NAMED_ASSUMED = 4
"""Values that nobody gave of which a few lines name the keys."""


def in_brief(estimate: Estimate) -> tuple[Fact, ...]:
    """What `caution` says in fewer lines: of what was assumed the keys, of measured runs one."""
    assumed, told = of(estimate.warnings, About.ASSUMED), estimate.confidence
    warnings = [each for each in estimate.warnings if each not in (*assumed, *unlike(told))]
    named = [(it.key or it.brief).split(" = ")[0] for it in assumed[:NAMED_ASSUMED]]
    more = ", ..." * (len(assumed) > len(named))
    keys = f"{count(len(assumed), 'value')} that nobody gave: {', '.join(named)}{more}"
    like = "no run was fitted to"
    if told.nearest:
        near = told.nearest[0]
        like = f"nearest: {near.run}, of which predictions are {near.error:+.0%} off"
    inside = "inside what was measured"
    if not told.inside_calibration:
        inside = f"outside what was measured ({told.outside})"
    return (
        *(Fact(label="Warning", text=each) for each in warnings),
        *((Fact(label="Assumed", text=keys),) * bool(assumed)),
        Fact(label="Confidence", text=f"{inside}; {like}"),
    )


def caution(estimate: Estimate) -> tuple[Fact, ...]:
    """What keeps the reader from trusting the numbers too far."""
    assumed = of(estimate.warnings, About.ASSUMED)
    warnings = [text for text in estimate.warnings if text not in assumed]
    facts = [Fact(label="Warning", text=warning) for warning in warnings]
    filled = [each.brief for each in assumed]
    # The measured run that is most like the prediction, and how well its kin are predicted.
    confidence, like = estimate.confidence, "no run was fitted to"
    if confidence.nearest:
        near = confidence.nearest[0]
        differs = f", which differs in {' and '.join(near.differs)}" if near.differs else ""
        off = f"predictions of that are {near.error:+.0%} off"
        like = f"nearest: {near.run} ({near.id}){differs}; {off}"
    inside = "inside" if confidence.inside_calibration else "outside"
    reach = f"{inside} what was measured; {like}"
    return (
        *facts,
        *([Fact(label="Assumed", text="; ".join(filled))] if filled else []),
        Fact(label="Confidence", text=reach, more=confidence.outside),
    )


def job(whole: JobTime) -> tuple[Fact, ...]:
    """What a job does beside its steps; nothing where that is nothing."""
    found = []
    if whole.goodput is not None and (whole.goodput != 1.0 or whole.start_time):
        parts = whole.parts or JobParts(start=whole.start_time)
        amounts = {field.name: getattr(parts, field.name) for field in fields(parts)}
        told = [
            f"{name.replace('_', ' ')} {written(SECONDS, amount)}"
            for name, amount in amounts.items()
            if amount and name != "steps"
        ]
        told += [count(whole.failures, "failure")] if whole.failures else []
        found = [Fact(label="Goodput", text=percent(whole.goodput), more=", ".join(told))]
    every, still = whole.checkpoint_interval, whole.checkpoint_seconds
    if every is not None and still is not None:
        text = f"{written(BYTES, whole.checkpoint_bytes)} every {written(SECONDS, every)}"
        more = f"standing still {written(SECONDS, still)}"
        found.append(Fact(label="Checkpoint", text=text, more=more))
    return tuple(found)


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


def _training(study: Study, estimate: Estimate) -> tuple[Fact, ...]:
    if estimate.time_to_train is None:
        return ()
    cost, least, most = (
        written(DOLLARS, each) if each else ""
        for each in (
            estimate.cost_to_train,
            estimate.cost_to_train_low,
            estimate.cost_to_train_high,
        )
    )
    cost += f" ({least} to {most})" if least and most else ""
    low, high = estimate.time_to_train_low, estimate.time_to_train_high
    ends = f" ({written(SECONDS, low)} to {written(SECONDS, high)})" if low and high else ""
    time = f"{written(SECONDS, estimate.time_to_train)}{ends}"
    energy = ""
    if estimate.energy_per_step is not None:
        steps = estimate.time_to_train / estimate.step_time
        energy = written(JOULES, steps * estimate.energy_per_step)
    whole = ", ".join(part for part in (time, cost, energy) if part)
    return (Fact(label="To train", text=whole, more=amount(study)),)


def estimate_report(study: Study, estimate: Estimate) -> AnswerReport:
    """What is said of an estimate."""
    plan = Fact(label="Plan", text=str(estimate.plan))
    body: tuple[Block, ...] = (
        (*question(study), plan, *misfit(estimate)),
        "",
        *map(Brief, takes(study, estimate, more=False)),
        *map(Paper, takes(study, estimate, more=True)),
        "",
        Paper(caution(estimate)),
        Brief(in_brief(estimate)),
    )
    cluster = study.cluster
    return AnswerReport(
        kind="Estimate",
        title=f"{study.workload.model.name} on {cluster.devices:,} {cluster.device.name}",
        sections=(ReportSection(name="estimate", title="", body=body),),
        coefficients=True,
    )


def takes(study: Study, estimate: Estimate, *, more: bool) -> tuple[Block, ...]:
    """Time and memory of the plan in their parts, and what follows from them.

    Args:
        study: the question.
        estimate: the plan's.
        more: whether the smallest parts are told too.
    """
    capacity, heaviest = study.cluster.device.memory, estimate.memory.heaviest
    seconds, held = time_pieces(estimate.parts), memory_pieces(heaviest, capacity)
    if not more:
        seconds, held = few(seconds), few(held)
    return (
        (step(estimate),),
        Pieces(quantity=SECONDS, pieces=seconds, of="of the step", meanings=PARTS),
        (memory(study, estimate),),
        Pieces(quantity=BYTES, pieces=held, of="of the device", meanings=MEMORY),
        answer(study, estimate),
    )


def after_estimate(_study: object, answer: object) -> tuple[Fact, ...]:
    """What to ask next; of a transfer's curve nothing."""
    if not isinstance(answer, Estimate):
        return ()
    return (
        Fact(label="Explain", text="foretrain explain {study}"),
        Fact(label="Search", text="foretrain search {study}", more="leave plan keys out"),
        Fact(label="Calibrate", text="foretrain calibrate {study} run.log"),
    )
