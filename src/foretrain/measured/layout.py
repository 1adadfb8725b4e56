"""The batch of a measured run: of a step, and of one pass through the network.

The plans of a measured run, from the columns that state its layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from types import MappingProxyType

from foretrain.measured import defaults, recipe
from foretrain.measured.coverage import Assumptions, stated
from foretrain.measured.degrees import (
    Degrees,
    attention_of,
    recompute_of,
    sequence_parallel_of,
    sharding_of,
)
from foretrain.measured.run import MeasuredRun
from foretrain.plan.plan import Offload, Plan, Sends, cuts_into
from foretrain.workload.graph import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Samples of a step, and of one micro-batch of one replica."""

    step: int
    micro: int


def batch_of(run: MeasuredRun, degrees: Degrees, assumptions: Assumptions, *, tokens: int) -> Batch:
    """The samples of a run.

    Args:
        run: the run.
        degrees: of its axes.
        assumptions: takes what stands for blanks.
        tokens: of a sample.

    A step waits for the replica with most samples, so where they do not divide evenly it takes what
    it would if all had as many.

    Raises:
        NotCovered: no batch is stated.
    """
    layout, step, micro = run.layout, run.global_batch, run.layout.micro_batch
    if micro is None and layout.batch_tokens is not None:
        micro = float(layout.batch_tokens // tokens)
    batch = recipe.BATCHES.of(run)
    if step is None and micro is None and batch is not None:
        micro = float(assumptions.take(batch))
    if step is None:
        count = stated(micro, "global batch") * degrees.data
        step = int(count * assumptions.fill(layout.accumulation, defaults.NO_ACCUMULATION))
    if micro is None:
        share = step / degrees.data
        if layout.accumulation is not None:
            micro = share / layout.accumulation
        elif degrees.pipeline > 1:
            micro = float(assumptions.take(defaults.SINGLE_SAMPLES))
        else:
            assumptions.take(defaults.WHOLE_SHARE)
            micro = share
    samples = max(1, ceil(micro))
    together = samples * degrees.data
    if step % together or samples != micro:
        assumptions.note(defaults.ROUNDED_SHARES.words)
        step = together * max(1, ceil(step / together))
    return Batch(step=step, micro=samples)


OFFLOAD: Mapping[str, Offload] = MappingProxyType(
    {"": Offload.NONE, **{each.name.lower(): each for each in Offload}}
)
"""What waits in the host's memory, by a source's word; nothing unless it says so."""


def _offload(run: MeasuredRun) -> Offload:
    """What waits in the host's memory, by its column or by the notes."""
    noted = "activations" if recipe.OFFLOADED.search(run.notes) else ""
    return OFFLOAD[run.layout.offload or noted]


def plans_of(
    run: MeasuredRun, model: Model, divided: tuple[Degrees, Batch], *, assumptions: Assumptions
) -> tuple[Plan, ...]:
    """How a run was laid out: one plan, or several of which the first that fits is meant.

    Raises:
        NotCovered: a policy that foretrain does not know.
    """
    degrees, batch = divided
    chunks = _chunks(run, (degrees, batch), layers=model.cuttable_layers, assumptions=assumptions)
    sharding, shard = sharding_of(run, degrees, assumptions)
    shared_experts = model.experts and degrees.tensor > 1
    plan = Plan(
        data=degrees.data,
        tensor=degrees.tensor,
        context=degrees.context,
        pipeline=degrees.pipeline,
        expert=degrees.expert,
        expert_tensor=assumptions.take(defaults.WHOLE_EXPERTS) if shared_experts else 1,
        interleaving=chunks,
        micro_batch=batch.micro,
        sequence_parallel=sequence_parallel_of(run, degrees, assumptions),
        sharding=sharding,
        shard=shard,
        offload=_offload(run),
        attention=attention_of(run, model, assumptions),
        sends=(
            Sends.OVERLAPPED
            if degrees.pipeline == 1
            else _sends(assumptions, interleaved=chunks > 1)
        ),
    )
    stages, layers = degrees.pipeline, model.cuttable_layers
    if not cuts_into("even", layers, pipeline=stages, chunks=stages * chunks):
        assumptions.note(defaults.BALANCED_CUT.words)
        plan = replace(plan, cut="balanced")
    if degrees.divided:
        plan = replace(plan, order=assumptions.take(defaults.RANK_ORDER))
    first, *others = (
        replace(plan, recompute=recompute, recompute_layers=layers)
        for recompute, layers in recompute_of(run, model, assumptions)
    )
    if run.layout.zero_stage == 3 and assumptions.of("offload").value is None:
        # Activations go to the host before anything more is computed twice.
        return first, *_spilled(first, layers), *others
    return first, *others


def _spilled(plan: Plan, every: int) -> Iterator[Plan]:
    """A plan with activations of ever more layers on the host, by quarters of all."""
    some = (round(every * quarters / 4) for quarters in (1, 2, 3))
    for layers in (*filter(None, some), 0):
        yield replace(plan, offload=Offload.ACTIVATIONS, offload_layers=layers)


def _chunks(
    run: MeasuredRun, divided: tuple[Degrees, Batch], *, layers: int, assumptions: Assumptions
) -> int:
    """Chunks per stage, fewer than stated where the ends were counted as layers."""
    degrees, batch = divided
    if degrees.pipeline == 1:
        return 1
    most = max(1, layers // degrees.pipeline)
    if run.layout.interleaving is None and batch.step % (
        batch.micro * degrees.data * degrees.pipeline
    ):
        # Interleaving needs as many micro-batches as stages, or a multiple (narayanan2021).
        return 1
    chunks = run.layout.interleaving or assumptions.unset("interleaving").value or most
    if chunks > most:
        assumptions.note(defaults.FEWER_CHUNKS.words)
    return min(chunks, most)


def _sends(assumptions: Assumptions, *, interleaved: bool) -> Sends:
    """Whether stages compute while they send, by the trainer's habit."""
    sends: Sends = assumptions.of("sends").value[interleaved]
    word = "overlap with compute" if sends is Sends.OVERLAPPED else "block"
    assumptions.note(f"sends between stages {word}")
    return sends
