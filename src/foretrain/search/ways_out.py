"""Ways out: what is missing where no plan fits, what would let one fit, and what that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import floor
from typing import Final

from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError
from foretrain.plan.spelling import setting_of, spelled
from foretrain.plan.study import FIXED, Study
from foretrain.search.nearest_miss import (
    Freed,
    NearestMiss,
    enough_nodes,
    freed,
    nearest_plan,
)
from foretrain.step.memory import RISK, errors_of, probability
from foretrain.step.result import Ranked
from foretrain.step.software import study_setting
from foretrain.units import BYTES, SECONDS
from foretrain.workload.gradients import CODECS
from foretrain.workload.trainable import Trainable, adapted
from foretrain.workload.workload import Optimizer, Precision

Best = Callable[[Study], Ranked | None]
"""The best plan of a study; None where it has none."""

RANK: Final = 16
"""Of adapters that are tried instead of full training."""

EIGHT_BITS: Final = {Optimizer.ADAM, Optimizer.ADAMW, Optimizer.ADAMW_16BIT}
"""Optimizers of which there is one that keeps its moments in 8 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """A change of the question with which a plan fits.

    Attributes:
        change: lines of a study that say so.
        best: the best plan then.
    """

    change: str
    best: Ranked

    def __str__(self) -> str:
        told = self.best.estimate
        return (
            f"{self.change}: {self.best.plan}, {SECONDS.write(told.step_time)} a step, "
            f"{BYTES.write(told.memory.total)} per device"
        )


def nearest_miss(study: Study, *, coefficients: Coefficients, best: Best) -> str:
    """What is missing where no plan of a study fits, and what would let one fit, in words.

    Args:
        study: the question; its space has a legal plan.
        coefficients: those of the search.
        best: finds the best plan of a changed question.
    """
    found = nearest_plan(study, coefficients)
    assert found is not None, "a space without a legal plan was not refused"
    ways = [str(way) for way in ways_out(study, found, coefficients=coefficients, best=best)]
    told = "\n".join(f"- {way}" for way in (*ways, *_beyond(study, found, coefficients)))
    return f"Nearest miss: {_missing(study, found)}\nWhat would fit:\n{told}"


def ways_out(
    study: Study, found: NearestMiss, *, coefficients: Coefficients, best: Best
) -> Iterator[WayOut]:
    """Changes of one kind with which a plan fits, those that change least first.

    Args:
        study: the question.
        found: its plan that is nearest to fitting.
        coefficients: those of the search.
        best: finds the best plan of a changed question.
    """
    for key in freed(study):
        there = nearest_plan(key.study, coefficients)
        if there is not None and there.fits:
            yield from (
                replace(way, change=_key_of(study, key, way.best))
                for way in _priced("", key.study, best)
            )
    for change, other in _leaner(study):
        there = nearest_plan(other, coefficients)
        if there is not None and there.fits:
            yield from _priced(change, other, best)
    more = enough_nodes(study, found.cluster, coefficients)
    if more is not None:
        nodes = f"cluster.nodes = {more.cluster.nodes} instead of {found.cluster.nodes}"
        wider = replace(study, cluster=more.cluster, offers=())
        yield from _priced(nodes, wider, best)


def _priced(change: str, study: Study, best: Best) -> Iterator[WayOut]:
    """The best plan of a changed question; nothing where a limit leaves none."""
    found = best(study)
    if found is not None:
        yield WayOut(change=change, best=found)


def _key_of(study: Study, key: Freed, best: Ranked) -> str:
    """The line of a study that frees one of its keys, or gives it the value of a plan."""
    choices = getattr(study.space, key.key)
    if choices == FIXED.get(key.key):
        return setting_of(key.key, getattr(best.plan, key.key))
    return f"plan.{key.key} left out instead of {', '.join(map(spelled, choices))}"


def _leaner(study: Study) -> Iterator[tuple[str, Study]]:
    """The question with less to keep: fewer bits of states or gradients, or adapters alone."""
    workload = study.workload
    if workload.optimizer in EIGHT_BITS:
        states = replace(workload, optimizer=Optimizer.ADAMW_8BIT)
        yield f'workload.optimizer = "{Optimizer.ADAMW_8BIT}"', replace(study, workload=states)
    narrow = workload.precision not in (Precision.FP32, Precision.TF32)
    if narrow and workload.gradients.held_bytes > CODECS["bf16"].held_bytes:
        sums = replace(workload, gradients=CODECS["bf16"])
        yield 'workload.gradients = "bf16"', replace(study, workload=sums)
    if workload.model.tokens > 1:
        try:
            model = adapted(workload.model, Trainable(lora=RANK))
        except InputError:
            return
        yield (
            f"workload.trainable = {{ lora = {RANK} }}",
            replace(study, workload=replace(workload, model=model)),
        )


def _missing(study: Study, found: NearestMiss) -> str:
    """How far the nearest plan is from fitting."""
    if found.crowded:
        return f"{found.plan} asks the hosts for more memory than they have."
    device, room = found.cluster.device, BYTES.write(found.room)
    if found.limit == RISK:
        has = (
            f"so that {device.name} with {BYTES.write(device.memory)} holds it with "
            f"{100 * study.limit.fits:g} % it may need {room}"
        )
    else:
        has = (
            f"{device.name} has {room}"
            if found.room == device.memory
            else f"search.limit.memory is {room}"
        )
    return (
        f"{found.plan} needs {BYTES.write(found.memory)} per device, {has}. "
        f"{BYTES.write(found.memory - found.room)} are missing."
    )


def _beyond(study: Study, found: NearestMiss, coefficients: Coefficients) -> Iterator[str]:
    """What no other plan would change: limits, devices and hosts."""
    needed, device = BYTES.write(found.memory), found.cluster.device
    if found.crowded:
        yield "hosts with more memory, or less that waits there"
    elif found.memory > device.memory:
        yield f"devices with {needed} of memory"
    elif found.limit == RISK:
        errors = errors_of(study_setting(study, found.cluster, coefficients))
        spread = study.workload.model.spread
        fits = floor(100 * probability(found.memory, device.memory, errors, spread=spread))
        yield f'search.fits = "{fits} %": {found.plan} needs {needed}'
    else:
        yield f"search.limit.memory of {needed}"
