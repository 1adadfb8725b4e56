"""The closed form of one step: what the order of micro-batches costs, for one plan or a million.

A step is a network of passes, and its length is its longest path. In 1F1B, with or without
interleaving, every path that can be the longest does four things: it runs down the pipeline with
the first micro-batch, climbs back to some stage s, stays there while that stage alternates backward
and forward passes, and leaves with the last micro-batch. So

    step = max over stages s of (start of s + alternating passes of s x pace of s + end of s),

where a stage that cannot be fed is no candidate. The plain schedule has one path more. It keeps p
micro-batches in flight and no more, so a path may turn at the first and the last stage over and
over, one round trip (with its 2 (p - 1) sends) for every p micro-batches. Interleaving holds
2 (p - s - 1) micro-batches back, which hides the sends of the steady phase.

Exact for stages of equal time whose sends take no longer than a chunk's shorter pass;
`benchmarks/closed_form_against_simulation.py` measures the distance for all others.

Source: the schedules are those of narayanan2021, section 2.2; the paths are derived here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Number = float | NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Neighbouring stages of equal time; each field is a number or a column of plans.

    The first and the last stage of a pipeline are never counted together with inner ones, for they
    send less. Everything but `count` is one stage's, as in `cost.timeline.StageTimes`.

    Attributes:
        count: stages of this kind; 0 where a plan has none.
        forward: seconds of one micro-batch's forward pass, all chunks.
        backward: seconds of its backward pass, recomputation included.
        gradients: seconds of the reduction over the data axis.
        buckets: parts in which the gradients become ready.
        update: seconds of the optimizer's work.
        parameters: seconds of gathering the updated parameters.
    """

    count: Number
    forward: Number
    backward: Number
    gradients: Number
    buckets: Number
    update: Number
    parameters: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How micro-batches go through the pipeline; each field is a number or a column of plans.

    Attributes:
        micro_batches: passes through the pipeline per step; a multiple of the stages where
            interleaved.
        interleaving: chunks per stage; 1 is the plain 1F1B schedule.
        send: seconds of one transfer to a neighbour.
        blocking: 1 where a stage stands still while it sends, else 0.
        overlap: share of the gradient reduction that may run beside the backward pass.
    """

    micro_batches: Number
    interleaving: Number
    send: Number
    blocking: Number
    overlap: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Seconds of one step on the time line of its heaviest stage; they add up.

    Attributes:
        compute: forward and backward passes of all micro-batches.
        bubble: waiting that would be there if sends took no time.
        sends: what the sends add.
        gradients: reduction that the stage's own backward passes do not hide.
        update: the optimizer's work.
        parameters: gathering of updated parameters.
    """

    compute: Number
    bubble: Number
    sends: Number
    gradients: Number
    update: Number
    parameters: Number

    @property
    def seconds(self) -> Number:
        """The step, what nothing hides apart."""
        return (
            self.compute + self.bubble + self.sends + self.gradients + self.update + self.parameters
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """Stages of one kind at their place in the pipeline; seconds of one chunk."""

    stages: Stages
    first: Number
    forward: Number
    backward: Number
    forward_before: Number
    backward_before: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pipeline:
    """What all paths through the pipeline have in common; seconds of one chunk of every stage.

    Attributes:
        degree: stages.
        send: one hop; 0 for a single stage.
        forward: forward passes of all stages, sends apart.
        backward: their backward passes.
        turn: from one chunk's last backward pass on a stage to the next chunk's.
        fill: from the start until the last stage has something to send back.
        drain: from the last forward pass until the first stage has finished.
    """

    degree: Number
    send: Number
    forward: Number
    backward: Number
    turn: Number
    fill: Number
    drain: Number


def step(stages: Sequence[Stages], schedule: Schedule) -> Step:
    """What does a step consist of?

    Args:
        stages: the pipeline from first to last. [plan]
        schedule: order of micro-batches and cost of sends. [plan]

    Returns:
        Seconds on the time line of the stage that computes longest, the first of equals. [plan]

    Assumes that no stage waits for another's gradients before its update.

    Source: the derivation at the top of this module.
    """
    instant, reduced_instantly = _ends(stages, replace(schedule, send=0.0 * schedule.send))
    seconds, reduced = _ends(stages, schedule)
    compute: Number = -1.0
    gradients_instantly: Number = 0.0
    gradients: Number = 0.0
    update: Number = 0.0
    parameters: Number = 0.0
    for kind, without, with_sends in zip(stages, reduced_instantly, reduced, strict=True):
        busy = schedule.micro_batches * (kind.forward + kind.backward)
        heavier = (kind.count > 0) & (busy > compute)
        compute = np.where(heavier, busy, compute)
        gradients_instantly = np.where(heavier, without, gradients_instantly)
        gradients = np.where(heavier, with_sends, gradients)
        update = np.where(heavier, kind.update, update)
        parameters = np.where(heavier, kind.parameters, parameters)
    own = compute + update + parameters
    bubble = instant - own - gradients_instantly
    return Step(
        compute=compute,
        bubble=bubble,
        sends=seconds - own - gradients - bubble,
        gradients=gradients,
        update=update,
        parameters=parameters,
    )


def exposed_reduction(stages: Stages, schedule: Schedule, *, turn: Number) -> Number:
    """How long does a stage still reduce gradients after its last backward pass?

    The overlapped share becomes ready in equal buckets, evenly during the last micro-batch's
    backward pass, which comes in chunks, one every `turn` seconds. The reduction ends as if it had
    started with one of three buckets and never stopped: the first of all, the first of the last
    chunk, or the last of all. The share that does not overlap follows.

    Args:
        stages: what is reduced, and the backward pass that hides it. [plan]
        schedule: chunks and the share that overlaps. [plan]
        turn: seconds from one chunk's last backward pass to the next one's. [plan]

    Returns:
        Seconds per step. [plan]

    Source: the recurrence of a queue with one server, unrolled.
    """
    chunks, buckets = schedule.interleaving, stages.buckets
    per_bucket = chunks / buckets
    overlapped = schedule.overlap * stages.gradients
    first_in_last_chunk = np.floor(buckets * (chunks - 1) / chunks) + 1
    chunk = stages.backward / chunks
    first_waits = np.ceil(per_bucket)
    first_ready = (chunks - first_waits) * turn + (first_waits - per_bucket) * chunk
    later_ready = (chunks - first_in_last_chunk * per_bucket) * chunk
    later_share = (buckets - first_in_last_chunk + 1) / buckets
    from_first = overlapped - first_ready
    from_later = overlapped * later_share - later_ready
    hidden_best: Number = np.maximum(np.maximum(from_first, from_later), overlapped / buckets)
    return hidden_best + (1 - schedule.overlap) * stages.gradients


def _ends(stages: Sequence[Stages], schedule: Schedule) -> tuple[Number, list[Number]]:
    """The end of the step, and what each kind of stage still reduces after its passes."""
    kinds = _placed(stages, schedule.interleaving)
    pipeline = _pipeline(kinds, schedule)
    passes = _round_trips(kinds, schedule, pipeline)
    tail: Number = 0.0
    reductions = []
    for kind in kinds:
        own = kind.stages
        reduction = exposed_reduction(own, schedule, turn=pipeline.turn)
        early = kind.backward_before + kind.first * pipeline.send
        late = reduction + own.update + own.parameters - early
        tail = np.maximum(tail, np.where(own.count > 0, late, 0.0))
        passes = np.maximum(passes, _path(kind, schedule, pipeline))
        reductions.append(reduction)
    return passes + tail, reductions


def _placed(stages: Sequence[Stages], chunks: Number) -> list[_Kind]:
    """Each kind with what lies before it."""
    kinds = []
    first: Number = 0.0
    forward_before: Number = 0.0
    backward_before: Number = 0.0
    for kind in stages:
        forward, backward = kind.forward / chunks, kind.backward / chunks
        kinds.append(
            _Kind(
                stages=kind,
                first=first,
                forward=forward,
                backward=backward,
                forward_before=forward_before,
                backward_before=backward_before,
            )
        )
        first = first + kind.count
        forward_before = forward_before + kind.count * forward
        backward_before = backward_before + kind.count * backward
    return kinds


def _pipeline(kinds: Sequence[_Kind], schedule: Schedule) -> _Pipeline:
    """What the paths share: filling and draining take a turn per chunk but the last."""
    final = kinds[-1]
    degree = final.first + final.stages.count
    forward = final.forward_before + final.stages.count * final.forward
    backward = final.backward_before + final.stages.count * final.backward
    send = np.where(degree > 1, schedule.send, 0.0)
    held = schedule.blocking * send
    longest_forward: Number = 0.0
    longest_backward: Number = 0.0
    for kind in kinds:
        present = kind.stages.count > 0
        longest_forward = np.maximum(longest_forward, np.where(present, kind.forward, 0.0))
        longest_backward = np.maximum(longest_backward, np.where(present, kind.backward, 0.0))
    hops = (degree - 1) * send
    turn = np.maximum(backward + degree * send, degree * (longest_backward + held))
    rise = np.maximum(forward + degree * send, degree * (longest_forward + held))
    return _Pipeline(
        degree=degree,
        send=send,
        forward=forward,
        backward=backward,
        turn=turn,
        fill=(schedule.interleaving - 1) * rise + forward + hops,
        drain=(schedule.interleaving - 1) * turn + backward + hops,
    )


def _path(kind: _Kind, schedule: Schedule, pipeline: _Pipeline) -> Number:
    """The longest path that alternates on the last stage of a kind; 0 where it never does."""
    chunks, send = schedule.interleaving, pipeline.send
    held = schedule.blocking * send
    before = kind.first + kind.stages.count - 1
    after = pipeline.degree - 1 - before
    warm_up = np.where(chunks > 1, 2.0, 1.0) * after + (chunks - 1) * pipeline.degree
    alternating = schedule.micro_batches * chunks - 1 - warm_up
    forward_before = kind.forward_before + (kind.stages.count - 1) * kind.forward
    backward_before = kind.backward_before + (kind.stages.count - 1) * kind.backward
    forward_after = pipeline.forward - forward_before - kind.forward
    backward_after = pipeline.backward - backward_before - kind.backward
    start = np.maximum(
        pipeline.fill + backward_after + after * send,
        forward_before + before * send + (warm_up + 1) * (kind.forward + held),
    )
    end = np.maximum(
        pipeline.drain + forward_after + after * send,
        backward_before + before * send + (warm_up + 1) * (kind.backward + held),
    )
    runs = (kind.stages.count > 0) & ((alternating >= 1) | (after == 0))
    pace = _pace(kind, schedule, pipeline)
    path: Number = np.where(runs, start + alternating * pace + end, 0.0)
    return path


def _pace(kind: _Kind, schedule: Schedule, pipeline: _Pipeline) -> Number:
    """Seconds between a chunk's passes on a busy stage, or between the sends that they make."""
    ends = 1.0 * (kind.first == 0) + 1.0 * (kind.first + kind.stages.count == pipeline.degree)
    sending = (2 - ends / schedule.interleaving) * pipeline.send
    computing = kind.forward + kind.backward
    pace: Number = np.where(
        schedule.blocking > 0, computing + sending, np.maximum(computing, sending)
    )
    return pace


def _round_trips(kinds: Sequence[_Kind], schedule: Schedule, pipeline: _Pipeline) -> Number:
    """The path that turns at both ends of the pipeline over and over; 0 where interleaved."""
    trip = pipeline.forward + pipeline.backward + 2 * (pipeline.degree - 1) * pipeline.send
    further = schedule.micro_batches - 1
    trips = np.floor(further / pipeline.degree)
    rest = further - trips * pipeline.degree
    mean = (pipeline.forward + pipeline.backward) / pipeline.degree
    heaviest: Number = mean
    for kind in kinds:
        pace = _pace(kind, schedule, pipeline)
        heaviest = np.maximum(heaviest, np.where(kind.stages.count > 0, pace, 0.0))
    short_trip = rest * mean + 2 * np.maximum(rest - 1, 0) * pipeline.send
    staying = rest * np.where(trips > 0, heaviest, mean)
    path = (trips + 1) * trip + np.maximum(short_trip, staying)
    plain: Number = np.where(schedule.interleaving > 1, 0.0, path)
    return plain
