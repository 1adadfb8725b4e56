"""Input: does reading or preparing the samples keep the devices waiting?

Hosts read and prepare samples while devices compute, both at once, so that the step takes the
longest of the three; what it takes beyond computing is exposed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretrain.plan.table import Column, PlanTable
from foretrain.step.setting import Setting


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
