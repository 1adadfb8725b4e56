"""The closed form of one step: passes, sends and what follows them, for one plan or a million.

The same step as the event simulation plays (`step.simulation.step`), in a formula. The two are
equal, to rounding, where stages take equal time, chunks hold equally many buckets of gradients, and
a send takes no longer than a chunk's shorter pass (GPipe: always);
`benchmarks/closed_form_against_simulation.py` measures the distance everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from foretrain.plan.plan import Schedule
from foretrain.step.schedules import gpipe, zero_bubble
from foretrain.step.schedules import one_f_one_b as paths
from foretrain.step.schedules.stages import Number, Passes, Passing, Stages

PASSES: Mapping[Schedule, Callable[[Sequence[Stages], Passing], Passes]] = MappingProxyType(
    {
        Schedule.ONE_F_ONE_B: paths.longest_path,
        Schedule.GPIPE: gpipe.there_and_back,
        Schedule.ZERO_BUBBLE: zero_bubble.longest_path,
    }
)
"""How long the passes of every schedule take; `simulate.order.ORDERS` holds their order."""


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
    last_pass = np.where(passing.kind == Schedule.ZERO_BUBBLE, stages.weights, stages.backward)
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


def _passes(stages: Sequence[Stages], passing: Passing) -> Passes:
    """When the passes are done, each plan's by its own schedule.

    A schedule that no plan of the table has is not asked, which changes no bit of the others.
    """
    found = None
    for schedule, ask in PASSES.items():
        own = np.asarray(passing.kind) == schedule
        if not own.any():
            continue
        answer = ask(stages, passing)
        found = answer if found is None else _chosen(own, answer, found)
    assert found is not None, "a plan has an unknown schedule"
    return found


def _chosen(rows: Number, chosen: Passes, others: Passes) -> Passes:
    """Some rows of one answer, the rest of another."""
    pairs = zip(chosen.finished, others.finished, strict=True)
    return Passes(
        finished=[np.where(rows, one, other) for one, other in pairs],
        turn=np.where(rows, chosen.turn, others.turn),
    )
