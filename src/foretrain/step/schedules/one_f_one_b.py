"""1F1B: the longest path through the passes of a pipeline, which is how long they take.

A pass begins when its input has come and its stage is free, so the passes of a step form a network
whose longest path is the answer. In 1F1B every path that can be the longest runs down the pipeline
with the first micro-batch, reaches some stage, stays while that stage alternates backward and
forward passes, and leaves with the last micro-batch:

    longest over stages of  start + alternating passes x pace + end.

There are three ways to the first backward pass that alternates, and their mirror images at the end:

- through the last stage: down all chunks, and up again to the stage;
- over the stage's own warm-up, forward pass after forward pass;
- where interleaved, around: the last stage alternates for one group of micro-batches and hands the
  next group's to the first stage.

Sends cost a path what its hops take. The plain schedule keeps p micro-batches in flight and no
more; its longest path may therefore turn at both ends of the pipeline over and over, 2 (p - 1)
sends for p micro-batches. Interleaving begins with 2 (p - s - 1) more forward passes on stage s
instead of p - s - 1, and staying is longer than any such round trip.

Exact for stages of equal time and sends no longer than a chunk's shorter pass. Beyond that two
terms keep it sane: a stage is never faster than the sends that leave it, and each further group of
micro-batches may climb through all chunks where a hop takes longer than alternating.

Source: the schedules are those of narayanan2021, section 2.2; the paths are derived here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.plan.table import Column, PlanTable
from foretrain.step.schedules.stages import (
    Number,
    PassEnds,
    Passing,
    PassSequence,
    PipelineSchedule,
    Stages,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """Passes of one micro-batch and chunk in one direction, in seconds, sends apart.

    Attributes:
        own: on one stage.
        before: on all stages before it.
        whole: on all stages.
    """

    own: Number
    before: Number
    whole: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """The last stage of a kind, where a path may stay.

    Attributes:
        count: stages of this kind; 0 where a plan has none.
        before: stages before the last one.
        after: stages after it.
        forward: what forward passes take.
        backward: what backward passes take.
        pace: seconds for a forward and a backward pass of a chunk, or for the sends that they make.
    """

    count: Number
    before: Number
    after: Number
    forward: _Way
    backward: _Way
    pace: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pipeline:
    """What all paths share.

    Attributes:
        degree: stages.
        send: seconds of one hop; 0 for a single stage.
        held: seconds for which a send holds its sender.
        interleaved: whether stages have several chunks.
        rounds: forward passes of chunks of all micro-batches on one stage but the first one.
        ahead: forward passes by which the last stage is ahead of its backward passes.
        fill: seconds until the last stage begins to alternate.
        drain: seconds from the end of its last forward pass.
        turn: as in `PassEnds`.
        group: seconds in which the last stage alternates for as many micro-batches as there are
            stages.
        climb: seconds of one hop and the mean of the longer passes.
        climbs: hops by which a path may climb before the last group of micro-batches.
    """

    degree: Number
    send: Number
    held: Number
    interleaved: Number
    rounds: Number
    ahead: Number
    fill: Number
    drain: Number
    turn: Number
    group: Number
    climb: Number
    climbs: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paths:
    """The longest paths that stay on a stage, in seconds; 0 where a plan has no such stage.

    Attributes:
        through: leaves through the last stage, and so through every stage after that.
        own: leaves over the stage's own last backward passes.
    """

    through: Number
    own: Number


def longest_path(stages: Sequence[Stages], passing: Passing) -> PassEnds:
    """How long do all passes of a step take?

    Args:
        stages: the pipeline from first to last. [plan]
        passing: order of micro-batches and cost of sends. [plan]

    Returns:
        Seconds of the passes, and when each stage is done with them. [plan]

    Source: the derivation at the top of this module.
    """
    degree: Number = 0.0
    for own in stages:
        degree = degree + own.count
    send = np.where(degree > 1, passing.send, 0.0)
    kinds = _kinds(stages, passing, degree=degree, send=send)
    pipeline = _pipeline(kinds, passing, degree=degree, send=send)
    paths = [_paths(kind, pipeline) for kind in kinds]
    trips = _round_trips(kinds[0], passing, pipeline)
    reached = _longest([trips, *[path.through for path in paths]])
    finished = []
    for kind, path in zip(reversed(kinds), reversed(paths), strict=True):
        reached = np.maximum(reached, path.own)
        more = kind.count - 1
        upwards = kind.backward.before - more * kind.backward.own + (kind.before - more) * send
        finished.append(reached - upwards)
    return PassEnds(finished=finished[::-1], turn=pipeline.turn)


def _kinds(
    stages: Sequence[Stages], passing: Passing, *, degree: Number, send: Number
) -> list[_Kind]:
    """The last stage of each kind, at its place."""
    chunks = passing.interleaving
    forward = _ways(stages, [kind.forward / chunks for kind in stages])
    backward = _ways(stages, [kind.backward / chunks for kind in stages])
    through: Number = 0.0
    kinds = []
    for own, there, back in zip(stages, forward, backward, strict=True):
        through = through + own.count
        before, after = through - 1, degree - through
        sends = 2 * (chunks - 1) + np.minimum(before, 1.0) + np.minimum(after, 1.0)
        sending = sends * send / chunks
        computing = there.own + back.own + passing.blocking * sending
        kinds.append(
            _Kind(
                count=own.count,
                before=before,
                after=after,
                forward=there,
                backward=back,
                pace=np.maximum(computing, sending),
            )
        )
    return kinds


def _ways(stages: Sequence[Stages], each: Sequence[Number]) -> list[_Way]:
    """For the last stage of each kind: its own seconds, those before it and those of all."""
    through: Number = 0.0
    until = []
    for kind, own in zip(stages, each, strict=True):
        through = through + kind.count * own
        until.append(through)
    pairs = zip(each, until, strict=True)
    return [_Way(own=own, before=end - own, whole=through) for own, end in pairs]


def _pipeline(
    kinds: Sequence[_Kind], passing: Passing, *, degree: Number, send: Number
) -> _Pipeline:
    """Filling and draining take a turn for every chunk but the last."""
    further = passing.interleaving - 1
    held = passing.blocking * send
    forward, backward = kinds[0].forward.whole, kinds[0].backward.whole
    longest_forward = _longest([np.minimum(k.count, 1.0) * k.forward.own for k in kinds])
    longest_backward = _longest([np.minimum(k.count, 1.0) * k.backward.own for k in kinds])
    around = degree * send
    rise = np.maximum(forward + around, degree * (longest_forward + held))
    turn: Number = np.maximum(backward + around, degree * (longest_backward + held))
    pace = kinds[0].pace
    for kind in kinds[1:]:
        pace = np.where(kind.count > 0, kind.pace, pace)
    return _Pipeline(
        degree=degree,
        send=send,
        held=held,
        interleaved=np.minimum(further, 1.0),
        rounds=passing.micro_batches * passing.interleaving - 1,
        ahead=further * degree,
        fill=further * rise + forward + around - send,
        drain=further * turn + backward + around - send,
        turn=turn,
        group=degree * pace,
        climb=np.maximum(forward, backward) / degree + send,
        climbs=(passing.micro_batches - degree) * further,
    )


def _longest(seconds: Sequence[Number]) -> Number:
    """The largest of several columns, row by row."""
    longest = seconds[0]
    for other in seconds[1:]:
        longest = np.maximum(longest, other)
    return longest


def _paths(kind: _Kind, pipeline: _Pipeline) -> _Paths:
    """The longest paths that stay on a stage.

    The stage makes `warm_up` + 1 forward passes before its first backward pass. Then a backward and
    a forward pass alternate until none of the `rounds` is left, and the backward passes remain. A
    stage that never alternates is reached by its own forward passes only.
    """
    ahead = kind.after + pipeline.interleaved * kind.after + pipeline.ahead
    alternating = np.maximum(pipeline.rounds - ahead, 0.0)
    warm_up = pipeline.rounds - alternating
    around = _around(kind, pipeline, alternating=alternating)
    up = kind.after * pipeline.send
    down = kind.before * pipeline.send + warm_up * pipeline.held
    there, back = kind.forward, kind.backward
    fill = pipeline.fill + np.maximum(
        back.whole - back.before - back.own + up, there.before + there.own + around
    )
    drain = pipeline.drain + np.maximum(
        there.whole - there.before - there.own + up, back.before + back.own + around
    )
    feeds = alternating >= np.minimum(kind.after, 1.0)
    warm = there.before + down + (warm_up + 1) * there.own
    start = np.maximum(warm, np.where(feeds, fill, 0.0))
    climb = pipeline.climbs * np.maximum(pipeline.climb - kind.pace, 0.0)
    trips = np.ceil(alternating / np.maximum(kind.count, 1.0))
    computing = alternating * (kind.forward.own + kind.backward.own)
    sending = 2 * (alternating - trips) * pipeline.send * (1 - pipeline.interleaved)
    stay: Number = np.maximum(alternating * kind.pace + climb, computing + sending)
    left = start + stay
    cool = back.before + down + (warm_up + 1) * back.own
    present = np.minimum(kind.count, 1.0)
    return _Paths(through=present * (left + drain), own=present * (left + cool))


def _around(kind: _Kind, pipeline: _Pipeline, *, alternating: Number) -> Number:
    """What the way around adds to filling (or draining) and the stage's own place.

    With v chunks and p stages, it hands forward pass (v + 1) p to stage s. The other ways arrive
    with pass 2 (p - s - 1) + (v - 1) p, the warm-up: 2 (s + 1) alternating passes earlier.
    """
    skipped = 2 * (kind.before + 1)
    possible = pipeline.interleaved * alternating >= 2 * skipped
    seconds = pipeline.group + (kind.before + 1) * pipeline.send - skipped * kind.pace
    around: Number = np.where(possible, seconds, -np.inf)
    return around


def _round_trips(kind: _Kind, passing: Passing, pipeline: _Pipeline) -> Number:
    """The path that turns at both ends of the pipeline over and over; 0 where interleaved.

    A round trip over k stages takes k forward and k backward passes and 2 (k - 1) hops, and ends k
    micro-batches later. So the last micro-batch comes 2 hops later for each one before it, but for
    the 2 hops that every round trip saves.
    """
    further = passing.micro_batches - 1
    hops = pipeline.degree - 1 + further - np.ceil(further / pipeline.degree)
    mean = (kind.forward.whole + kind.backward.whole) / pipeline.degree
    path = (pipeline.degree + further) * mean + 2 * hops * pipeline.send
    return path * (1 - pipeline.interleaved)


def order(stage: int, passes: PassSequence) -> list[int]:
    """Forward and backward passes alternate.

    Warm-up is forward passes only; then a forward and a backward pass alternate; then come the
    backward passes that are left. With several chunks a group of as many micro-batches as there
    are stages passes the first chunk, then the next one, and so on.

    Args:
        stage: position in the pipeline, from 0.
        passes: all passes of the step.

    Returns:
        Numbers of the stage's passes.

    Source: narayanan2021, section 2.2.
    """
    chunks = passes.chunks // passes.stages
    turns = [_turn(place, passes) for place in range(passes.micro_batches * chunks)]
    forward = [passes.forward(c * passes.stages + stage, m) for c, m in turns]
    backward = [passes.backward((chunks - 1 - c) * passes.stages + stage, m) for c, m in turns]
    after = passes.stages - 1 - stage
    warm_up = after if chunks == 1 else 2 * after + (chunks - 1) * passes.stages
    warm_up = min(warm_up, len(turns))
    alternating = len(turns) - warm_up
    pairs = zip(forward[warm_up:], backward[:alternating], strict=True)
    return [
        *forward[:warm_up],
        *(number for pair in pairs for number in pair),
        *backward[alternating:],
    ]


def _turn(place: int, passes: PassSequence) -> tuple[int, int]:
    """Chunk and micro-batch at a place in a stage's forward (or reversed backward) order."""
    group, inside = divmod(place, passes.chunks)
    chunk, member = divmod(inside, passes.stages)
    return chunk, group * passes.stages + member


def in_flight(plans: PlanTable, position: Column, micro_batches: Column) -> Column:
    """Micro-batches whose activations a stage keeps at most, in units of whole stages. [plan]

    p - s. Interleaved: 2 (p - s - 1) + (v - 1) p + 1 chunks of 1 / v of the stage; for the first
    stage p + (p - 1) / v, the 1 + (p - 1) / (p v) of korthikanti2022, section 4.2.3. A single stage
    has one micro-batch at a time.
    """
    behind = plans.pipeline - position - 1.0
    chunks = 2.0 * behind + (plans.interleaving - 1.0) * plans.pipeline + 1.0
    chunks = np.minimum(chunks, micro_batches * plans.interleaving)
    plain = np.minimum(behind + 1.0, micro_batches)
    return np.where(plans.interleaving > 1, chunks / plans.interleaving, plain)


ONE_F_ONE_B = PipelineSchedule(passes=longest_path, order=order, in_flight=in_flight)
