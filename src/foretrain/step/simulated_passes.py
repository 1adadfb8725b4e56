"""The passes of a step, and the order in which a pipeline stage works through its own.

The passes of a step on the compute and send streams of a pipeline, played pass by pass.
"""

from __future__ import annotations

from functools import lru_cache

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
        self.seconds = _seconds(times, passes)
        self.ended = [0.0] * passes.count
        self.sent: dict[int, tuple[float, float]] = {}
        self._send = times.send
        self._blocking = times.sends is Sends.BLOCKING

    def run(self) -> None:
        """Play the step's passes to the end.

        The order of a stage's passes is fixed, and so is that of its sends. So no clock is needed:
        whichever stage has the input of its next pass goes on as far as inputs go.
        """
        passes, stage_of, successors = self.passes, _stages(self.passes), self.passes.successors
        orders = [iter(_order(stage, passes)) for stage in range(passes.stages)]
        wanted = [next(numbers, None) for numbers in orders]
        seconds, ended, sent, send = self.seconds, self.ended, self.sent, self._send
        # When each pass has its input; below zero while it has not. First passes have it, and
        # gradients of weights need what is on the stage: the order brings them after their input.
        arrived = [-1.0] * passes.count
        arrived[: passes.micro_batches] = [0.0] * passes.micro_batches
        arrived[2 * passes.half :] = [0.0] * (passes.count - 2 * passes.half)
        free, link_free = [0.0] * passes.stages, [0.0] * passes.stages
        going = list(range(passes.stages))
        while going:
            stage = going.pop()
            numbers, now, link = orders[stage], free[stage], link_free[stage]
            number = wanted[stage]
            while number is not None:
                input_at = arrived[number]
                if input_at < 0.0:
                    break
                now = (input_at if input_at > now else now) + seconds[number]
                ended[number] = now
                done, successor, number = number, successors[number], next(numbers, None)
                if successor is None:
                    continue
                receiver, ready = stage_of[successor], now
                if receiver != stage and send > 0.0:
                    start = link if link > now else now
                    ready = link = start + send
                    sent[done] = (start, ready)
                    if self._blocking:
                        now = ready
                arrived[successor] = ready
                if receiver != stage and wanted[receiver] == successor:
                    going.append(receiver)
            wanted[stage], free[stage], link_free[stage] = number, now, link
        assert wanted == [None] * passes.stages, "a pass never got its input"


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
