"""The closed form of one step: passes, sends and what follows them, for one plan or a million.

The same step as the event simulation plays (`step.simulation.step`), in a formula. The two are
equal, to rounding, where stages take equal time, chunks hold equally many buckets of gradients, and
a send takes no longer than a chunk's shorter pass (GPipe: always);
`benchmarks/closed_form_against_simulation.py` measures the distance everywhere else.

What follows the passes is the stage's tail: gradients are reduced as far as the passes have not
done it, replicas wait for the slowest of them (devices of one kind differ in clock and temperature,
and each of them from pass to pass), the optimizer updates what a device owns, and updated
parameters are gathered. Steps on pictures are so short that what the host does once per step
counts: input, loss, the call of a runtime, the agreement of replicas on what to reduce.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import log
from operator import or_

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import Schedule
from foretrain.plan.table import Column, PlanTable, Rows, distinct
from foretrain.step.collectives.line import Line
from foretrain.step.ends import update
from foretrain.step.held import Held
from foretrain.step.passes import staged
from foretrain.step.placements import Placements, replicas_of
from foretrain.step.schedules import SCHEDULES
from foretrain.step.schedules.stages import Number, PassEnds, Passing, Stages
from foretrain.step.setting import Holding, Setting
from foretrain.step.strategies import owners_of, parameter_transfers_of
from foretrain.step.strategies.strategy import ParameterTransfer, When
from foretrain.trainers.software import Execution


def straggling(setting: Setting, plans: PlanTable) -> Number:
    """The time of the slowest replica's passes over that of their mean. [plan]

    The largest of n normal values lies about sqrt(2 log n) standard deviations above their mean.
    Of pictures the spread is wider: decoding and batches of objects differ too, unless the device
    runs one compiled program that waits for no host.

    Source: cramer1946, section 28.6.
    """
    known = setting.coefficients
    wider = setting.operators.family.any() and not setting.software.whole
    spread = known.picture_steps.straggling if wider else known.step.spread
    return 1.0 + spread * np.sqrt(2.0 * log(2.0) * doublings(plans.data * plans.context))


def doublings(replicas: Column) -> Column:
    """How often one was doubled to be as many, rounded down; exact for any number. [plan]"""
    return np.frexp(replicas)[1] - 1.0


def once(setting: Setting, replicas: Column) -> Number:
    """Seconds that a step takes once, however much is computed in it. [plan]

    A network that a compiler makes one program of has its reductions in it: nobody asks for them.

    Args:
        setting: workload, cluster and coefficients.
        replicas: that reduce gradients together. [plan]
    """
    if not setting.operators.family.any():
        return 0.0
    known, software = setting.coefficients.picture_steps, setting.software
    own, wait = {
        Execution.EAGER: (known.eager, known.eager_wait),
        Execution.GRAPH: (known.graph, known.graph_wait),
        Execution.COMPILED: (known.graph, known.graph_wait),
        Execution.TUNED: (known.tuned, known.tuned_wait),
    }[Execution.TUNED if software.whole else software.execution]
    agreed = 0.0 if software.whole else np.where(replicas > 1, wait, 0.0)
    seconds: Number = own + agreed
    return setting.coefficients.step.factor * seconds


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tails:
    """Seconds of one stage of each run, per step. [run, combination]

    Attributes:
        gradients: reduction of gradients once per step.
        buckets: parts in which they become ready.
        update: the optimizer's work.
        parameters: gathering of parameters.
        first: gathering of parameters that the first forward pass may hide.
        tied: gradients of parameters that the first and the last stage both have.
        offload: optimizer state to the host and back, and its work there.
    """

    gradients: Floats
    buckets: Floats
    update: Floats
    parameters: Floats
    first: Floats
    tied: Floats
    offload: Floats


def tails(setting: Setting, held: Held, placed: Placements, *, group: Rows) -> tuple[Tails, Rows]:
    """The tails of some plans, and which of them each plan has."""
    plans = held.plans
    policies = (plans.sharding, plans.reshard, plans.offload, plans.convolutions, plans.split)
    rows, tail = distinct([group, held.cut, *policies])
    few = held.take(rows, plans.take(rows))
    run, few_plans = few.every_run, few.plans
    layers = np.maximum(1.0, few.of_stage("layers", run))
    messages = _messages(setting, few)
    # Seconds of gradients and parameters, as far as the passes leave them. [run, plan]
    parts = dict.fromkeys(
        ("gradients", "parameters", "first"), np.zeros((len(few.runs), len(few_plans)))
    )
    for holding in setting.holdings:
        trained = few.trained(run, holding)
        narrow = few.weights(run, holding) / setting.workload.precision.value_bytes
        replicas = replicas_of(few_plans, holding)
        for transfer in parameter_transfers_of(setting.workload, few_plans, replicas):
            if transfer.when in (When.FORWARD, When.BACKWARD) or not transfer.size.any():
                continue
            size = (trained if transfer.trained else narrow) * transfer.size
            part = "first" if _beside(setting, transfer) else transfer.part
            exchange = placed.groups[holding, transfer.group].take(group[rows])
            seconds = messages * exchange.seconds(size / messages, transfer.pattern)
            longer = staged(setting, few_plans, size, pattern=transfer.pattern)
            parts[part] = parts[part] + seconds + longer
    seconds, moved = update(setting, few)
    lost = once(setting, replicas_of(few_plans, Holding.COMMON))
    return Tails(
        **parts,
        buckets=layers,
        update=seconds + lost,
        tied=_tied(setting, few, hop=placed.hop.take(group[rows])),
        offload=moved,
    ), tail


def _beside(setting: Setting, transfer: ParameterTransfer) -> bool:
    """Whether what is gathered once per step comes beside its first forward pass.

    Source: megatron-core, --overlap-param-gather (updated parameters, of a layer before it runs).
    """
    updated = transfer.part == "parameters" and setting.software.gathers_beside
    return transfer.when is When.FIRST or updated


def _tied(setting: Setting, held: Held, *, hop: Line) -> Floats:
    """Seconds in which the first and the last stage add up gradients of parameters that both have.

    Each has a copy, of which it owns a part where gradients are sharded. Two members send a half
    each, twice; that comes when replicas are done. Sources: megatron-core, finalize_model_grads.py;
    patarasuk2009, equation 4. [run, plan]
    """
    tied, plans = setting.workload.model.tied_trained, held.plans
    if not tied or not (plans.pipeline > 1).any():
        return np.zeros((len(held.runs), len(plans)))
    mine = owners_of(plans, replicas_of(plans, Holding.COMMON)).gradients
    size = tied / plans.tensor / mine * setting.workload.gradients.wire_bytes
    first = held.first(held.every_run)
    ends = (first == 0) | (first == plans.pipeline - 1)
    seconds: Floats = (2.0 * hop.fixed + hop.per_byte * size) * (ends & (plans.pipeline > 1))
    return seconds


def _messages(setting: Setting, held: Held) -> Floats:
    """Messages in which gradients and parameters of a stage travel: one, or one a tensor.

    Sources: sergeev2018 (tensor fusion); kahira2021 (segmented all-reduces of hybrids). [run, plan]
    """
    plans = held.plans
    several = plans.tensor * plans.context * plans.pipeline > 1
    apart = several & (not setting.software.fuses)
    return np.where(apart, np.maximum(1.0, held.of_stage("tensors", held.every_run)), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Seconds of one step on the time line of its heaviest stage.

    Attributes:
        seconds: the step; the others add up to it, to rounding.
        compute: forward and backward passes of all micro-batches.
        bubble: waiting that would be there if sends took no time.
        sends: what the sends add.
        gradients: reduction that the stage's own backward passes do not hide.
        update: the optimizer's work.
        parameters: gathering of updated parameters.
    """

    seconds: Number
    compute: Number
    bubble: Number
    sends: Number
    gradients: Number
    update: Number
    parameters: Number


