"""Memory: bytes on one device of each stage.

Source: korthikanti2022, section 4 (activations).

Room: how sure it is that a plan fits, from how far predictions of memory have been off.

Between the percentiles that are known, and beyond them, the normal score of log(measured /
predicted) is a straight line of that logarithm.

Room: bytes of a device that a plan may fill, by what sets the limit.

A device that is asked for all its memory fails in as many runs as need more than was predicted. So
a plan may fill no more than what leaves room for that error with the probability that is asked for.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import pairwise
from math import erf, exp, inf, log, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from foretrain.coefficients.device import MemoryErrors
from foretrain.plan.plan import Sharding
from foretrain.plan.study import Limit
from foretrain.plan.table import Column, Flags
from foretrain.step.held import Held, Run
from foretrain.step.peak import (
    PHASES,
    Moment,
    Stage,
    State,
    freed_moments,
    fullest,
    here_of,
    kept_of,
    state_of,
)
from foretrain.step.placements import replicas_of
from foretrain.step.setting import Setting
from foretrain.step.strategies import recompute as offload
from foretrain.step.strategies.data import among
from foretrain.workload.execution import CrossEntropy


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MemoryColumns:
    """Bytes per device at the moment at which they are most. [plan]

    Attributes:
        weights: working copy of the parameters.
        gradients: accumulated gradients.
        optimizer: optimizer state and master copy.
        activations: kept for the backward pass, all micro-batches in flight.
        buffers: the layer being computed again, what passes through a layer, and `outside`.
        outside: what the framework's allocator does not hand out, part of `buffers`.
        phase: which moment that is, of `MemoryPeak`; of software whose buffers are there for good,
            one of the first two, or the first where both are one.
    """

    weights: Column
    gradients: Column
    optimizer: Column
    activations: Column
    buffers: Column
    outside: Column
    phase: Column

    @property
    def total(self) -> Column:
        """Their sum. [plan]"""
        return self.weights + self.gradients + self.optimizer + self.activations + self.buffers

    @property
    def allocated(self) -> Column:
        """What the framework's allocator hands out. [plan]"""
        return self.total - self.outside


def stage_memory(
    setting: Setting, held: Held, *, run: Run, later: Column | float = 0.0
) -> MemoryColumns:
    """Bytes on a device of one stage of a run, at the moment at which they are most. [plan]

    Args:
        setting: workload, cluster and coefficients.
        held: plans and what they hold.
        run: position of the run, or of the run of each plan.
        later: stages of the run before the one asked for; its first one keeps most.
    """
    state, found = _found(setting, held, (run, later))
    most, at = fullest(found)
    return _columns(setting, held, state, most=most, phase=np.array(PHASES, float)[at])


def stage_moments(
    setting: Setting, held: Held, *, run: Run, later: Column | float = 0.0
) -> list[MemoryColumns]:
    """The same at every moment that may be the fullest, in the order in which they come. [plan]"""
    state, found = _found(setting, held, (run, later))
    phases = (np.full(1, float(phase)) for phase in PHASES)
    return [
        _columns(setting, held, state, most=most, phase=phase)
        for most, phase in zip(found, phases, strict=False)
    ]


def _found(setting: Setting, held: Held, stage: Stage) -> tuple[State, list[Moment]]:
    """What belongs to parameters, and the moments of a stage."""
    state = state_of(setting, held, run=stage[0])
    moments = freed_moments if setting.software.phased else _at_once
    return state, moments(setting, held, state=state, stage=stage)


def _columns(
    setting: Setting, held: Held, state: State, *, most: Moment, phase: Column
) -> MemoryColumns:
    """All that a device holds at a moment."""
    known = setting.coefficients.memory
    optimizer = state.optimizer * ~offload.of_optimizer(held.plans)
    handed_out = state.weights + most.gradients + optimizer + most.activations + most.buffers
    outside = known.fragmentation * handed_out + known.reserve
    return MemoryColumns(
        weights=state.weights,
        gradients=most.gradients,
        optimizer=optimizer,
        activations=most.activations,
        buffers=most.buffers + outside,
        outside=outside,
        phase=np.broadcast_to(phase, np.shape(handed_out)),
    )


