"""Start: from granted nodes to the first step, and again after every failure."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.statistics import largest_normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Seconds before the first step.

    Attributes:
        nodes: until the slowest node has its container and its processes.
        groups: until all processes have found one another; grows with their number.
        warm_up: compilation, first batches, allocation of memory.
    """

    nodes: float
    groups: float
    warm_up: float

    @property
    def total(self) -> float:
        """Their sum, in seconds."""
        return self.nodes + self.groups + self.warm_up


def start(cluster: Cluster, coefficients: Coefficients) -> Start:
    """What a job does before its first step, in seconds.

    Nodes start independently of one another, in times that are about normal; waiting in the
    cluster's queue is not counted.
    """
    mean = coefficients.job.node_start
    return Start(
        nodes=largest_normal(
            cluster.nodes, mean=mean, deviation=coefficients.job.node_start_spread * mean
        ),
        groups=coefficients.job.rank_start * cluster.devices,
        warm_up=coefficients.job.warm_up,
    )
