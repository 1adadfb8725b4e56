"""Members of an ensemble on a cluster: several on each node, or each on several nodes.

Members on one node share samples in its memory, and nodes hand samples on to each other. A member
that spans several nodes divides its batch among them, so that the k-th nodes of all members need
the same part of the stream and exchange among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from foretrain.ensemble.across_nodes import AcrossNodes, PipelineEstimate, estimate_pipeline
from foretrain.ensemble.costs import Cores, Exchange, MeasuredCosts
from foretrain.ensemble.one_node import LoadingEstimate, MeasuredLoaders, OnOneNode
from foretrain.ensemble.pipelines import DUPLICATE, PIPELINES, Pipeline
from foretrain.ensemble.result import InputWay, SharedInput
from foretrain.ensemble.sharing import CLOSE, advise_sharing, as_fast, preferred, worth_sharing
from foretrain.errors import InputError


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
    exchange: Exchange

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
    ways = (*_on_each_node(setting), *_between_nodes(setting))
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


def _on_each_node(setting: OnCluster) -> Iterator[InputWay]:
    """Loaders of each member, then one stream per node where members can share one."""
    node = OnOneNode(
        members=setting.beside,
        costs=setting.on_a_node,
        loaders=setting.loaders,
        cores=setting.cores,
    )
    advice = advise_sharing(node)
    yield _loading(advice.private, setting)
    if setting.beside > 1:
        yield _loading(advice.shared, setting)


def _between_nodes(setting: OnCluster) -> Iterator[InputWay]:
    """Every pipeline that exchanges samples, at its best number of preparing nodes."""
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
        if pipeline is not DUPLICATE:
            yield _exchanging(preferred(_variants(pipeline, across)), setting)


def _variants(pipeline: Pipeline, across: AcrossNodes) -> Sequence[PipelineEstimate]:
    """One for each number of nodes that may prepare, the most first: each has least to do then."""
    counts = (1,) if pipeline.everywhere else range(across.nodes, 0, -1)
    return [estimate_pipeline(pipeline, across, preparers=count) for count in counts]


def _loading(found: LoadingEstimate, setting: OnCluster) -> InputWay:
    """The same on every node."""
    each = " on each node" if found.shared and setting.nodes > 1 else ""
    return _way(f"{found.name}{each}", found, setting)


def _exchanging(found: PipelineEstimate, setting: OnCluster) -> InputWay:
    return _way(found.name, found, setting)


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