def _at_once(setting: Setting, held: Held, *, state: State, stage: Stage) -> list[Moment]:
    """The moments that may be the fullest of software whose buffers are there for good.

    A trainer's own loss is gone before the last layer is computed again: what autograd keeps goes
    with the backward pass that needs it. Beside a framework's loss 8 bytes a logit pass by that are
    not counted here; there, the layer that is computed again stands for them at the same moment.
    """
    plans, known, (run, _) = held.plans, setting.coefficients.memory, stage
    here, moving = here_of(setting, held, stage)
    met, transient = held.of_stage("met", run), held.of_stage("transient", run)
    temporaries = known.temporaries * (held.of_stage("kept", run) + met)
    passing = held.of_stage("unpacked", run) + moving + temporaries
    passing = passing + _gathered(setting, held, run=run)
    gradients = state.gradients * ~offload.of_gradients(plans) + state.feedback
    if setting.software.loss is CrossEntropy.SOFTMAX:
        return [Moment(gradients=gradients, activations=here + met, buffers=passing + transient)]
    return [
        Moment(gradients=gradients, activations=here + met, buffers=passing),
        Moment(gradients=gradients, activations=here, buffers=passing + transient),
    ]


def heaviest_total(setting: Setting, held: Held) -> Column:
    """Bytes on a device of the heaviest stage. [plan]"""
    run = held.every_run
    stages = stage_memory(setting, held, run=run).total * (held.stages(run) > 0)
    heaviest: Column = np.maximum.reduce(stages, axis=0)
    return heaviest


def host_total(setting: Setting, held: Held) -> Column:
    """Bytes in the memory of a node's host, as if all its devices held the heaviest stage. [plan]

    A node's devices belong to one stage wherever the pipeline is the outermost axis.
    """
    plans, run = held.plans, held.every_run
    state = state_of(setting, held, run=run)
    optimizer = state.optimizer * offload.of_optimizer(plans)
    gradients = state.gradients * offload.of_gradients(plans)
    away = offload.of_activations(setting.workload.model, plans)
    kept = kept_of(setting, held, run=run, later=0.0) * away
    stages = (optimizer + gradients + kept) * (held.stages(run) > 0)
    heaviest: Column = np.maximum.reduce(stages, axis=0)
    return heaviest * float(setting.cluster.node_devices)


def host_full(setting: Setting, held: Held) -> Flags:
    """Whether what is offloaded is more than a host holds; never without a host. [plan]"""
    host = setting.cluster.host
    if host is None:
        return np.zeros(len(held.plans), bool)
    return np.greater(host_total(setting, held), host.memory)


def _gathered(setting: Setting, held: Held, *, run: Run) -> Column:
    """Bytes of the layers that are whole while the rest is sharded or away. [plan]

    The layer that computes and the one that is on its way: parameters that are gathered for a pass,
    gradients that are not reduced, or not on the host, yet.
    """
    workload, plans = setting.workload, held.plans
    gathers = (plans.sharding == Sharding.PARAMETERS) & (plans.reshard > 0)
    reduces = plans.sharding >= Sharding.GRADIENTS
    leaves = offload.of_gradients(plans)
    total = np.zeros(1)
    if not (reduces | leaves).any():
        return total
    for holding in setting.holdings:
        shared = among(plans, replicas_of(plans, holding)) > 1
        weights = held.of_holding("whole", run, holding) * (gathers & shared)
        gradients = held.of_holding("learnt", run, holding) * (reduces & shared | leaves)
        total = total + weights + gradients * workload.gradients.held_bytes
    return total


SCORES = (-2.0537, -1.2816, 0.0, 1.2816, 2.0537)
"""Normal scores of the percentiles 2, 10, 50, 90 and 98."""


