"""Both ends of a step: samples that are made ready before it, weights that are updated after it.

Input: does reading or preparing the samples keep the devices waiting?

Hosts read and prepare samples while devices compute, both at once, so that the step takes the
longest of the three; what it takes beyond computing is exposed.

The update: what the optimizer takes once per step, on the device, on its host and before it.

On the device it only moves data. Gradients are read for their norm and set to zero by everyone; the
rest is done by whoever owns it: gradients read, state and fp32 weights read and written, 16-bit
weights written; several times over where every operation is a kernel of its own.

A host that reads the norm of all gradients before it goes on has nothing in the queue when it does:
the device waits for the first call, and for every other one where the host is the slower of the
two. An optimizer that works tensor by tensor calls its operations for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column, PlanTable
from foretrain.step.compute import together
from foretrain.step.held import Held
from foretrain.step.placements import replicas_of
from foretrain.step.setting import Setting
from foretrain.step.strategies import owners_of
from foretrain.step.strategies import recompute as offload
from foretrain.trainers.software import Update
from foretrain.workload.workload import Optimizer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InputColumns:
    """Seconds that the hosts need for the samples of one step. [plan]

    Attributes:
        read: bytes from storage.
        prepare: work of the hosts' cores.
    """

    read: Column
    prepare: Column

    @property
    def seconds(self) -> Column:
        """The longer of the two, which run side by side. [plan]"""
        return np.maximum(self.read, self.prepare)


def input_columns(setting: Setting, plans: PlanTable, *, cached: float) -> InputColumns:
    """What the samples of a step take before they reach a device. [plan]

    Args:
        setting: workload, cluster and coefficients.
        plans: the plans.
        cached: share of the bytes that the hosts hold in memory already.

    Every sample is read and prepared once. At most one host works for a replica, however many
    hosts the replica spans: the one with its first stage.
    """
    workload, cluster = setting.workload, setting.cluster
    hosts = np.minimum(np.ceil(plans.devices / cluster.node_devices), plans.data)
    read = prepare = 0.0 * hosts
    data, storage, host = workload.data, cluster.storage, cluster.host
    if data is not None and data.sample_bytes is not None and storage is not None:
        together = np.inf if storage.total_read is None else storage.total_read
        bandwidth = np.minimum(hosts * storage.read, together)
        read = workload.global_batch * data.sample_bytes / bandwidth * (1.0 - cached)
    if data is not None and data.prepare is not None and host is not None:
        # On all cores of the hosts.
        prepare = workload.global_batch * data.prepare / (hosts * host.cores)
    return InputColumns(read=read, prepare=prepare)


def input_seconds(setting: Setting, plans: PlanTable) -> Column:
    """What the samples of a step take once the hosts hold what they can. [plan]"""
    return input_columns(setting, plans, cached=cached_share(setting)).seconds


def with_input(setting: Setting, plans: PlanTable, seconds: Column) -> Column:
    """What steps take once they wait for their samples. [plan]

    Args:
        setting: workload, cluster and coefficients.
        plans: the plans.
        seconds: their steps without input. [plan]
    """
    if setting.workload.data is None:
        return seconds
    return np.maximum(seconds, input_seconds(setting, plans))


def cached_share(setting: Setting) -> float:
    """Share of the data set that a host finds in its own memory after the first epoch.

    Each host may need any sample of the next epoch, and keeps as many as fit. A training of one
    epoch or less meets no sample twice; what is not known of a host holds nothing.
    """
    workload, host = setting.workload, setting.cluster.host
    data, trained = workload.data, workload.samples
    if data is None or host is None or not data.sample_bytes:
        return 0.0
    if trained is not None and trained <= data.samples:
        return 0.0
    room = setting.coefficients.job.cache_share * host.memory
    return min(1.0, room / (data.samples * data.sample_bytes))


Floats = NDArray[np.float64]

CLIPPING: Final = 2.0
"""Calls for a tensor before the optimizer: its norm, and its gradient by what all of them say."""

OPERATIONS: Final[Mapping[Optimizer, float]] = MappingProxyType(
    {
        Optimizer.SGD: 1.0,
        Optimizer.MOMENTUM: 3.0,
        Optimizer.LARS: 8.0,
        Optimizer.LION: 5.0,
        Optimizer.ADAGRAD: 4.0,
        Optimizer.MUON: 20.0,
        Optimizer.ADAFACTOR: 15.0,
        Optimizer.ADAM: 8.0,
        Optimizer.ADAMW: 9.0,
        Optimizer.ADAMW_16BIT: 9.0,
        Optimizer.ADAMW_8BIT: 2.0,
        Optimizer.LAMB: 15.0,
    }
)
"""Calls for a tensor, where the formula is written down operation by operation.

