"""Multifactor priority: a weighted sum of what a job is and how long it has waited.

Source: slurm, src/plugins/priority/multifactor/priority_multifactor.c and its documentation;
re-implemented from the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from foretrain.measured.site import BillingRule, PriorityWeights

LARGEST = 2**32 - 1
"""Priorities are 32 bits."""


class PriorityFactors(NamedTuple):
    """What a job's priority is made of, each from 0 to 1.

    Attributes:
        age: waiting over the longest that counts.
        fairshare: of its user.
        size: share of the cluster that it asks for, or that it leaves.
        partition: factor over the largest of all partitions.
        qos: priority over the largest of all qualities of service.
        devices: share of its partition's devices that it asks for.
    """

    age: float = 0.0
    fairshare: float = 0.0
    size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    devices: float = 0.0


def priority(factors: PriorityFactors, weights: PriorityWeights, *, nice: float = 0.0) -> int:
    """The priority of a job, the larger the sooner.

    Args:
        factors: of the job.
        weights: of the site.
        nice: what its user takes off.
    """
    total = (
        weights.age * factors.age
        + weights.fairshare * factors.fairshare
        + weights.size * factors.size
        + weights.partition * factors.partition
        + weights.qos * factors.qos
        + weights.devices * factors.devices
        - nice
    )
    return min(LARGEST, int(max(1.0, total)))


def size_factor(nodes: float, cores: float, *, small_first: bool = False) -> float:
    """The factor of a job's size.

    Args:
        nodes: that it asks for, over those of the cluster.
        cores: likewise.
        small_first: whether small jobs are favoured.
    """
    share = (nodes + cores) / 2.0
    return 1.0 - share if small_first else share


DEVICES = "gres/"
"""How the names of devices begin among what a job holds."""


def billing(
    held: Mapping[str, float], weights: Mapping[str, float], rule: BillingRule = BillingRule.SUM
) -> float:
    """Billing units of a job: its cores where nothing has a weight.

    Args:
        held: how much of each resource, such as `cpu`, `mem` and `gres/gpu`.
        weights: units of one of each.
        rule: how they are put together.
    """
    if not weights:
        return held.get("cpu", 0.0)
    weighed = {name: weights.get(name, 0.0) * amount for name, amount in held.items()}
    devices = [units for name, units in weighed.items() if name.startswith(DEVICES)]
    others = [units for name, units in weighed.items() if not name.startswith(DEVICES)]
    if rule is BillingRule.SUM:
        return sum(weighed.values())
    if rule is BillingRule.MAX_TRES:
        return max(weighed.values(), default=0.0)
    return sum(devices) + max(others, default=0.0)