def delayed(kind: Number) -> NDArray[np.bool_]:
    """Whether gradients of weights are computed in passes of their own. [plan]

    Args:
        kind: schedules as numbers. [plan]
    """
    return np.asarray(reduce(or_, (kind == each for each in Schedule if each.delays)))


def seconds(stages: Sequence[Stages], passing: Passing) -> Number:
    """How long does a step take?

    Args:
        stages: the pipeline from first to last. [plan]
        passing: order of micro-batches and cost of sends. [plan]

    Returns:
        Seconds until the slowest stage has reduced, updated and gathered. [plan]

    Assumes that no stage waits for another's gradients before its update.

    Source: `longest_path` for the passes.
    """
    return _ends(stages, passing)[0]


def step(stages: Sequence[Stages], passing: Passing) -> Step:
    """What does a step consist of? The same seconds, to the bit, and their parts.

    Args:
        stages: the pipeline from first to last. [plan]
        passing: order of micro-batches and cost of sends. [plan]

    Returns:
        Seconds on the time line of the stage that computes longest, the first of equals. [plan]

    Assumes what `seconds` assumes.

    Source: the same.
    """
    # Every plan twice, side by side: with sends that take no time, and as it is.
    sends = np.stack([0.0 * np.asarray(passing.send), np.asarray(passing.send)])
    ends, reductions = _ends(stages, replace(passing, send=sends))
    instant, total = np.asarray(ends)
    compute: Number = -1.0
    gradients_instantly: Number = 0.0
    gradients: Number = 0.0
    update: Number = 0.0
    parameters: Number = 0.0
    for kind, exposed in zip(stages, reductions, strict=True):
        without_sends, with_sends = np.broadcast_to(exposed, np.shape(ends))
        busy = passing.micro_batches * (kind.forward + kind.backward)
        heavier = (kind.count > 0) & (busy > compute)
        compute = np.where(heavier, busy, compute)
        gradients_instantly = np.where(heavier, without_sends, gradients_instantly)
        gradients = np.where(heavier, with_sends, gradients)
        update = np.where(heavier, kind.update, update)
        parameters = np.where(heavier, kind.parameters, parameters)
    own = compute + update + parameters
    bubble = instant - own - gradients_instantly
    return Step(
        seconds=total,
        compute=compute,
        bubble=bubble,
        sends=total - own - gradients - bubble,
        gradients=gradients,
        update=update,
        parameters=parameters,
    )