Adam: two for either moment, a root, a division, an epsilon, the weight itself; AdamW decays it
first. LAMB: two norms, their ratio and what guards it from zero beside these. Sources: kingma2015,
algorithm 1; loshchilov2019, algorithm 2; you2020, algorithm 2; you2017; chen2023; duchi2011;
jordan2024 (five rounds of three products); shazeer2018; a kernel of its own for 8 bits
(dettmers2022).
"""

PLAIN_CALL: Final = 0.75
"""Of a call within a model's passes, one that goes through no module and notes nothing for
autograd, but starts a kernel every time, where those do every other time.

Source: validation/device/host.py (an operation of Adam takes half a call without the kernel), with
the coefficients of `host`.
"""

COMPILED_CALL: Final = 0.4
"""The same where compiled code calls: a dispatch and a start without an interpreter.

Source: priors of `host.kernel` (6 microseconds) beside those fitted to calls of 12 to 20.
"""

TOGETHER: Final = 36.0
"""Tensors that one launch takes, where an operation is called for many tensors at once.

Source: pytorch, MultiTensorApply.cuh (lists of four tensors).
"""


def update(setting: Setting, held: Held) -> tuple[Floats, Floats]:
    """Seconds of the optimizer on the device and before it, and of its work on the host.

    [run, plan]
    """
    away = offload.of_optimizer(held.plans)
    seconds, moved = _moved(setting, held)
    moved = np.where(away, moved, 0.0)
    if not _waits(setting):
        return seconds, moved
    calls = np.where(away, 0.0, _called(setting, held))
    # Runs that a plan does not have hold a tied table less than nothing.
    device = np.maximum(seconds, 0.0)
    return together(device, calls) + _read(setting, held), moved


def _waits(setting: Setting) -> bool:
    """Whether the host waits for gradients; what that costs over pictures is in `picture_steps`."""
    return setting.software.norm_wait and not setting.operators.family.any()


def _read(setting: Setting, held: Held) -> Column:
    """Seconds from the host's reading of the norm until the device works again. [plan]

    Every device adds up the squares of what it has with all others, and the host calls once more.
    """
    rate = setting.rate
    return np.where(held.plans.devices > 1, rate.launch + rate.exchange, rate.launch)


def _called(setting: Setting, held: Held) -> Column:
    """Seconds in which the host calls an update, as far as the device waits. [run, plan]"""
    software, run = setting.software, held.every_run
    if software.update is None:
        return np.zeros((1, 1))
    tensors = held.of_stage("layers" if software.flat else "tensors", run)
    launches = np.ceil(tensors / TOGETHER)
    operations = OPERATIONS[setting.workload.optimizer]
    # Of each tensor, or of each list of them.
    many = tensors if software.update in (Update.EACH, Update.SCRIPTED) else launches
    calls = {
        Update.EACH: PLAIN_CALL * (CLIPPING + operations),
        Update.SCRIPTED: PLAIN_CALL * (CLIPPING + 1.0) + COMPILED_CALL * (operations - 1.0),
        Update.FOREACH: PLAIN_CALL * (CLIPPING + operations),
        Update.FUSED: PLAIN_CALL * (CLIPPING + 1.0),
    }[software.update]
    return many * calls * setting.rate.launch


def _moved(setting: Setting, held: Held) -> tuple[Floats, Floats]:
    """Seconds of what moves on the device, and of the update on the host. [run, plan]"""
    workload, plans, run, rate = setting.workload, held.plans, held.every_run, setting.rate
    precision, optimizer, codec = workload.precision, workload.optimizer, workload.gradients
    gradient = codec.held_bytes
    master = workload.master_bytes
    copy = precision.value_bytes if master else 0.0
    state = 2.0 * (optimizer.state_bytes + (master or precision.value_bytes))
    away, host, reached = offload.of_optimizer(plans), setting.cluster.host, setting.coefficients
    unfused = 1.0 if setting.software.update is Update.FUSED else rate.unfused
    update, moved = np.zeros(1), np.zeros(1)
    for holding in setting.holdings:
        replicas = replicas_of(plans, holding)
        owners = owners_of(plans, replicas)
        trained = held.trained(run, holding)
        coded = codec.encode_bytes + codec.decode_bytes * (1.0 if codec.adds_up else replicas)
        everyone = 2.0 * gradient / owners.gradients + coded * (replicas > 1)
        owner = (gradient + state + copy) / owners.optimizer
        update = update + trained * (everyone + unfused * np.where(away, 0.0, owner)) / rate.memory
        seconds: Column = np.zeros(1)
        if host is not None:
            # What the host updates goes over the link, and through its memory.
            crossing = np.where(offload.of_gradients(plans), 0.0, gradient) + copy
            memory = reached.host.memory * host.memory_bandwidth / setting.cluster.node_devices
            seconds = crossing / (reached.links.pcie * host.device_bandwidth)
            seconds = reached.step.factor * (seconds + (gradient + state) / memory)
        moved = moved + trained / owners.optimizer * seconds
    return update + rate.gap, moved
