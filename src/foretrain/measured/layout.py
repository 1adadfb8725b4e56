"""The plans of a measured run, from the columns that state its layout."""

from __future__ import annotations

from dataclasses import replace

from foretrain.measured import defaults
from foretrain.measured.batch import Batch
from foretrain.measured.coverage import Assumptions
from foretrain.measured.degrees import Degrees
from foretrain.measured.policies import (
    attention_of,
    interleaving_of,
    offload_of,
    recompute_of,
    sends_of,
    sequence_parallel_of,
    sharding_of,
    spills_activations,
)
from foretrain.measured.run import MeasuredRun
from foretrain.plan.choices import cuts_into
from foretrain.plan.plan import AXES, Cut, Offload, Order, Plan
from foretrain.workload.graph import Model


def plans_of(
    run: MeasuredRun, model: Model, divided: tuple[Degrees, Batch], *, assumptions: Assumptions
) -> tuple[Plan, ...]:
    """How a run was laid out: one plan, or several of which the first that fits is meant.

    Raises:
        NotCovered: a policy that foretrain does not know.
    """
    degrees, batch = divided
    chunks = _chunks(run, degrees, layers=model.cuttable_layers, assumptions=assumptions)
    sharding, shard = sharding_of(run, degrees, assumptions)
    plan = Plan(
        data=degrees.data,
        tensor=degrees.tensor,
        context=degrees.context,
        pipeline=degrees.pipeline,
        expert=degrees.expert,
        expert_tensor=_expert_tensor(model, degrees, assumptions),
        interleaving=chunks,
        micro_batch=batch.micro,
        sequence_parallel=sequence_parallel_of(run, degrees, assumptions),
        sharding=sharding,
        shard=shard,
        offload=offload_of(run),
        attention=attention_of(run, model, assumptions),
        sends=sends_of(run, degrees, interleaving=chunks, assumptions=assumptions),
        cut=_cut(model, degrees.pipeline * chunks, assumptions),
        order=_order(degrees, assumptions),
    )
    first, *others = (
        replace(plan, recompute=recompute, recompute_layers=layers)
        for recompute, layers in recompute_of(run, model, assumptions)
    )
    away = (
        [replace(first, offload=Offload.ACTIVATIONS)] if others and spills_activations(run) else []
    )
    return first, *away, *others


def _chunks(run: MeasuredRun, degrees: Degrees, *, layers: int, assumptions: Assumptions) -> int:
    """Chunks per stage, fewer than stated where the ends were counted as layers."""
    if degrees.pipeline == 1:
        return 1
    most = max(1, layers // degrees.pipeline)
    chunks = run.layout.interleaving or assumptions.take(interleaving_of(run)) or most
    if chunks > most:
        assumptions.note(defaults.FEWER_CHUNKS.words)
    return min(chunks, most)


def _cut(model: Model, chunks: int, assumptions: Assumptions) -> Cut:
    if cuts_into("even", model.cuttable_layers, chunks):
        return "even"
    assumptions.note(defaults.BALANCED_CUT.words)
    return "balanced"


def _expert_tensor(model: Model, degrees: Degrees, assumptions: Assumptions) -> int:
    """Members that share an expert; without a tensor axis there is nothing to ask."""
    if not model.experts or degrees.tensor == 1:
        return 1
    return assumptions.take(defaults.WHOLE_EXPERTS)


def _order(degrees: Degrees, assumptions: Assumptions) -> Order:
    """The order of ranks, which matters only where two axes or more are used."""
    return assumptions.take(defaults.RANK_ORDER) if degrees.divided else AXES
