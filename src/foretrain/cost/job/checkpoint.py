"""Checkpoints: how many bytes they have, and how long they take to write and to read."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.host import Host, Storage
from foretrain.plan.plan import Plan, Sharding
from foretrain.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What is saved, and who saves it.

    Attributes:
        weights: bytes of the working weights.
        state: bytes of the optimizer's state and the master copy.
        weight_copies: how many copies of the weights the devices hold.
        state_copies: the same for the state.
    """

    weights: float
    state: float
    weight_copies: int
    state_copies: int

    @property
    def bytes(self) -> float:
        """What is stored."""
        return self.weights + self.state


def checkpoint(workload: Workload, plan: Plan) -> Checkpoint:
    """What a training saves: of every trained parameter all that the optimizer needs to go on.

    Parameters that are not trained are where they were loaded from.
    """
    model, precision = workload.model, workload.precision
    trained = sum(layer.repeats * operator.trainable for layer, operator in model.operators)
    trained = max(trained - model.tied, 0.0)
    replicas = plan.data * plan.context
    group = plan.shard or replicas
    return Checkpoint(
        weights=trained * precision.value_bytes,
        state=trained * (precision.master_bytes + workload.optimizer.state_bytes),
        weight_copies=replicas // (group if plan.sharding >= Sharding.PARAMETERS else 1),
        state_copies=replicas // (group if plan.sharding >= Sharding.OPTIMIZER else 1),
    )


def snapshot_seconds(saved: Checkpoint, cluster: Cluster, host: Host) -> float:
    """Seconds until the hosts hold a copy, from which it can be stored in the background."""
    return saved.bytes / (_writers(saved, cluster) * host.device_bandwidth)


def write_seconds(saved: Checkpoint, cluster: Cluster, storage: Storage) -> float:
    """Seconds until the last byte is stored.

    The nodes with one whole copy write, each its own part.
    """
    nodes = ceil(_writers(saved, cluster) / cluster.node_devices)
    return saved.bytes / min(nodes * storage.write, storage.total_write or inf)


def load_seconds(saved: Checkpoint, cluster: Cluster, storage: Storage) -> float:
    """Seconds until every device has its part back; every copy is read by itself."""
    size = saved.weights * saved.weight_copies + saved.state * saved.state_copies
    return size / min(cluster.nodes * storage.read, storage.total_read or inf)


def _writers(saved: Checkpoint, cluster: Cluster) -> int:
    """Devices that hold one whole copy between them."""
    return cluster.devices // saved.state_copies