def interval(total: float, errors: MemoryErrors, *, spread: float = 1.0) -> tuple[float, float]:
    """Bytes that 10 and 90 % of runs stay below.

    Args:
        total: bytes that are predicted.
        errors: percentiles of log(measured / predicted).
        spread: factor by which all of them are wider, at least 1.
    """
    return total * exp(spread * errors.p10), total * exp(spread * errors.p90)


def errors_of(setting: Setting) -> MemoryErrors:
    """How far off predictions have been of software like this."""
    known = setting.coefficients
    return known.memory_errors if setting.software.keeps is None else known.memory_errors_eager


def probability(total: float, room: float, errors: MemoryErrors, *, spread: float = 1.0) -> float:
    """How likely a prediction of `total` bytes stays within `room`, from 0 to 1."""
    return float(probabilities(np.array([total]), room, errors, spread=spread)[0])


def probabilities(
    totals: Column, room: Column | float, errors: MemoryErrors, *, spread: float = 1.0
) -> Column:
    """The same of many predictions; it never grows with a total. [as given]

    Args:
        totals: bytes that are predicted. [plan]
        room: bytes of a device.
        errors: percentiles of log(measured / predicted).
        spread: factor by which all of them are wider, at least 1.
    """
    with np.errstate(divide="ignore"):
        ratios = np.asarray(room / totals)
    # One at a time, so that a row of a table is as sure as the plan alone, to the last bit.
    margins = np.array([log(each) for each in ratios.ravel()]) / spread
    score = np.zeros_like(margins)
    for first, low, slope, second, _ in reversed(_lines(errors)):
        score = np.where(margins <= second, low + (margins - first) * slope, score)
    likely = np.array([(1.0 + erf(each / sqrt(2.0))) / 2.0 for each in score])
    return likely.reshape(ratios.shape)


def holding(room: float, fits: float, errors: MemoryErrors, *, spread: float = 1.0) -> float:
    """Bytes that a prediction may say so that it stays within `room` with a probability.

    The inverse of `probability`.

    Args:
        room: bytes of a device.
        fits: the probability, above 0 and below 1.
        errors: percentiles of log(measured / predicted).
        spread: factor by which all of them are wider, at least 1.
    """
    score = NormalDist().inv_cdf(fits)
    first, low, slope = next(line for line in _lines(errors) if score <= line[4])[:3]
    return room * exp(-spread * (first + (score - low) / slope))


Line = tuple[float, float, float, float, float]
"""Where it begins, its score there, its slope, and where and at which score the next one begins."""


def _lines(errors: MemoryErrors) -> list[Line]:
    """The straight lines between percentiles; the first and the last go on for ever."""
    known = tuple(zip(astuple(errors), SCORES, strict=True))
    lines = [
        (first, low, (high - low) / (second - first), second, high)
        for (first, low), (second, high) in pairwise(known)
    ]
    return [*lines[:-1], (*lines[-1][:3], inf, inf)]


MEMORY: Final = "device memory"
RISK: Final = "risk of device memory"
MEMORY_LIMIT: Final = "memory limit"
HOST_MEMORY: Final = "host memory"


def rooms(setting: Setting, limit: Limit) -> dict[str, float]:
    """Bytes of a device that a plan may fill, by the reason, the roomiest first.

    A reason that refuses nothing which another one does not refuse is left out.

    Args:
        setting: device, coefficients, and how unsure the model's memory is.
        limit: the bytes that a plan may fill, and how likely it must fit.
    """
    device = setting.cluster.device.memory
    found = {MEMORY: device}
    asked = {RISK: safe(setting, limit.fits), MEMORY_LIMIT: limit.memory or device}
    for reason, room in sorted(asked.items(), key=lambda each: -each[1]):
        if room < min(found.values()):
            found[reason] = room
    return found


def room(setting: Setting, limit: Limit) -> float:
    """Bytes of a device that a plan may fill."""
    return min(rooms(setting, limit).values())


def safe(setting: Setting, fits: float) -> float:
    """Bytes that a prediction may say so that a device holds them this likely."""
    device = setting.cluster.device.memory
    if not fits:
        return device
    spread = setting.workload.model.spread
    return min(device, holding(device, fits, errors_of(setting), spread=spread))
