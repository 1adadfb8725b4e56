"""Passes: what a layer takes in a forward and a backward pass once everything beside it is settled.

Sharded parameters are gathered for a layer while the one before computes, and sharded gradients
reduced while the next one does. What compute does not hide, the pass waits for. Compute hides
nothing twice on the same links: what attention hid of an exchange is spent. Offloaded activations
have a link of their own, so that they leave and come back beside everything else in a pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.coefficients.coefficients import Overlap
from foretrain.plan.plan import Sharding
from foretrain.plan.table import Column, PlanTable, Rows, distinct
from foretrain.step.compute import TINY
from foretrain.step.layers import READS, LayerMemory, LayerTimes, layer_work
from foretrain.step.placements import Placements, replicas_of
from foretrain.step.setting import Holding, Setting
from foretrain.step.strategies import owners_of, parameter_transfers_of
from foretrain.step.strategies import recompute as offload
from foretrain.step.strategies.strategy import ParameterTransfer, Pattern, When

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gathers:
    """Seconds of what is exchanged for the parameters of a layer in every pass. [kind, combination]

    Attributes:
        forward: gathering of parameters, forward.
        backward: the same, backward.
        reduced: reduction of gradients, backward.
    """

    forward: Floats
    backward: Floats
    reduced: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passes:
    """Seconds of one layer of each kind, one micro-batch. [kind, combination]

    Attributes:
        times: compute and the collectives of operators. [kind, combination of them]
        time: which of those. [combination]
        parameters: exposed gathering of parameters.
        gradients: exposed reduction of gradients.
        offload: exposed transfers to the host and back.
        coming: those of them that the backward pass waits for.
        forward: the forward pass, all told.
        backward: the backward pass, all told.
        first: the forward pass where nothing is beside its gathering of parameters.
        last: the backward pass where nothing is beside its reduction of gradients.
        behind: what hides in the backward pass behind gradients of weights alone, and so shows
            where these are computed in a pass of their own.
    """

    times: LayerTimes
    time: Rows
    parameters: Floats
    gradients: Floats
    offload: Floats
    coming: Floats
    forward: Floats
    backward: Floats
    first: Floats
    last: Floats
    behind: Floats


def gathers(
    setting: Setting,
    plans: PlanTable,
    placed: Placements,
    *,
    group: Rows,
    held: tuple[LayerMemory, Rows],
) -> tuple[Gathers, Rows]:
    """What the passes of each plan exchange for parameters, and which combination a plan has.

    Args:
        setting: workload, cluster and coefficients.
        plans: the plans.
        placed: their placements.
        group: placement of each plan.
        held: what layers hold, and the combination of each plan.
    """
    every_pass = plans.sharding >= Sharding.GRADIENTS
    if not every_pass.any():
        nothing = np.zeros((len(setting.workload.model.layers), 1))
        return Gathers(forward=nothing, backward=nothing, reduced=nothing), np.zeros(
            len(plans), np.intp
        )
    # Where groups lie says what they hold, but for the channels of convolutions.
    reads = (group, plans.sharding, plans.reshard, plans.convolutions, plans.split)
    rows, gather = distinct([each * every_pass for each in reads])
    few, layers, layer = plans.take(rows), held[0], held[1][rows]
    found = {
        name: np.zeros((len(setting.workload.model.layers), len(rows)))
        for name in ("forward", "backward", "reduced")
    }
    for holding in setting.holdings:
        for transfer in parameter_transfers_of(setting.workload, few, replicas_of(few, holding)):
            if transfer.when not in (When.FORWARD, When.BACKWARD):
                continue
            exchange = placed.groups[holding, transfer.group].take(group[rows])
            whole = amount(setting, layers, transfer, holding=holding)
            size = whole.take(layer, axis=1) * transfer.size
            name = "reduced" if transfer.part == "gradients" else transfer.when.name.lower()
            found[name] = found[name] + np.stack(
                [
                    exchange.seconds(each, transfer.pattern)
                    + staged(setting, few, each, pattern=transfer.pattern)
                    for each in size
                ]
            )
    return Gathers(**found), gather


def staged(setting: Setting, plans: PlanTable, size: Floats, *, pattern: Pattern) -> Floats:
    """Seconds that an exchange for parameters takes longer by way of the host. [..., plan]

    Members of a grid send borders to their neighbours; a framework that takes those through the
    memory of the host takes the same way where the members add up their gradients or gather
    parameters. Between grids these go as everybody's do.

    Args:
        setting: workload, cluster and coefficients.
        plans: the plans.
        size: bytes of what is exchanged. [..., plan]
        pattern: all-reduce or all-gather.

    Source: kahira2021, table V (forward, backward pass and gradient exchange of spatial and of data
    and spatial parallelism go without GPUDirect); patarasuk2009, equation 4 (what a ring moves).
    """
    net, members = setting.between, plans.context
    around = (members - 1.0) / members * size
    summed = pattern is Pattern.ALL_REDUCE
    per_byte = 2.0 * net.staged + net.staged_sum if summed else net.staged
    return (per_byte * around + net.staged_start * (around > 0)) * plans.spatial


def amount(
    setting: Setting, layers: LayerMemory, transfer: ParameterTransfer, *, holding: Holding
) -> Floats:
    """Parameters that a transfer is about; narrow frozen ones count as the fewer they are."""
    narrow = layers.weights[holding] / setting.workload.precision.value_bytes
    amount: Floats = layers.trained[holding] if transfer.trained else narrow
    return amount


def passes(
    setting: Setting,
    plans: PlanTable,
    *,
    times: tuple[LayerTimes, Rows],
    gathers: tuple[Gathers, Rows],
    held: tuple[LayerMemory, Rows],
) -> Passes:
    """Settle what compute hides. [kind, plan]

    Args:
        setting: workload, cluster and coefficients.
        plans: the plans.
        times: of layers, and the combination of each plan.
        gathers: what is exchanged for parameters, and the combination of each plan.
        held: what layers hold, and the combination of each plan.
    """
    (found, time), (exchanged, gather) = times, gathers
    reached = setting.coefficients.overlap
    forward_spare = found.forward_spare.take(time, axis=1)
    backward_spare = found.backward_spare.take(time, axis=1)
    reduced = exchanged.reduced.take(gather, axis=1)
    # A layer that gradients do not come back to needs its parameters only once.
    again = exchanged.backward.take(gather, axis=1) * (found.backward.take(time, axis=1) > 0)
    both = again + reduced
    gathered = exchanged.forward.take(gather, axis=1)
    there = _felt(gathered, forward_spare, reached)
    back = _felt(both, backward_spare, reached)
    gradients = back * (reduced / np.maximum(both, TINY))
    forward = found.forward_pass.take(time, axis=1) + there
    backward = found.backward_pass.take(time, axis=1) + back
    behind = _behind_weights(
        found.weights.take(time, axis=1),
        found.weights_spare.take(time, axis=1),
        others=backward_spare - np.minimum(reached.gradients * both, backward_spare),
    )
    leaving, coming = _with_host(setting, plans, held=held)
    leaving, coming = np.maximum(leaving - forward, 0.0), np.maximum(coming - backward, 0.0)
    # In the words of `forward` and `backward` below: equal where nothing is exchanged.
    first = np.maximum(forward + leaving, forward + gathered - there)
    last = np.maximum(backward + coming, backward + reduced - gradients)
    return Passes(
        times=found,
        time=time,
        parameters=there + (back - gradients),
        gradients=gradients,
        offload=leaving + coming,
        coming=coming,
        forward=forward + leaving,
        backward=backward + coming,
        first=first,
        last=last,
        behind=behind,
    )


def _behind_weights(weights: Floats, spare: Floats, *, others: Floats) -> Floats:
    """Exchanges of the backward pass that hide behind gradients of weights. [kind, plan]

    Args:
        weights: seconds of those gradients.
        spare: those of them that hide nothing of what operators exchange.
        others: what is left of the pass, them included, that hides nothing at all.
    """
    return weights - spare + np.maximum(spare - others, 0.0)


def exposed(seconds: Floats, spare: Floats, *, overlap: float = 1.0) -> Floats:
    """What is left of a transfer of which some share runs beside compute. [kind, plan]"""
    return (1.0 - overlap) * seconds + np.maximum(overlap * seconds - spare, 0.0)


def _felt(seconds: Floats, spare: Floats, reached: Overlap) -> Floats:
    """What a pass feels of a transfer: what is left of it, and what the rest takes from compute.

    Source: rashidi2021, section 3 (contention for processors and memory). [kind, plan]
    """
    hidden = np.minimum(reached.gradients * seconds, spare)
    return exposed(seconds, spare, overlap=reached.gradients) + reached.contention * hidden


def _with_host(
    setting: Setting, plans: PlanTable, *, held: tuple[LayerMemory, Rows]
) -> tuple[Floats, Floats]:
    """Seconds of the link to the host in a forward and a backward pass. [kind, plan]

    Activations leave and come back; gradients leave in the backward pass, the other way, beside
    them. What follows the last layer that can be cut is needed at once and stays.
    """
    host, (layers, layer) = setting.cluster.host, held
    if host is None or not plans.offload.any():
        return np.zeros((1, 1)), np.zeros((1, 1))
    reached = setting.coefficients
    rate = reached.links.pcie * host.device_bandwidth / reached.step.factor
    body = np.arange(len(layers.kept))[:, np.newaxis] < setting.body
    away = offload.of_activations(setting.workload.model, plans)
    kept = layers.kept.take(layer, axis=1) * body * away / rate
    sent = np.zeros_like(kept)
    for holding in setting.holdings:
        owners = owners_of(plans, replicas_of(plans, holding)).gradients
        sent = sent + layers.trained[holding].take(layer, axis=1) / owners
    sent = sent * setting.workload.gradients.held_bytes * offload.of_gradients(plans) / rate
    return kept, np.maximum(kept, sent)


def computing_seconds(setting: Setting, plans: PlanTable) -> Column:
    """Seconds of a step in which the mean device computes passes of layers. [plan]

    What it computes is the same however a pipeline is cut and parameters are sharded. The
    optimizer, whose kernels wait for memory, does not count.
    """
    rows, layer = distinct([getattr(plans, name) for name in READS])
    once = layer_work(setting, plans.take(rows))
    return of_mean_device(setting, plans, once.take(layer, axis=1))


def of_mean_device(setting: Setting, plans: PlanTable, once: Floats) -> Column:
    """Seconds of a step in which the mean device computes. [plan]

    Args:
        setting: workload, cluster and coefficients.
        plans: the plans.
        once: seconds that one layer of each kind computes for one micro-batch. [kind, plan]
    """
    # One kind after the other: sums in another order would be others for one plan than for many.
    every = np.zeros(len(plans))
    for kind, seconds in zip(setting.workload.model.layers, once, strict=True):
        every = every + kind.repeats * seconds
    return setting.workload.micro_batches(plans.data, plans.micro_batch) * every / plans.pipeline
