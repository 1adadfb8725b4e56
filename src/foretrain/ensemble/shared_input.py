"""shared_input: how are the members of an ensemble fed that is a job on a shared cluster?"""

from __future__ import annotations

from dataclasses import replace

from foretrain.cluster.cluster import Cluster
from foretrain.ensemble.costs import MeasuredCosts
from foretrain.ensemble.hosts import cores_for, exchange_of, loaders_of
from foretrain.ensemble.on_cluster import OnCluster, choose_input
from foretrain.ensemble.result import SharedInput
from foretrain.errors import InputError
from foretrain.measured.queue_study import JobModel
from foretrain.plan.study import Study
from foretrain.step.result import Ranked


def alone(model: JobModel) -> Study:
    """The study of one member whose samples are prepared by somebody else.

    Reading stays in it, as for a job of its own: what one member has read, the others find in the
    memory of the host.
    """
    workload = model.study.workload
    assert workload.data
    read = replace(workload.data, prepare=None)
    return replace(model.study, workload=replace(workload, data=read))


def shared_input(model: JobModel, devices: int, member: Ranked) -> SharedInput:
    """The best way of feeding an ensemble whose members all have the same plan.

    Args:
        model: an ensemble.
        devices: of all members together.
        member: the best plan of one on its share of them.

    Raises:
        InputError: where members do not fill nodes evenly, or no core is left for their input.
    """
    cluster, data = model.study.cluster, model.study.workload.data
    assert data
    assert data.prepare
    assert model.prepared
    beside, nodes, parts = _places(cluster, devices, members=model.members, data=member.plan.data)
    return choose_input(
        OnCluster(
            beside=beside,
            nodes=nodes,
            parts=parts,
            costs=MeasuredCosts(
                demand=member.estimate.samples_per_second,
                prepare=data.prepare,
                train=0.0,
                sample_bytes=model.prepared,
                batch=model.study.workload.global_batch,
            ),
            loaders=loaders_of(prepare=data.prepare, sample_bytes=model.prepared),
            cores=cores_for(cluster, devices),
            exchange=exchange_of(cluster, devices),
        )
    )


def _places(cluster: Cluster, devices: int, *, members: int, data: int) -> tuple[int, int, int]:
    """Members of a node, nodes that need the same samples, and nodes of one member that are fed.

    A member that spans nodes has them to itself. One host feeds a replica, so that no more nodes
    of it are fed than its data axis has replicas.
    """
    node, each = cluster.node_devices, devices // members
    if devices <= node:
        return members, 1, 1
    if each > node:
        return 1, members, min(each // node, data)
    if node % each:
        raise InputError(
            f"members of {each} devices do not fill nodes of {node}; take counts with which they"
            " do."
        )
    return node // each, devices // node, 1
