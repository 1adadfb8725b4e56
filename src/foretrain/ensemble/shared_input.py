"""shared_input: how are the members of an ensemble fed that is a job on a shared cluster?

What the hosts of a cluster can do for the members of an ensemble that runs on it.

Nothing is measured here: the cluster says cores and links, and copying is priced by what one core
is known to do.

Members of an ensemble on a cluster: several on each node, or each on several nodes.

Members on one node share samples in its memory, and nodes hand samples on to each other. A member
that spans several nodes divides its batch among them, so that the k-th nodes of all members need
the same part of the stream and exchange among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Link
from foretrain.cluster.offer import fewer
from foretrain.ensemble.across_nodes import (
    DUPLICATE,
    PIPELINES,
    AcrossNodes,
    PipelineEstimate,
    estimate_pipeline,
)
from foretrain.ensemble.costs import Cores, ExchangeCosts, MeasuredCosts
from foretrain.ensemble.one_node import LoadingEstimate, MeasuredLoaders, OnOneNode
from foretrain.ensemble.plan import CLOSE, advise_sharing, as_fast, preferred, worth_sharing
from foretrain.ensemble.result import InputWay, SharedInput
from foretrain.errors import InputError
from foretrain.measured.queue_study import JobModel
from foretrain.plan.study import Study
from foretrain.step.result import Ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class OnCluster:
    """An ensemble of equal members on equal nodes.

    Attributes:
        beside: members on one node.
        nodes: that need the same samples, each with so many members.
        parts: nodes of one member that are fed, each with its own part of every batch.
        costs: of a sample; demand and batch are those of a whole member, train is 0, as the core
            of a device's own process is none of `cores`.
        loaders: what handing on inside a node takes.
        cores: of a node, for its members together.
        exchange: between nodes.
    """

    beside: int
    nodes: int
    parts: int
    costs: MeasuredCosts
    loaders: MeasuredLoaders
    cores: Cores
    exchange: ExchangeCosts

    def __post_init__(self) -> None:
        for name in ("beside", "nodes", "parts"):
            if not getattr(self, name) >= 1:
                raise InputError(f"OnCluster.{name} must be at least 1, got {getattr(self, name)}.")
        if self.parts > 1 and self.beside > 1:
            raise InputError("OnCluster: members that span nodes have them to themselves.")

    @property
    def members(self) -> int:
        """Of the ensemble."""
        return self.beside * self.nodes

    @property
    def on_a_node(self) -> MeasuredCosts:
        """Costs of the part of a member that one node trains."""
        batch = max(1, self.costs.batch // self.parts)
        return replace(self.costs, demand=self.costs.demand / self.parts, batch=batch)


def choose_input(setting: OnCluster) -> SharedInput:
    """The fastest way of feeding all members; of those as fast, the one with least CPU time.

    Loaders of their own remain the best where no sharing is faster or clearly cheaper.

    Source: pittman2018, the choice among pipelines; here with several members on a node.
    """
    ways = tuple(_ways(setting))
    private, *_ = ways
    found = preferred(ways)
    best = found if worth_sharing(found, private) else private
    return SharedInput(
        members=setting.members,
        beside=setting.beside,
        nodes=setting.nodes,
        parts=setting.parts,
        cores=setting.cores.count,
        demand=setting.costs.demand,
        best=best,
        private=private,
        others=tuple(replace(way, why=_why(way, best)) for way in ways if way is not best),
        pays=best is not private,
        verdict=_verdict(best, private),
    )


def _ways(setting: OnCluster) -> Iterator[InputWay]:
    """Loaders of each member, one stream per node, and every pipeline that exchanges samples."""
    node = OnOneNode(
        members=setting.beside,
        costs=setting.on_a_node,
        loaders=setting.loaders,
        cores=setting.cores,
    )
    advice = advise_sharing(node)
    yield _way(advice.private.name, advice.private, setting)
    if setting.beside > 1:
        each = " on each node" if setting.nodes > 1 else ""
        yield _way(f"{advice.shared.name}{each}", advice.shared, setting)
    if setting.nodes == 1:
        return
    delivering = setting.beside * setting.loaders.deliver
    across = AcrossNodes(
        nodes=setting.nodes,
        costs=replace(setting.on_a_node, train=delivering),
        cores=setting.cores,
        exchange=setting.exchange,
    )
    for pipeline in PIPELINES.values():
        if pipeline is DUPLICATE:
            continue
        # The most preparers first: each has least to do then.
        counts = (1,) if pipeline.everywhere else range(across.nodes, 0, -1)
        found = preferred([estimate_pipeline(pipeline, across, preparers=n) for n in counts])
        yield _way(found.name, found, setting)


def _way(name: str, found: LoadingEstimate | PipelineEstimate, setting: OnCluster) -> InputWay:
    """A way as all nodes together do it."""
    return InputWay(
        name=name,
        rate=setting.parts * found.rate,
        cpu=setting.nodes * found.cpu,
        cores=found.rate * found.cpu,
        limit=found.limit,
        why="",
    )


def _why(way: InputWay, best: InputWay) -> str:
    """Why a way was not chosen."""
    if not as_fast(way, best):
        return f"{_percent(1.0 - way.rate / best.rate)} slower: {way.limit} limits it"
    if way.cpu > (1.0 + CLOSE) * best.cpu:
        return f"as fast, for {way.cpu / best.cpu:.3g} times the CPU time"
    if not as_fast(best, way) or way.cpu < (1.0 - CLOSE) * best.cpu:
        return "saves too little CPU time to be worth sharing"
    return "as good, but not simpler"


def _verdict(best: InputWay, private: InputWay) -> str:
    """Whether sharing pays, in a sentence."""
    if best is private:
        return (
            "Sharing does not pay: no shared input is faster than private loaders, or as fast for"
            " clearly less CPU time."
        )
    faster = best.rate / private.rate
    speed = "as fast as" if as_fast(private, best) else f"{faster:.3g} times as fast as"
    return (
        f"Sharing pays: with {best.name} every member trains {speed} with private loaders, for"
        f" {_percent(best.cpu / private.cpu)} of their CPU time per sample."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


COPY = 8 / 42e9
"""Seconds in which one core takes in a byte from the network: 42 Gb/s, most of it copying. A copy
inside a node is not believed to be quicker. Source: cai2021, section 3.1 (from memory)."""

OWN = 1
"""Cores that each device keeps busy: its process starts kernels and polls for them; assumed."""


def cores_for(cluster: Cluster, devices: int) -> Cores:
    """Cores of a node that are left to feed members, in proportion to the devices they use.

    Args:
        cluster: with a host.
        devices: of the ensemble; up to a whole node of them counts.

    Raises:
        InputError: where the processes of the devices leave none.
    """
    assert cluster.host
    used = min(devices, cluster.node_devices)
    share = cluster.host.cores * used // cluster.node_devices
    left = share - OWN * used
    if left < 1:
        raise InputError(
            f"{used} devices of '{cluster.name}' come with {share} cores, and each keeps {OWN} of"
            " them busy: none is left to prepare samples."
        )
    return Cores(count=left)


def exchange_of(cluster: Cluster, devices: int) -> ExchangeCosts:
    """How the nodes of an ensemble on so many devices hand samples on: one thread, one adapter."""
    used = fewer(cluster, devices)
    links, reached = list[Link](), 1
    for level in used.levels:
        # Links beyond the node.
        if reached >= used.node_devices and level.members > 1:
            links.append(level.link)
        reached *= level.members
    return ExchangeCosts(
        byte_time=COPY,
        bandwidth=min(
            (
                (link.bandwidth if link.capacity is None else min(link.bandwidth, link.capacity))
                for link in links
            ),
            default=inf,
        ),
        latency=max((link.latency for link in links), default=0.0),
    )


def loaders_of(*, prepare: float, sample_bytes: float) -> MeasuredLoaders:
    """What handing on takes inside a node: copies.

    A worker of a private loader copies a sample into shared memory and the member copies it to its
    device; a shared one is prepared in its place and copied once by each member.
    """
    copy = COPY * sample_bytes
    return MeasuredLoaders(hand=2.0 * copy, store=prepare, feed=copy, deliver=copy)


def alone(model: JobModel) -> Study:
    """The study of one member whose samples are prepared by somebody else.

    Reading stays in it, as for a job of its own: what one member has read, the others find in the
    memory of the host.
    """
    study = model.planned
    workload = study.workload
    assert workload.data
    read = replace(workload.data, prepare=None)
    return replace(study, workload=replace(workload, data=read))


def shared_input(model: JobModel, devices: int, member: Ranked) -> SharedInput:
    """The best way of feeding an ensemble whose members all have the same plan.

    Args:
        model: an ensemble.
        devices: of all members together.
        member: the best plan of one on its share of them.

    Raises:
        InputError: where members do not fill nodes evenly, or no core is left for their input.
    """
    cluster, workload = model.planned.cluster, model.planned.workload
    data = workload.data
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
                batch=workload.global_batch,
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
