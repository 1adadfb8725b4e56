"""Zero bubble (ZB-H1): the longest path through passes of which a third kind may wait.

The paths are those of 1F1B (`step.schedules.one_f_one_b`), run along forward passes and gradients
of inputs. Those of weights lie on a path only while it stays on a stage: stage s makes none before
its backward pass s + 1, then one after each. So a path that stays on the last of p stages meets
p - 1 fewer of them than there are micro-batches, which is what the schedule wins:

    bubble = (p - 1) (forward + inputs - weights)

for stages of equal time, gradients of weights no longer than either other pass, at least p
micro-batches and no sends. Sends add a round trip of the first p micro-batches to the first stage;
further ones pay only where the sends of one take longer than the gradients of weights it avoids.

Exact for stages of equal time and sends no longer than their shorter pass; else an approximation.

Source: the schedule is that of qi2023, section 2.1; the paths are derived here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.plan.table import Column, PlanTable
from foretrain.step.schedules.one_f_one_b import order as alternating
from foretrain.step.schedules.stages import (
    Number,
    PassEnds,
    Passing,
    PassSequence,
    PipelineSchedule,
    Stages,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastStage:
    """The last stage of a kind, where a path may stay; seconds of one micro-batch.

    Attributes:
        count: stages of this kind; 0 where a plan has none.
        before: stages before this one.
        forward: its forward pass.
        inputs: its gradients of inputs.
        weights: its gradients of weights.
        forward_until: forward passes of all stages up to this one.
        inputs_until: gradients of inputs of all stages up to this one.
    """

    count: Number
    before: Number
    forward: Number
    inputs: Number
    weights: Number
    forward_until: Number
    inputs_until: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class _ZeroBubble:
    """What all paths share.

    Attributes:
        degree: stages.
        micro_batches: micro-batches per step.
        send: seconds of one hop; 0 for a single stage.
        blocking: 1 where a stage stands still while it sends, else 0.
        forward: forward passes of all stages.
        inputs: gradients of inputs of all stages.
    """

    degree: Number
    micro_batches: Number
    send: Number
    blocking: Number
    forward: Number
    inputs: Number


def longest_path(stages: Sequence[Stages], passing: Passing) -> PassEnds:
    """How long do all passes of a step take?

    Args:
        stages: the pipeline from first to last. [plan]
        passing: micro-batches and cost of sends. [plan]

    Returns:
        When each stage has computed its last gradients of weights. [plan]

    Source: the derivation at the top of this module.
    """
    places = _places(stages)
    end = places[-1]
    degree = end.before + 1
    pipeline = _ZeroBubble(
        degree=degree,
        micro_batches=passing.micro_batches,
        send=np.where(degree > 1, passing.send, 0.0),
        blocking=passing.blocking,
        forward=end.forward_until,
        inputs=end.inputs_until,
    )
    reached = _round_trips(places[0], pipeline)
    ways = [_ways(place, pipeline) for place in places]
    for through, _ in ways:
        reached = np.maximum(reached, through)
    finished = []
    for place, (_, own) in zip(reversed(places), reversed(ways), strict=True):
        reached = np.maximum(reached, own)
        finished.append(reached + _after_last_inputs(place, pipeline))
    return PassEnds(finished=finished[::-1], turn=0.0)


def _places(stages: Sequence[Stages]) -> list[_LastStage]:
    through: Number = 0.0
    forward: Number = 0.0
    inputs: Number = 0.0
    places = []
    for kind in stages:
        own = kind.backward - kind.weights
        through = through + kind.count
        forward = forward + kind.count * kind.forward
        inputs = inputs + kind.count * own
        places.append(
            _LastStage(
                count=kind.count,
                before=through - 1,
                forward=kind.forward,
                inputs=own,
                weights=kind.weights,
                forward_until=forward,
                inputs_until=inputs,
            )
        )
    return places


def _ways(place: _LastStage, pipeline: _ZeroBubble) -> tuple[Number, Number]:
    """The longest paths that stay on a stage, until the first one's last gradients of inputs.

    The first leaves through the last stage, the other over the stage's own passes. As in 1F1B,
    `warm_up` forward passes come first, then forward and backward passes alternate.
    """
    after = pipeline.degree - 1 - place.before
    send, rounds = pipeline.send, pipeline.micro_batches - 1
    alternating = np.maximum(rounds - after, 0.0)
    warm_up = rounds - alternating
    down = place.before * send + warm_up * pipeline.blocking * send
    there = place.forward_until - place.forward
    back = place.inputs_until - place.inputs
    beyond = (pipeline.degree - 1 + after) * send
    fill = pipeline.forward + pipeline.inputs - place.inputs_until + beyond
    warm = there + down + (warm_up + 1) * place.forward
    met = np.maximum(alternating - place.before, 0.0)
    stay = _stay(place, pipeline, alternating=alternating, met=met)
    drain = pipeline.forward - place.forward_until + pipeline.inputs + beyond
    later = np.maximum(rounds - place.before, 0.0) - met
    cool = back + down + (warm_up + 1) * place.inputs + later * place.weights
    feeds = alternating >= np.minimum(after, 1.0)
    through = np.maximum(warm, np.where(feeds, fill, 0.0)) + stay + drain
    own = np.maximum(warm, fill) + stay + cool
    present = np.minimum(place.count, 1.0)
    return present * through, present * own


def _stay(place: _LastStage, pipeline: _ZeroBubble, *, alternating: Number, met: Number) -> Number:
    """Alternating passes, the gradients of weights met among them, and a round trip if longer."""
    after = pipeline.degree - 1 - place.before
    sends = (np.minimum(place.before, 1.0) + np.minimum(after, 1.0)) * pipeline.send
    own = place.forward + place.inputs
    computing = alternating * (own + pipeline.blocking * sends) + met * place.weights
    mean = (pipeline.forward + pipeline.inputs) / pipeline.degree
    hops = np.maximum(np.minimum(place.before, alternating - 1), 0.0)
    trip = hops * np.maximum(mean - own + 2 * pipeline.send - pipeline.blocking * sends, 0.0)
    stay: Number = np.maximum(computing + trip, alternating * sends)
    return stay


def _round_trips(place: _LastStage, pipeline: _ZeroBubble) -> Number:
    """The path that turns at both ends of the pipeline over and over, as in 1F1B.

    Every turn at the first stage meets gradients of weights.
    """
    further = pipeline.micro_batches - 1
    turns = np.ceil(further / pipeline.degree)
    met = np.where(further >= pipeline.degree, turns, 0.0)
    hops = pipeline.degree - 1 + further - turns
    mean = (pipeline.forward + pipeline.inputs) / pipeline.degree
    return (pipeline.degree + further) * mean + 2 * hops * pipeline.send + met * place.weights


def _after_last_inputs(place: _LastStage, pipeline: _ZeroBubble) -> Number:
    """From the end of a kind's stage to that of the first one's last gradients of inputs, negative.

    A stage further up ends its gradients of inputs later, one further down has more gradients of
    weights left, up to those of all micro-batches; the kind ends with the later of both.
    """
    first = place.before - np.maximum(place.count - 1, 0.0)
    most = np.minimum(np.maximum(pipeline.micro_batches - 1, first), place.before)
    stage = np.where(place.weights > place.inputs + pipeline.send, most, first)
    upwards = place.inputs_until - (place.before - stage + 1) * place.inputs
    left = np.minimum(stage + 1, pipeline.micro_batches)
    seconds: Number = left * place.weights - upwards - stage * pipeline.send
    return seconds


def order(stage: int, passes: PassSequence) -> list[int]:
    """1F1B whose gradients of weights come later, in time that would be spent waiting (ZB-H1).

    Stage s lets those of s micro-batches wait, so that every stage keeps as many micro-batches as
    the first one keeps in 1F1B; after that each backward pass is followed by the oldest.

    Args:
        stage: position in the pipeline, from 0.
        passes: all passes of the step, one chunk per stage.

    Returns:
        Numbers of the stage's passes.

    Source: qi2023, section 2.1 (handcrafted schedule ZB-H1).
    """
    numbers = []
    for number in alternating(stage, passes):
        numbers.append(number)
        oldest = number - passes.backward(stage, stage)
        if oldest >= 0:
            numbers.append(passes.weights(stage, oldest))
    waiting = range(max(passes.micro_batches - stage, 0), passes.micro_batches)
    return [*numbers, *(passes.weights(stage, micro_batch) for micro_batch in waiting)]


def in_flight(plans: PlanTable, position: Column, micro_batches: Column) -> Column:
    """As many as there are stages, of which some wait for their gradients of weights. [plan]

    Source: qi2023, section 2.1.
    """
    return np.minimum(plans.pipeline, micro_batches)


ZERO_BUBBLE = PipelineSchedule(passes=longest_path, order=order, in_flight=in_flight)
