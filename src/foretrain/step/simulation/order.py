"""The order in which a pipeline stage works through its passes: one function per schedule.

The passes of a step and their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from foretrain.errors import InputError
from foretrain.plan.plan import Schedule
from foretrain.step.timeline import StepTimes


def order(stage: int, passes: PassSequence) -> list[int]:
    """In which order does a stage work?

    Args:
        stage: position in the pipeline, from 0.
        passes: all passes of the step.

    Returns:
        Numbers of the stage's passes.
    """
    return ORDERS[passes.schedule](stage, passes)


def one_f_one_b(stage: int, passes: PassSequence) -> list[int]:
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


def gpipe(stage: int, passes: PassSequence) -> list[int]:
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


def zero_bubble(stage: int, passes: PassSequence) -> list[int]:
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


ORDERS: Mapping[Schedule, Callable[[int, PassSequence], list[int]]] = MappingProxyType(
    {
        Schedule.ONE_F_ONE_B: one_f_one_b,
        Schedule.GPIPE: gpipe,
        Schedule.ZERO_BUBBLE: zero_bubble,
    }
)
"""Every schedule; its closed form stands in `cost.schedule.PASSES`."""


def _turn(place: int, passes: PassSequence) -> tuple[int, int]:
    """Chunk and micro-batch at a place in a stage's forward (or reversed backward) order."""
    group, inside = divmod(place, passes.chunks)
    chunk, member = divmod(inside, passes.stages)
    return chunk, group * passes.stages + member


@dataclass(frozen=True, slots=True)
class PassSequence:
    """The passes of a step, numbered so that a pass knows its successor.

    Chunk q of the model (from 0, in the model's order) lies on stage q mod stages. The forward
    passes come first, then the backward passes, then, where the schedule keeps them apart, the
    passes that compute gradients of weights; within them chunk by chunk, then micro-batch by
    micro-batch.

    Attributes:
        stages: degree of the pipeline axis.
        chunks: chunks of the whole model.
        micro_batches: micro-batches per step.
        schedule: their order.
    """

    stages: int
    chunks: int
    micro_batches: int
    schedule: Schedule = Schedule.ONE_F_ONE_B

    @property
    def half(self) -> int:
        """Forward passes of all chunks and micro-batches; the number of the first backward pass."""
        return self.chunks * self.micro_batches

    @property
    def split(self) -> bool:
        """Whether gradients of weights are computed in passes of their own."""
        return self.schedule is Schedule.ZERO_BUBBLE

    @property
    def count(self) -> int:
        """Passes in all."""
        return (3 if self.split else 2) * self.half

    def forward(self, chunk: int, micro_batch: int) -> int:
        """The number of a forward pass."""
        return chunk * self.micro_batches + micro_batch

    def backward(self, chunk: int, micro_batch: int) -> int:
        """The number of a backward pass."""
        return self.half + self.forward(chunk, micro_batch)

    def weights(self, chunk: int, micro_batch: int) -> int:
        """The number of a pass that computes gradients of weights."""
        return 2 * self.half + self.forward(chunk, micro_batch)

    def last(self, chunk: int) -> int:
        """The number of the pass that completes the gradients of a chunk."""
        if self.split:
            return self.weights(chunk, self.micro_batches - 1)
        reverse = self.schedule is Schedule.GPIPE
        return self.backward(chunk, 0 if reverse else self.micro_batches - 1)

    @property
    def successors(self) -> list[int | None]:
        """Per pass the one of another stage that needs its result, or of the same where it turns.

        None after a backward pass of chunk 0, and after gradients of weights.
        """
        half, one = self.half, self.micro_batches
        return [
            *range(one, half),
            *range(2 * half - one, 2 * half),
            *[None] * one,
            *range(half, 2 * half - one),
            *[None] * (self.count - 2 * half),
        ]

    def stage(self, number: int) -> int:
        """The stage of a pass."""
        return number // self.micro_batches % self.chunks % self.stages

    def text(self, number: int) -> str:
        """A pass in words."""
        kind = ("forward", "backward", "weights")[number // self.half]
        chunk = number // self.micro_batches % self.chunks
        return f"{kind} of micro-batch {number % self.micro_batches}, chunk {chunk}"


def passes_of(times: StepTimes) -> PassSequence:
    """Number the passes of a step.

    Args:
        times: what happens in the step.

    Returns:
        Its passes.

    Raises:
        InputError: an interleaved schedule whose micro-batches do not come in whole groups, or one
            that cannot be interleaved.
    """
    stages, chunks = len(times.stages), times.interleaving
    if chunks > 1 and times.schedule is not Schedule.ONE_F_ONE_B:
        raise InputError(
            f"Only the schedule one_f_one_b interleaves, got {times.schedule.name.lower()} with "
            f"interleaving {chunks}. Choose interleaving 1, or one_f_one_b."
        )
    if chunks > 1 and times.micro_batches % stages:
        raise InputError(
            f"Interleaving needs micro-batches in groups of {stages} (one per stage), got "
            f"{times.micro_batches}. Choose a multiple of {stages}, or interleaving 1."
        )
    return PassSequence(stages, stages * chunks, times.micro_batches, times.schedule)
