"""Input pipelines across nodes: who prepares, what goes through a node, what waits for what.

In an exchange one thread of every node sends, receives and copies samples. A *pass* is one of
these for one sample: a node that receives a sample, sends it on and hands it to training makes
three. What leaves a node is counted apart, because its link may be slower than its thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log2

from foretrain.errors import InputError, nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineTraffic:
    """What one sample of the shared stream makes nodes do.

    Attributes:
        busiest: passes through the thread of the busiest node.
        average: passes through a thread, averaged over all nodes.
        sent: times that the busiest node sends it.
        hops: messages that one collective needs one after the other.
    """

    busiest: float
    average: float
    sent: float
    hops: float


SILENT = PipelineTraffic(busiest=0.0, average=0.0, sent=0.0, hops=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsemblePipeline:
    """One way to feed a member on each of n nodes.

    Attributes:
        name: as users write it.
        everywhere: every node prepares; otherwise only the preparers that are asked for do.
        divided: preparers prepare different samples; otherwise each prepares all of them.
        overlapped: nodes go on preparing while samples are exchanged.
        traffic: of a sample, given nodes and preparers.
    """

    name: str
    everywhere: bool
    divided: bool
    overlapped: bool
    traffic: Callable[[int, int], PipelineTraffic]

    def preparers(self, nodes: int, asked: int) -> int:
        """Nodes that prepare."""
        return nodes if self.everywhere else min(asked, nodes)

    def share(self, preparers: int) -> float:
        """Share of all samples that one preparer prepares."""
        return 1.0 / preparers if self.divided else 1.0

    @property
    def exchanges(self) -> bool:
        """Whether samples go from node to node."""
        return self.traffic is not _silent


def _silent(nodes: int, preparers: int) -> PipelineTraffic:
    """Nothing is exchanged."""
    return SILENT


def _ring(nodes: int, preparers: int) -> PipelineTraffic:
    """An all-gather: each node receives and sends on what others prepared, then hands all over."""
    others = (nodes - 1) / nodes
    passes = 1.0 + 2.0 * others
    return PipelineTraffic(busiest=passes, average=passes, sent=others, hops=nodes - 1)


def _one_root(nodes: int, preparers: int) -> PipelineTraffic:
    """An all-gather among preparers; the last is the root of a binomial tree over the rest."""
    gathered = _ring(preparers, preparers)
    below = nodes - preparers
    sends = log2(below + 1)
    passes = preparers * gathered.average + 3.0 * below
    return PipelineTraffic(
        busiest=gathered.busiest + sends,
        average=passes / nodes,
        sent=gathered.sent + sends,
        hops=gathered.hops + sends,
    )


def _many_roots(nodes: int, preparers: int) -> PipelineTraffic:
    """A binomial tree from each preparer over all nodes; a root is a branch of other trees."""
    of_others = 1.0 - 1.0 / preparers
    sends = log2(nodes) / preparers + of_others
    return PipelineTraffic(
        busiest=1.0 + of_others + sends,
        average=1.0 + 2.0 * (nodes - 1) / nodes,
        sent=sends,
        hops=log2(nodes),
    )


def _served(nodes: int, preparers: int) -> PipelineTraffic:
    """Every node asks the preparers for each sample: they send it as often as there are others."""
    sends = (nodes - 1) / preparers
    return PipelineTraffic(
        busiest=1.0 + (1.0 - 1.0 / preparers) + sends,
        average=1.0 + 2.0 * (nodes - 1) / nodes,
        sent=sends,
        hops=1.0,
    )


DUPLICATE = EnsemblePipeline(
    name="duplicate", everywhere=True, divided=False, overlapped=True, traffic=_silent
)
"""Every node prepares all samples: nothing is shared. Source: pittman2018, the baseline."""

ALL_SHARED = EnsemblePipeline(
    name="all-shared", everywhere=True, divided=True, overlapped=False, traffic=_ring
)
"""Each of n nodes prepares 1/n, an all-gather does the rest. Source: pittman2018, All-Shared."""

SINGLE_BROADCAST = EnsemblePipeline(
    name="single-broadcast", everywhere=False, divided=True, overlapped=False, traffic=_one_root
)
"""Preparers gather, the last one broadcasts. Source: pittman2018, Single-Broadcast."""

MULTI_BROADCAST = EnsemblePipeline(
    name="multi-broadcast", everywhere=False, divided=True, overlapped=True, traffic=_many_roots
)
"""Every preparer broadcasts its part, all at once. Source: pittman2018, Multi-Broadcast."""

UNDIVIDED_BROADCAST = replace(MULTI_BROADCAST, name="undivided multi-broadcast", divided=False)
"""Every preparer prepares all samples and broadcasts its part: how the paper's one behaves."""

DATA_SERVICE = EnsemblePipeline(
    name="data-service", everywhere=False, divided=True, overlapped=True, traffic=_served
)
"""Preparers serve each node by itself. Source: audibert2023, the service of tf.data."""

PIPELINES = {
    each.name: each
    for each in (
        DUPLICATE,
        ALL_SHARED,
        SINGLE_BROADCAST,
        MULTI_BROADCAST,
        replace(ALL_SHARED, name="asynchronous all-shared", overlapped=True),
        replace(SINGLE_BROADCAST, name="asynchronous single-broadcast", overlapped=True),
        DATA_SERVICE,
    )
}
"""What can be chosen; where two are equally good, the earlier one is."""


def pipeline(name: str) -> EnsemblePipeline:
    """The pipeline of a name."""
    if name not in PIPELINES:
        raise InputError(
            f"pipeline: unknown pipeline '{name}'.{nearest(name, PIPELINES)}\n"
            f"Known: {', '.join(PIPELINES)}."
        )
    return PIPELINES[name]
