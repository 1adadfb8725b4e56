"""Memory: bytes on one device of each stage.

Sources: korthikanti2022, section 4 (activations), rajbhandari2020, section 3 (model states).

Room: how sure it is that a plan fits, from how far predictions of memory have been off.

Between the percentiles that are known, and beyond them, the normal score of log(measured /
predicted) is a straight line of that logarithm.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from math import erf, exp, log, sqrt

import numpy as np

from foretrain.coefficients.memory import MemoryErrors
from foretrain.plan.plan import Sharding
from foretrain.plan.table import Column, Flags
from foretrain.step.held import Held, Run
from foretrain.step.peak import Moment, Phase, fullest
from foretrain.step.placements import replicas_of
from foretrain.step.setting import Setting
from foretrain.step.strategies import owners_of
from foretrain.step.strategies import recompute as offload
from foretrain.step.strategies.data import among
from foretrain.step.strategies.pipeline import in_flight


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
        phase: which moment that is, of `Phase`; of software whose buffers are there for good, the
            first, for all of them are one.
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


def _found(setting: Setting, held: Held, stage: Stage) -> tuple[_State, list[Moment]]:
    """What belongs to parameters, and the moments of a stage."""
    state = _state(setting, held, run=stage[0])
    moments = _moments if setting.software.phased else _at_once
    return state, moments(setting, held, state=state, stage=stage)


def _columns(
    setting: Setting, held: Held, state: _State, *, most: Moment, phase: Column
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
        phase=phase,
    )


Stage = tuple[Run, Column | float]
"""A run of equal stages, and the stages of it before the one that is meant."""


def _at_once(setting: Setting, held: Held, *, state: _State, stage: Stage) -> list[Moment]:
    """Software whose buffers are there for good: everything that a step needs is there at once."""
    plans, known, (run, _) = held.plans, setting.coefficients.memory, stage
    here, moving = _here(setting, held, stage)
    met, transient = held.of_stage("met", run), held.of_stage("transient", run)
    temporaries = known.temporaries * (held.of_stage("kept", run) + met)
    passing = transient + held.of_stage("unpacked", run) + moving
    gradients = state.gradients * ~offload.of_gradients(plans) + state.feedback
    passing = passing + _gathered(setting, held, run=run) + temporaries
    return [Moment(gradients=gradients, activations=here + met, buffers=passing)]


def _here(setting: Setting, held: Held, stage: Stage) -> tuple[Column, Column]:
    """Bytes kept of layers that can be cut, and of those that are on their way to the host."""
    run, later = stage
    away = offload.of_activations(held.plans)
    kept = _kept(setting, held, run=run, later=later)
    return kept * ~away, np.minimum(2.0 * held.of_stage("moving", run), kept) * away


def _moments(setting: Setting, held: Held, *, state: _State, stage: Stage) -> list[Moment]:
    """Software that frees what it is done with: the moments that may be the fullest, in order.

    Gradients of as many micro-batches as are in flight come as activations go; where there are
    more, they stay.
    A layer whose parameters are sharded is whole while it computes, beside the one that comes next
    and the gradients of the one before, on their way to those who own them. What stands around the
    layers stays whole until its backward pass is done (PyTorch's root).
    """
    plans, software, (run, later) = held.plans, setting.software, stage
    here, moving = _here(setting, held, stage)
    met, again = held.of_stage("met", run), held.of_stage("transient", run)
    brief = held.of_stage("unpacked", run) + moving
    passes = setting.workload.micro_batches(plans.data, plans.micro_batch)
    flight = in_flight(plans, position=held.first(run) + later, micro_batches=passes)
    stays, others = passes > flight, here * (flight - 1.0) / flight
    part = _parted(setting, held, run=run)
    every = state.gradients * ~offload.of_gradients(plans) + part.repeated
    if software.stepwise:
        # Of two layers, one of which is updated while the other has its backward pass.
        every = np.minimum(every, _learnt(setting, held, run=run))
    lean = software.stepwise or software.fused_update
    layer = here / (flight * np.maximum(held.of_stage("layers", run), 1.0))
    kept = np.where(again > 0, 0.0, layer)
    working = again + held.of_stage("passing", run) + brief + part.around + part.ends + part.two
    early = EARLY * part.layer
    # Where gradients are added up in place, one product's at a time is beside them.
    held_early, passing = (
        np.where(part.apart | stays, 0.0, early),
        working + early * (part.apart | stays),
    )
    # Activations of a layer go as its gradients come.
    all_of_it = part.layer * (part.apart | ~stays) - kept
    working_later = np.maximum(passing, working - again - brief + all_of_it)

    leaving = held.of_stage("leaving", run)
    if software.keeps is not None and software.keeps.gathered:
        # The loss of logits that are divided has one more of its four copies.
        leaving = leaving * np.where(plans.tensor > 1, DIVIDED_LOSS, 1.0)

    def moment(gradients: Column, activations: Column, buffers: Column) -> Moment:
        whole = np.where(stays, every, np.minimum(gradients, every)) + state.feedback
        return Moment(gradients=whole, activations=activations, buffers=buffers)

    zero = np.zeros(1)
    last = np.where(part.apart, 0.0, part.last)
    left = np.maximum(every - part.own, 0.0)
    return [
        moment(zero, here + met + part.casts, leaving + brief + part.around + part.next),
        moment(last + held_early, here + part.casts, passing),
        moment(
            last + held_early + part.layer * ~part.apart,
            np.maximum(here - layer, 0.0) + part.casts,
            working_later + part.sent,
        ),
        moment(left, others + np.minimum(layer, here), working_later + part.sent),
        moment(every, others, part.reduction),
        moment(every, zero, state.moment * (not lean)),
    ]


PHASES = (
    Phase.LOSS,
    Phase.FIRST_LAYER,
    Phase.FIRST_LAYER,
    Phase.LAST_LAYER,
    Phase.REDUCTION,
    Phase.UPDATE,
)
"""Of the moments, in their order."""

DIVIDED_LOSS = 12 / 8
"""Bytes that pass by a logit in PyTorch's `loss_parallel`, over those in its usual loss."""

EARLY = 0.25
"""Part of a layer's gradients that is there while nearly all of its activations are: those of the
last product, about a quarter of its parameters."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Parted:
    """Bytes of parameters and gradients that are whole for a moment. [plan]

    Attributes:
        apart: whether gradients are sharded as soon as a layer has them.
        repeated: of the gradients of what stands before the layers, those of other members of the
            tensor axis, which PyTorch gives every member.
        own: gradients, as they are held, of the layer that the backward pass comes to last, and of
            what comes after.
        last: gradients of what stands behind the layers.
        layer: gradients of one layer, before they are reduced.
        around: parameters of what stands around the layers, whole.
        ends: gradients of what stands behind the layers, not reduced yet.
        two: parameters of two layers, whole.
        next: those of one where its backward pass is prepared for before that of the loss.
        sent: gradients of a layer on their way.
        reduction: parameters and gradients of what stands around, and what is sent of them.
        casts: copies of 16 bits that products keep of parameters of fp32.
    """

    apart: Flags
    repeated: Column
    own: Column
    last: Column
    layer: Column
    around: Column
    ends: Column
    two: Column
    next: Column
    sent: Column
    reduction: Column
    casts: Column


def _parted(setting: Setting, held: Held, *, run: Run) -> _Parted:
    """What is whole for a moment of a stage."""
    workload, plans, wide = setting.workload, held.plans, _wide(setting)
    codec, value = workload.gradients, workload.precision.value_bytes
    # A gradient has the precision of its parameter until it is reduced.
    whole_bytes = value if wide else codec.held_bytes
    owned_bytes = workload.master_bytes if wide else codec.held_bytes
    keeps = setting.software.keeps
    gathered, inside = (False, False) if keeps is None else (keeps.gathered, keeps.loss_inside)
    names = ("repeated", "own", "last", "layer", "around", "ends", "two", "next", "sent", "casts")
    sums: dict[str, Column] = {name: np.zeros(1) for name in (*names, "leaving")}
    for holding in setting.holdings:
        replicas = among(plans, replicas_of(plans, holding))
        shared = replicas > 1
        gathers = (plans.sharding == Sharding.PARAMETERS) & shared
        drops, apart = (
            gathers & (plans.reshard > 0),
            (plans.sharding >= Sharding.GRADIENTS) & shared,
        )
        parts = np.where(apart, replicas, 1.0)
        embedding, head, layer, whole, around = (
            held.of_holding(name, run, holding)
            for name in ("learnt_first", "learnt_last", "learnt_layer", "whole_layer", "around")
        )
        every = held.weights(run, holding)
        ends = head + embedding
        found = {
            "repeated": embedding * (plans.tensor - 1.0) * ~apart * owned_bytes * gathered,
            "own": (
                np.where(apart, ends + layer, embedding + (1.0 - EARLY) * layer) + layer * apart
            )
            * owned_bytes
            / parts,
            "last": head * ~apart * owned_bytes,
            "layer": layer * np.where(apart, whole_bytes, owned_bytes),
            "around": np.where(drops, around, every * (gathers & (plans.reshard == 0))),
            "ends": head * apart * whole_bytes,
            "two": 2.0 * whole * drops,
            "next": whole * gathers * inside,
            "sent": layer * apart * codec.wire_bytes,
            "casts": every * (wide & ~gathers),
            "leaving": ends * apart * (whole_bytes + codec.wire_bytes),
        }
        sums = {name: sums[name] + amount for name, amount in found.items()}
    leaving = sums.pop("leaving")
    apart = (plans.sharding >= Sharding.GRADIENTS) & (plans.replicas > 1)
    return _Parted(apart=apart, reduction=sums["around"] + leaving, **sums)


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
        moment: the roots that an update of all parameters at once takes.
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
    stays = (plans.sharding == Sharding.PARAMETERS) & (plans.reshard == 0) & ~software.phased
    # Parameters of fp32 are the copy that the optimizer updates, and have gradients like them.
    wide, master, held_bytes = _wide(setting), workload.master_bytes, codec.held_bytes
    wider = master / workload.precision.value_bytes if wide else 1.0
    weights, trained, reduced, owned = (np.zeros(1) for _ in range(4))
    for holding in setting.holdings:
        owners = owners_of(plans, replicas_of(plans, holding))
        mine, parts = held.trained(run, holding), 1.0 if software.waits else owners.gradients
        weights = weights + held.weights(run, holding) / np.where(stays, 1.0, owners.weights)
        trained = trained + mine
        reduced = reduced + held.graded(run, holding) / parts
        owned = owned + mine / owners.optimizer
    return _State(
        weights=weights * wider,
        gradients=reduced * (master if wide else held_bytes),
        feedback=trained * codec.kept_bytes,
        optimizer=owned * (optimizer.state_bytes + (0.0 if wide else master)),
        moment=owned * optimizer.root_bytes,
    )


def _wide(setting: Setting) -> bool:
    """Whether parameters are held in fp32, of which passes of 16 bits make copies."""
    return setting.software.wide_parameters and setting.workload.master_bytes > 0


def _learnt(setting: Setting, held: Held, *, run: Run) -> Column:
    """Bytes of the gradients of the largest layer and of the largest that can be cut. [plan]"""
    total = np.zeros(1)
    for holding in setting.holdings:
        total = total + held.of_holding("learnt", run, holding)
    return total * setting.workload.gradients.held_bytes


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
    """The same of many predictions; it never grows with a total. [as given]"""
    margin = np.array([log(each) for each in np.ravel(room / totals)]) / spread
    known, scores = np.array(astuple(errors)), np.array(SCORES)
    slopes = (scores[1:] - scores[:-1]) / (known[1:] - known[:-1])
    # Between two percentiles, and beyond the outer ones along the same lines.
    place = np.clip(np.searchsorted(known, margin) - 1, 0, len(slopes) - 1)
    score = scores[place] + (margin - known[place]) * slopes[place]
    likely = np.array([(1.0 + erf(each / sqrt(2.0))) / 2.0 for each in score])
    return likely.reshape(np.shape(room / totals))
