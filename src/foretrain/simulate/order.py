"""The order in which a pipeline stage works through its passes."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.cost.timeline import StepTimes
from foretrain.errors import InputError


@dataclass(frozen=True, slots=True)
class Passes:
    """The passes of a step, numbered so that a pass knows its successor.

    Chunk q of the model (from 0, in the model's order) lies on stage q mod stages. The forward
    passes come first, then the backward passes; within them chunk by chunk, then micro-batch by
    micro-batch.

    Attributes:
        stages: degree of the pipeline axis.
        chunks: chunks of the whole model.
        micro_batches: micro-batches per step.
    """

    stages: int
    chunks: int
    micro_batches: int

    @property
    def half(self) -> int:
        """Forward passes of all chunks and micro-batches; the number of the first backward pass."""
        return self.chunks * self.micro_batches

    @property
    def count(self) -> int:
        """Passes in all."""
        return 2 * self.half

    def forward(self, chunk: int, micro_batch: int) -> int:
        """The number of a forward pass."""
        return chunk * self.micro_batches + micro_batch

    def backward(self, chunk: int, micro_batch: int) -> int:
        """The number of a backward pass."""
        return self.half + self.forward(chunk, micro_batch)

    @property
    def successors(self) -> list[int | None]:
        """Per pass the one that needs its result; None after a backward pass of chunk 0."""
        half, one = self.half, self.micro_batches
        return [
            *range(one, half),
            *range(self.count - one, self.count),
            *[None] * one,
            *range(half, self.count - one),
        ]

    def stage(self, number: int) -> int:
        """The stage of a pass."""
        return number // self.micro_batches % self.chunks % self.stages

    def text(self, number: int) -> str:
        """A pass in words."""
        direction = "forward" if number < self.half else "backward"
        chunk = number // self.micro_batches % self.chunks
        return f"{direction} of micro-batch {number % self.micro_batches}, chunk {chunk}"


def passes_of(times: StepTimes) -> Passes:
    """Number the passes of a step.

    Raises:
        InputError: an interleaved schedule whose micro-batches do not come in whole groups.
    """
    stages = len(times.stages)
    if times.interleaving > 1 and times.micro_batches % stages:
        raise InputError(
            f"Interleaving needs micro-batches in groups of {stages} (one per stage), got "
            f"{times.micro_batches}. Choose a multiple of {stages}, or interleaving 1."
        )
    return Passes(stages, stages * times.interleaving, times.micro_batches)


def order(stage: int, passes: Passes) -> list[int]:
    """In which order does a stage work?

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


def _turn(place: int, passes: Passes) -> tuple[int, int]:
    """Chunk and micro-batch at a place in a stage's forward (or reversed backward) order."""
    group, inside = divmod(place, passes.chunks)
    chunk, member = divmod(inside, passes.stages)
    return chunk, group * passes.stages + member
