"""The passes of a step, and the order in which a pipeline stage works through its own.

The passes of a step on the compute and send streams of a pipeline, played event by event.
"""

from __future__ import annotations

from functools import lru_cache
from heapq import heappop, heappush

from foretrain.errors import InputError
from foretrain.plan.plan import Sends
from foretrain.step.schedules import SCHEDULES
from foretrain.step.schedules.stages import PassSequence
from foretrain.step.timeline import StepTimes


def order(stage: int, passes: PassSequence) -> list[int]:
    """In which order does a stage work?

    Args:
        stage: position in the pipeline, from 0.
        passes: all passes of the step.

    Returns:
        Numbers of the stage's passes.
    """
    return SCHEDULES[passes.schedule].order(stage, passes)


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
    if chunks > 1 and not times.schedule.interleaves:
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


KEPT = 256
"""Orders of stages that are remembered."""


class Pipeline:
    """A pipeline at work.

    A stage's forward and backward sends leave by the same link, one after the other. A send that
    blocks holds the sender's compute stream until it has arrived; a receiver waits either way.

    Attributes:
        passes: the passes and their numbers.
        seconds: how long each pass takes, by number.
        ended: seconds at which each pass ended, by number.
        sent: start and end of the send after each pass, by number; absent where there is none.
    """

    def __init__(self, times: StepTimes, passes: PassSequence) -> None:
        self.passes = passes
        self.ended = [0.0] * passes.count
        self.sent: dict[int, tuple[float, float]] = {}
        self._send = times.send
        self._blocking = times.sends is Sends.BLOCKING
        self._stage = _stages(passes)
        self.seconds = _seconds(times, passes)
        self._orders = [iter(_order(stage, passes)) for stage in range(passes.stages)]
        self._next = [next(numbers, None) for numbers in self._orders]
        self._busy = [False] * passes.stages
        self._link_free = [0.0] * passes.stages
        self._successors = passes.successors
        self._arrived = bytearray(passes.count)
        self._arrived[: passes.micro_batches] = b"\1" * passes.micro_batches
        # Gradients of weights need what is on the stage; the order brings them after their input.
        self._arrived[2 * passes.half :] = b"\1" * (passes.count - 2 * passes.half)
        # Not the kernel: passes are numbers, and a search plays a hundred thousand of them.
        self._queue: list[tuple[float, int, int]] = []
        self._asked = 0
        self._now = 0.0

    def run(self) -> None:
        """Play the step's passes to the end."""
        for stage in range(self.passes.stages):
            self._advance(stage)
        queue = self._queue
        while queue:
            self._now, _, event = heappop(queue)
            if event >= 0:
                self._finish(event)
            else:
                self._deliver(-1 - event)
        assert not any(self._busy), "a stage never finished"
        assert self._next == [None] * self.passes.stages, "a pass never got its input"

    def _advance(self, stage: int) -> None:
        """Start the stage's next pass if its input is there."""
        number = self._next[stage]
        if number is None or self._busy[stage] or not self._arrived[number]:
            return
        self._busy[stage] = True
        self._asked += 1
        heappush(self._queue, (self._now + self.seconds[number], self._asked, number))

    def _finish(self, number: int) -> None:
        """End a pass and hand its result on."""
        stage = self._stage[number]
        self.ended[number] = self._now
        self._next[stage] = next(self._orders[stage], None)
        successor = self._successors[number]
        receiver = stage if successor is None else self._stage[successor]
        sends = receiver != stage and self._send > 0
        if sends and successor is not None:
            now, free = self._now, self._link_free[stage]
            start = free if free > now else now
            end = start + self._send
            self._link_free[stage] = end
            self.sent[number] = (start, end)
            self._asked += 1
            heappush(self._queue, (end, self._asked, -1 - number))
        elif successor is not None:
            self._receive(receiver, successor)
        if not (sends and self._blocking):
            self._busy[stage] = False
            self._advance(stage)

    def _deliver(self, number: int) -> None:
        """End the send of a pass's result."""
        successor = self._successors[number]
        assert successor is not None, "a pass without a successor sends nothing"
        if self._blocking:
            stage = self._stage[number]
            self._busy[stage] = False
            self._advance(stage)
        self._receive(self._stage[successor], successor)

    def _receive(self, stage: int, number: int) -> None:
        self._arrived[number] = 1
        self._advance(stage)


@lru_cache(KEPT)
def _order(stage: int, passes: PassSequence) -> tuple[int, ...]:
    """The passes of a stage in their order; rivals of a search have few shapes."""
    return tuple(order(stage, passes))


@lru_cache(KEPT)
def _stages(passes: PassSequence) -> tuple[int, ...]:
    """The stage of every pass."""
    return tuple(map(passes.stage, range(passes.count)))


def _seconds(times: StepTimes, passes: PassSequence) -> list[float]:
    """What every pass takes."""
    chunks = times.interleaving
    later = [stage.weights / chunks if passes.split else 0.0 for stage in times.stages]
    forward = [stage.forward / chunks for stage in times.stages]
    backward = [
        stage.backward / chunks - apart for stage, apart in zip(times.stages, later, strict=True)
    ]
    kinds = (forward, backward, later)
    half = passes.half
    return [kinds[number // half][stage] for number, stage in enumerate(_stages(passes))]


def play(times: StepTimes) -> Pipeline:
    """Play the passes of a step.

    Args:
        times: seconds of everything that happens in the step.

    Returns:
        The pipeline after its last pass.

    Raises:
        InputError: an interleaved schedule whose micro-batches do not come in whole groups, or one
            that cannot be interleaved.
    """
    pipeline = Pipeline(times, passes_of(times))
    pipeline.run()
    return pipeline
