"""The batch of a measured run: of a step, and of one pass through the network.

The plans of a measured run, from the columns that state its layout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.policies import (
    Degrees,
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
from foretrain.plan.plan import AXES, Cut, Offload, Order, Plan, cuts_into
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

    Raises:
        NotCovered: no batch is stated, or replicas do not get whole micro-batches.
    """
    run = _in_samples(run, tokens)
    step = run.global_batch
    if step is None:
        step = _of_all(run, degrees, assumptions)
    micro = _micro(run, degrees, step=step, assumptions=assumptions)
    if not micro.is_integer() or micro < 1 or step % (int(micro) * degrees.data):
        raise NotCovered("global batch is not a whole number of micro-batches on every replica")
    return Batch(step=step, micro=int(micro))


def _in_samples(run: MeasuredRun, tokens: int) -> MeasuredRun:
    """A batch of so many tokens holds as many samples as they fill."""
    layout = run.layout
    if layout.micro_batch is not None or layout.batch_tokens is None:
        return run
    return replace(run, layout=replace(layout, micro_batch=float(layout.batch_tokens // tokens)))


def _of_all(run: MeasuredRun, degrees: Degrees, assumptions: Assumptions) -> int:
    micro = stated(run.layout.micro_batch, "global batch")
    count = assumptions.fill(run.layout.accumulation, defaults.NO_ACCUMULATION)
    return int(micro * degrees.data * count)


def _micro(run: MeasuredRun, degrees: Degrees, *, step: int, assumptions: Assumptions) -> float:
    layout, share = run.layout, step / degrees.data
    if layout.micro_batch is not None:
        return layout.micro_batch
    if layout.accumulation is not None:
        return share / layout.accumulation
    if degrees.pipeline > 1:
        return float(assumptions.take(defaults.SINGLE_SAMPLES))
    assumptions.take(defaults.WHOLE_SHARE)
    return share


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
