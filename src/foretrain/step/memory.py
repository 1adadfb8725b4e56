"""Memory: bytes on one device of each stage.

Sources: korthikanti2022, section 4 (activations), rajbhandari2020, section 3 (model states).

Room: how sure it is that a plan fits, from how far predictions of memory have been off.

Between the percentiles that are known, and beyond them, the normal score of log(measured /
predicted) is a straight line of that logarithm.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import pairwise
from math import erf, exp, inf, log, sqrt
from statistics import NormalDist

import numpy as np

from foretrain.coefficients.memory import MemoryErrors
from foretrain.plan.plan import Sharding
from foretrain.plan.table import Column, Flags
from foretrain.step.held import Held, Run
from foretrain.step.placements import replicas_of
from foretrain.step.setting import Setting
from foretrain.step.strategies import owners_of
from foretrain.step.strategies import recompute as offload
from foretrain.step.strategies.data import among
from foretrain.step.strategies.pipeline import in_flight


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MemoryColumns:
    """Bytes per device. [plan]

    Attributes:
        weights: working copy of the parameters.
        gradients: accumulated gradients.
        optimizer: optimizer state and master copy.
        activations: kept for the backward pass, all micro-batches in flight.
        buffers: the layer being computed again, what passes through a layer, and `outside`.
        outside: what the framework's allocator does not hand out, part of `buffers`.
    """

    weights: Column
    gradients: Column
    optimizer: Column
    activations: Column
    buffers: Column
    outside: Column

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
    """Bytes on a device of one stage of a run. [plan]

    Args:
        setting: workload, cluster and coefficients.
        held: plans and what they hold.
        run: position of the run, or of the run of each plan.
        later: stages of the run before the one asked for; its first one keeps most.
    """
    plans, state, known = held.plans, _state(setting, held, run=run), setting.coefficients.memory
    # Activations stay on the device, or two layers of them are on their way to the host.
    away, kept = offload.of_activations(plans), _kept(setting, held, run=run, later=later)
    met, transient = held.of_stage("met", run), held.of_stage("transient", run)
    here = kept * ~away + met
    moving = np.minimum(2.0 * held.of_stage("moving", run), kept) * away
    gradients = state.gradients * ~offload.of_gradients(plans) + state.feedback
    optimizer = state.optimizer * ~offload.of_optimizer(plans)
    gathered = _gathered(setting, held, run=run)
    temporaries = known.temporaries * (held.of_stage("kept", run) + met)
    if setting.software.phased:
        # A pass frees what it is done with: the loss before a layer is computed again.
        transient = np.maximum(transient - met, 0.0)
        passes = here + transient + gathered + temporaries
        if setting.software.stepwise:
            # Of two layers, one of which is updated while the other has its backward pass.
            gradients = np.minimum(gradients, _learnt(setting, held, run=run))
        lean = setting.software.stepwise or setting.software.fused_update
        moment = np.zeros(1) if lean else state.moment
        gradients = _at_peak(setting, held, updated=(gradients, moment), passes=passes)
    passing = transient + held.of_stage("unpacked", run) + moving + gathered + temporaries
    handed_out = state.weights + gradients + optimizer + here + passing
    outside = known.fragmentation * handed_out + known.reserve
    return MemoryColumns(
        weights=state.weights,
        gradients=gradients,
        optimizer=optimizer,
        activations=here,
        buffers=passing + outside,
        outside=outside,
    )


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
    state = _state(setting, held, run=run)
    optimizer = state.optimizer * offload.of_optimizer(plans)
    gradients = state.gradients * offload.of_gradients(plans)
    kept = _kept(setting, held, run=run, later=0.0) * offload.of_activations(plans)
    stages = (optimizer + gradients + kept) * (held.stages(run) > 0)
    heaviest: Column = np.maximum.reduce(stages, axis=0)
    return heaviest * float(setting.cluster.node_devices)


def host_full(setting: Setting, held: Held) -> Flags:
    """Whether what is offloaded is more than a host holds; never without a host. [plan]"""
    host = setting.cluster.host
    if host is None:
        return np.zeros(len(held.plans), bool)
    return np.greater(host_total(setting, held), host.memory)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _State:
    """Bytes of what belongs to parameters, wherever it is. [plan]

    Attributes:
        weights: working copy.
        gradients: accumulated gradients.
        feedback: what a lossy codec adds to the next step's gradients.
        optimizer: state and master copy.
        moment: one moment of every parameter.
    """

    weights: Column
    gradients: Column
    feedback: Column
    optimizer: Column
    moment: Column


def _state(setting: Setting, held: Held, *, run: Run) -> _State:
    """What belongs to the parameters of a stage. [plan]

    Parameters that are sharded and never dropped during a step are whole until the update.
    """
    workload, plans = setting.workload, held.plans
    codec, optimizer, software = workload.gradients, workload.optimizer, setting.software
    stays = (plans.sharding == Sharding.PARAMETERS) & (plans.reshard == 0)
    weights, trained, reduced, owned = (np.zeros(1) for _ in range(4))
    for holding in setting.holdings:
        owners = owners_of(plans, replicas_of(plans, holding))
        mine, parts = held.trained(run, holding), 1.0 if software.waits else owners.gradients
        weights = weights + held.weights(run, holding) / np.where(stays, 1.0, owners.weights)
        trained = trained + mine
        reduced = reduced + held.graded(run, holding) / parts
        owned = owned + mine / owners.optimizer
    return _State(
        weights=weights,
        gradients=reduced * codec.held_bytes,
        feedback=trained * codec.kept_bytes,
        optimizer=owned * (optimizer.state_bytes + workload.master_bytes),
        moment=owned * optimizer.moment_bytes,
    )


def _learnt(setting: Setting, held: Held, *, run: Run) -> Column:
    """Bytes of the gradients of the largest layer and of the largest that can be cut. [plan]"""
    total = np.zeros(1)
    for holding in setting.holdings:
        total = total + held.of_holding("learnt", run, holding)
    return total * setting.workload.gradients.held_bytes


def _at_peak(
    setting: Setting, held: Held, *, updated: tuple[Column, Column], passes: Column
) -> Column:
    """Bytes that gradients and their update add to a peak of the passes. [plan]

    Activations are freed as gradients come: one micro-batch without a pipeline has all of the ones
    or all of the others. Where there are more of either, gradients stay. The copy of a moment that
    an update needs comes when no activation is left.

    Args:
        setting: workload, cluster and coefficients.
        held: plans and what they hold.
        updated: bytes of gradients, and of one moment.
        passes: bytes of activations and what passes through at the end of the forward pass.
    """
    (gradients, moment), plans = updated, held.plans
    several = setting.workload.micro_batches(plans.data, plans.micro_batch) > 1
    stays = several | (plans.pipeline > 1)
    update: Column = np.maximum(moment + np.where(stays, 0.0, gradients) - passes, 0.0)
    return update + np.where(stays, gradients, 0.0)


def _kept(setting: Setting, held: Held, *, run: Run, later: Column | float) -> Column:
    """Bytes that micro-batches in flight keep. [plan]"""
    flight = in_flight(
        held.plans,
        position=held.first(run) + later,
        micro_batches=setting.workload.micro_batches(held.plans.data, held.plans.micro_batch),
    )
    return flight * held.of_stage("kept", run)


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


def probability(total: float, room: float, errors: MemoryErrors, *, spread: float = 1.0) -> float:
    """How likely a prediction of `total` bytes stays within `room`, from 0 to 1."""
    margin = log(room / total) / spread
    first, low, slope = next(line for line in _lines(errors) if margin <= line[3])[:3]
    return (1.0 + erf((low + (margin - first) * slope) / sqrt(2.0))) / 2.0


def risks(totals: Column, room: float, errors: MemoryErrors, *, spread: float = 1.0) -> Column:
    """How likely each prediction of bytes is more than `room` after all; `probability` by columns.

    Args:
        totals: bytes that are predicted. [plan]
        room: bytes of a device.
        errors: percentiles of log(measured / predicted).
        spread: factor by which all of them are wider, at least 1.
    """
    from scipy.special import ndtr

    with np.errstate(divide="ignore"):
        margins = np.log(room / totals) / spread
    score = np.zeros_like(totals)
    for first, low, slope, second, _ in reversed(_lines(errors)):
        score = np.where(margins <= second, low + (margins - first) * slope, score)
    found: Column = ndtr(-score)
    return found


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
