"""Excess: what a plan needs more of than there is, or than a study allows."""

from __future__ import annotations

from collections.abc import Iterator

from foretrain.cost.held import hold
from foretrain.cost.memory import host_total
from foretrain.cost.setting import Setting
from foretrain.plan.study import Limit
from foretrain.plan.table import table_of
from foretrain.results.estimate import Estimate
from foretrain.results.why_not import Excess

MEMORIES = ("device memory", "host memory")
"""What a plan must have to run at all; everything else is the study's limit."""


def excesses(setting: Setting, estimate: Estimate, limit: Limit) -> Iterator[Excess]:
    """Everything that a plan exceeds, memory first.

    Args:
        setting: where it would run, on a cluster of as many devices as it uses.
        estimate: what it takes there.
        limit: what the study allows.
    """
    cluster, host = setting.cluster, setting.cluster.host
    memory = estimate.memory.total
    offloaded = host_total(setting, hold(setting, table_of([estimate.plan])))
    needs = (
        ("device memory", memory, cluster.device.memory),
        ("host memory", float(offloaded[0]), None if host is None else host.memory),
        ("memory limit", memory, limit.memory),
        ("deadline", estimate.time_to_train, limit.deadline),
        ("cost limit", estimate.cost_to_train, limit.cost),
        ("device limit", float(cluster.devices), limit.devices),
        ("power limit", cluster.draw, limit.power),
    )
    for name, needed, allowed in needs:
        if needed is not None and allowed is not None and needed > allowed:
            yield Excess(limit=name, needed=needed, allowed=float(allowed))
