"""The order in which a pipeline stage works through its passes: one function per schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from foretrain.plan.plan import Schedule
from foretrain.simulate.passes import Passes


def order(stage: int, passes: Passes) -> list[int]:
    """In which order does a stage work?

    Args:
        stage: position in the pipeline, from 0.
        passes: all passes of the step.

    Returns:
        Numbers of the stage's passes.
    """
    return ORDERS[passes.schedule](stage, passes)


def one_f_one_b(stage: int, passes: Passes) -> list[int]:
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


def gpipe(stage: int, passes: Passes) -> list[int]:
    """All forward passes, then all backward passes, the last micro-batch first.

    Args:
        stage: position in the pipeline, from 0.
        passes: all passes of the step, one chunk per stage.

    Returns:
        Numbers of the stage's passes.

    Source: huang2019, section 2.3.
    """
    forward = range(passes.forward(stage, 0), passes.forward(stage + 1, 0))
    backward = range(passes.backward(stage, 0), passes.backward(stage + 1, 0))
    return [*forward, *reversed(backward)]


def zero_bubble(stage: int, passes: Passes) -> list[int]:
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
    for number in one_f_one_b(stage, passes):
        numbers.append(number)
        oldest = number - passes.backward(stage, stage)
        if oldest >= 0:
            numbers.append(passes.weights(stage, oldest))
    waiting = range(max(passes.micro_batches - stage, 0), passes.micro_batches)
    return [*numbers, *(passes.weights(stage, micro_batch) for micro_batch in waiting)]


ORDERS: Mapping[Schedule, Callable[[int, Passes], list[int]]] = MappingProxyType(
    {
        Schedule.ONE_F_ONE_B: one_f_one_b,
        Schedule.GPIPE: gpipe,
        Schedule.ZERO_BUBBLE: zero_bubble,
    }
)
"""Every schedule; its closed form stands in `cost.schedule.PASSES`."""


def _turn(place: int, passes: Passes) -> tuple[int, int]:
    """Chunk and micro-batch at a place in a stage's forward (or reversed backward) order."""
    group, inside = divmod(place, passes.chunks)
    chunk, member = divmod(inside, passes.stages)
    return chunk, group * passes.stages + member
