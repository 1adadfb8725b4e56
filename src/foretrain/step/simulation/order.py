"""The passes of a step, and the order in which a pipeline stage works through its own."""

from __future__ import annotations

from foretrain.errors import InputError
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