def exposed_reduction(stages: Stages, passing: Passing, *, turn: Number) -> Number:
    """How long does a stage still reduce gradients after its last pass?

    The overlapped share becomes ready in equal buckets, evenly during the last micro-batch's
    backward pass (zero bubble: the gradients of weights), in chunks, one every `turn` seconds. The
    reduction ends as if it had started with one of three buckets and never stopped: the first of
    all, the first of the last chunk, or the last of all. The share that does not overlap follows.

    Args:
        stages: what is reduced, and the pass that hides it. [plan]
        passing: chunks and the share that overlaps. [plan]
        turn: seconds from one chunk's last backward pass to the next one's. [plan]

    Returns:
        Seconds per step. [plan]

    Assumes as many buckets in every chunk; otherwise one of another chunk may end later.

    Source: the recurrence of a queue with one server, unrolled.
    """
    chunks, buckets = passing.interleaving, stages.buckets
    per_bucket = chunks / buckets
    overlapped = passing.overlap * stages.gradients
    first_in_last_chunk = np.floor(buckets * (chunks - 1) / chunks) + 1
    last_pass = np.where(delayed(passing.kind), stages.weights, stages.backward)
    chunk = last_pass / chunks
    first_waits = np.ceil(per_bucket)
    first_ready = (chunks - first_waits) * turn + (first_waits - per_bucket) * chunk
    later_ready = (chunks - first_in_last_chunk * per_bucket) * chunk
    later_share = (buckets - first_in_last_chunk + 1) / buckets
    from_first = overlapped - first_ready
    from_later = overlapped * later_share - later_ready
    lasting: Number = np.maximum(np.maximum(from_first, from_later), overlapped / buckets)
    return lasting + (1 - passing.overlap) * stages.gradients


def _ends(stages: Sequence[Stages], passing: Passing) -> tuple[Number, list[Number]]:
    """The end of the step, and what each kind of stage still reduces after its passes."""
    passes = _passes(stages, passing)
    end: Number = 0.0
    reductions = []
    for kind, finished in zip(stages, passes.finished, strict=True):
        reduction = exposed_reduction(kind, passing, turn=passes.turn)
        own_end = finished + reduction + kind.update + kind.parameters
        end = np.maximum(end, np.where(kind.count > 0, own_end, 0.0))
        reductions.append(reduction)
    return end, reductions


def _passes(stages: Sequence[Stages], passing: Passing) -> PassEnds:
    """When the passes are done, each plan's by its own schedule.

    A schedule that no plan of the table has is not asked, which changes no bit of the others.
    """
    found = None
    for schedule, known in SCHEDULES.items():
        own = np.asarray(passing.kind) == schedule
        if not own.any():
            continue
        answer = known.passes(stages, passing)
        if found is not None:
            pairs = zip(answer.finished, found.finished, strict=True)
            answer = PassEnds(
                finished=[np.where(own, one, other) for one, other in pairs],
                turn=np.where(own, answer.turn, found.turn),
            )
        found = answer
    assert found is not None, "a plan has an unknown schedule"
    return found
