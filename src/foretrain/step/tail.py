"""Stragglers: replicas that add up their gradients wait for the slowest of them.

Devices of one kind differ in clock and temperature, and each of them from pass to pass.

Steps of trainings on pictures: what they lose beside their kernels.

Such steps are short, so that what the host does once per step counts: input, loss, the call of a
runtime, the agreement of replicas on what to reduce.

Tails: what a stage does once per step for the parameters that it holds.

Gradients are reduced as far as the passes have not done it, the optimizer updates what a device
owns, and updated parameters are gathered.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column, PlanTable, Rows, distinct
from foretrain.step.held import Held
from foretrain.step.placements import Placements, replicas_of
from foretrain.step.schedules.stages import Number
from foretrain.step.setting import Holding, Setting
from foretrain.step.strategies import offload, owners_of, parameter_transfers_of
from foretrain.step.strategies.strategy import When
from foretrain.trainers.software import Execution


def straggling(setting: Setting, plans: PlanTable) -> Number:
    """The time of the slowest replica's passes over that of their mean. [plan]

    The largest of n normal values lies about sqrt(2 log n) standard deviations above their mean.
    Of pictures the spread is wider: decoding and batches of objects differ too, unless the device
    runs one compiled program that waits for no host.

    Source: cramer1946, section 28.6.
    """
    known = setting.coefficients
    wider = setting.operators.family.any() and not setting.software.whole
    spread = known.picture_steps.straggling if wider else known.step.spread
    return 1.0 + spread * np.sqrt(2.0 * log(2.0) * doublings(plans.data * plans.context))


def doublings(replicas: Column) -> Column:
    """How often one was doubled to be as many, rounded down; exact for any number. [plan]"""
    return np.frexp(replicas)[1] - 1.0


def once(setting: Setting, replicas: Column) -> Number:
    """Seconds that a step takes once, however much is computed in it. [plan]

    A network that a compiler makes one program of has its reductions in it: nobody asks for them.

    Args:
        setting: workload, cluster and coefficients.
        replicas: that reduce gradients together. [plan]
    """
    if not setting.operators.family.any():
        return 0.0
    known, software = setting.coefficients.picture_steps, setting.software
    own, wait = {
        Execution.EAGER: (known.eager, known.eager_wait),
        Execution.GRAPH: (known.graph, known.graph_wait),
        Execution.TUNED: (known.tuned, known.tuned_wait),
    }[Execution.TUNED if software.whole else software.execution]
    agreed = 0.0 if software.whole else np.where(replicas > 1, wait, 0.0)
    seconds: Number = own + agreed
    return setting.coefficients.step.factor * seconds


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tails:
    """Seconds of one stage of each run, per step. [run, combination]

    Attributes:
        gradients: reduction of gradients once per step.
        buckets: parts in which they become ready.
        update: the optimizer's work.
        parameters: gathering of parameters.
        first: gathering of parameters that the first forward pass may hide.
        offload: optimizer state to the host and back, and its work there.
    """

    gradients: Floats
    buckets: Floats
    update: Floats
    parameters: Floats
    first: Floats
    offload: Floats


def tails(setting: Setting, held: Held, placed: Placements, *, group: Rows) -> tuple[Tails, Rows]:
    """The tails of some plans, and which of them each plan has."""
    plans = held.plans
    rows, tail = distinct([group, held.cut, plans.sharding, plans.reshard, plans.offload])
    few = held.take(rows, plans.take(rows))
    layers = np.maximum(1.0, few.of_stage("layers", held.every_run))
    exchanged = _exchanged(setting, few, placed, group=group[rows])
    update, moved = _update(setting, few)
    found = Tails(
        **exchanged,
        buckets=layers,
        update=update,
        offload=moved,
    )
    return found, tail


def _exchanged(
    setting: Setting, held: Held, placed: Placements, *, group: Rows
) -> dict[str, Floats]:
    """Seconds of gradients and parameters, as far as the passes leave them. [run, plan]"""
    plans, run = held.plans, held.every_run
    nothing = np.zeros((len(held.runs), len(plans)))
    parts = {"gradients": nothing, "parameters": nothing, "first": nothing}
    for holding in setting.holdings:
        trained = held.trained(run, holding)
        narrow = held.weights(run, holding) / setting.workload.precision.value_bytes
        replicas = replicas_of(plans, holding)
        for transfer in parameter_transfers_of(setting.workload, plans, replicas):
            if transfer.when in (When.FORWARD, When.BACKWARD) or not transfer.size.any():
                continue
            size = (trained if transfer.trained else narrow) * transfer.size
            part = "first" if transfer.when is When.FIRST else transfer.part
            exchange = placed.groups[holding, transfer.group].take(group)
            parts[part] = parts[part] + exchange.seconds(size, transfer.pattern)
    return parts


def _update(setting: Setting, held: Held) -> tuple[Floats, Floats]:
    """Seconds of the optimizer, which only moves data, and of its work on the host. [run, plan]

    Gradients are read for their norm and set to zero by everyone; the rest is done by whoever owns
    it: gradients read, state and fp32 weights read and written, 16-bit weights written; several
    times over where every operation is a kernel of its own.
    """
    workload, plans, run, rate = setting.workload, held.plans, held.every_run, setting.rate
    precision, optimizer, codec = workload.precision, workload.optimizer, workload.gradients
    gradient = codec.held_bytes
    copy = precision.value_bytes if precision.master_bytes else 0.0
    state = 2.0 * (optimizer.state_bytes + (precision.master_bytes or precision.value_bytes))
    away = offload.of_optimizer(plans)
    update, moved = np.zeros(1), np.zeros(1)
    for holding in setting.holdings:
        replicas = replicas_of(plans, holding)
        owners = owners_of(plans, replicas)
        trained = held.trained(run, holding)
        coded = codec.encode_bytes + codec.decode_bytes * (1.0 if codec.adds_up else replicas)
        everyone = 2.0 * gradient / owners.gradients + coded * (replicas > 1)
        owner = (gradient + state + copy) / owners.optimizer
        update = (
            update + trained * (everyone + rate.unfused * np.where(away, 0.0, owner)) / rate.memory
        )
        crossing = np.where(offload.of_gradients(plans), 0.0, gradient) + copy
        seconds = _host_seconds(setting, touched=gradient + state, crossing=crossing)
        moved = moved + trained / owners.optimizer * seconds
    lost = rate.gap + once(setting, replicas_of(plans, Holding.COMMON))
    return update + lost, np.where(away, moved, 0.0)


def _host_seconds(setting: Setting, *, touched: float, crossing: Column) -> Column:
    """Seconds per parameter that the host updates: over the link, and in its memory. [plan]"""
    host, reached = setting.cluster.host, setting.coefficients
    if host is None:
        return np.zeros(1)
    memory = reached.host.memory * host.memory_bandwidth / setting.cluster.node_devices
    seconds = crossing / (reached.links.pcie * host.device_bandwidth) + touched / memory
    return reached.step.factor * seconds
