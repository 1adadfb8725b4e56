"""Input pipelines across nodes, and who waits for whom.

Input pipelines across nodes: who prepares, what goes through a node, what waits for what.

In an exchange one thread of every node sends, receives and copies samples. A *pass* is one of
these for one sample: a node that receives a sample, sends it on and hands it to training makes
three. What leaves a node is counted apart, because its link may be slower than its thread.

Cores in demand: how much slower a member trains while the same cores prepare samples.

A pipeline across nodes, priced: what it can deliver, what is trained, CPU, memory, power.

Per sample of the shared stream, on the busiest node, P seconds prepare it and X seconds exchange
it, for T of which a thread is busy that takes one of the c cores. Without a training step the
pipeline delivers

    peak = 1 / (P + X)             where nodes stop preparing while they exchange
    peak = 1 / max(P + T / c, X)   where they go on

samples per second to every node. With one, preparing takes cores away from training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, log2

from foretrain.ensemble.costs import Cores, ExchangeCosts, MeasuredCosts, Watts
from foretrain.errors import InputError, nearest
from foretrain.queueing.fifo import waits


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


HALVINGS = 60
"""Bisections: as many as the bits of a rate are worth."""


def trained(demand: float, *, own: float, others: float, cores: int) -> float:
    """Samples per second that a member trains while its node does other work per sample.

    Args:
        demand: samples per second with the cores for itself.
        own: core-seconds of the member's own work per sample; what of a sample's time is not
            the cores' is the device's.
        others: core-seconds of other work that every sample brings with it.
        cores: of the node.

    A sample takes 1/demand seconds, of which the member needs a core for `own`. Whenever it does,
    it waits behind the other work as a job waits in M/M/c at the load that this work makes. That
    load grows with the rate itself, so the rate is where the two agree. With one core and no
    device the times add up; many cores give the smaller of the two rates, rounded off where
    they meet.

    Source: kleinrock1975, section 3.5, for the waiting.
    """
    needed = min(own, 1.0 / demand)
    work = own + others
    low, high = 0.0, min(demand, cores / work) if work else demand
    for _ in range(HALVINGS):
        rate = 0.5 * (low + high)
        on_device = 1.0 / demand - needed
        offered, stretch = rate * others, inf
        if offered < cores:
            # Response time of a unit of work beside others that keep so many cores busy.
            stretch = 1.0 + waits(offered, servers=cores) / (cores - offered)
        took = on_device + needed * stretch
        low, high = (rate, high) if rate * took < 1.0 else (low, rate)
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class AcrossNodes:
    """One member on each of n nodes that are all alike.

    Attributes:
        nodes: n, each with one member.
        costs: of a sample, measured.
        cores: of each node.
        exchange: between nodes.
        watts: of each node above idle; None if power is not asked for.
    """

    nodes: int
    costs: MeasuredCosts
    cores: Cores
    exchange: ExchangeCosts
    watts: Watts | None = None

    def __post_init__(self) -> None:
        if not self.nodes >= 1:
            raise InputError(f"AcrossNodes.nodes must be at least 1, got {self.nodes}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineEstimate:
    """What a pipeline costs and delivers.

    Attributes:
        pipeline: that was priced.
        preparers: nodes that prepare.
        preparing: seconds that the busiest node prepares per sample of the stream, all its cores.
        exchanging: seconds that the busiest node exchanges per sample.
        peak: samples per second that every node would get if training took no time.
        rate: samples per second that every member trains.
        limit: what keeps it from more: "training", "cores", "preparation" or "exchange".
        cpu: core-seconds per sample that a member trains on, averaged over nodes.
        memory: bytes of the queues on the node that has most.
        power: watts above idle, averaged over nodes; None if the watts of a node are not known.
    """

    pipeline: EnsemblePipeline
    preparers: int
    preparing: float
    exchanging: float
    peak: float
    rate: float
    limit: str
    cpu: float
    memory: float
    power: float | None

    @property
    def name(self) -> str:
        """Of the pipeline, with its preparers where they were chosen."""
        chosen = "" if self.pipeline.everywhere else f", {self.preparers} preparing"
        return f"{self.pipeline.name}{chosen}"

    @property
    def busy_cores(self) -> float:
        """Cores at work on a node, averaged over time and nodes."""
        return self.cpu * self.rate


def preparation_rate(costs: MeasuredCosts, cores: Cores) -> float:
    """Samples per second that the cores of one node prepare, r_p.

    Source: pittman2018, the preprocessing rate of a node.
    """
    return cores.count / (costs.prepare * cores.slowing)


def estimate_pipeline(
    pipeline: EnsemblePipeline, setting: AcrossNodes, *, preparers: int = 1
) -> PipelineEstimate:
    """Price a pipeline.

    Args:
        pipeline: to be priced.
        setting: nodes, members and what was measured.
        preparers: nodes that prepare, where the pipeline leaves it open; at most all count.
    """
    if not preparers >= 1:
        raise InputError(f"preparers must be at least 1, got {preparers}.")
    costs, cores, exchange = setting.costs, setting.cores, setting.exchange
    chosen = pipeline.preparers(setting.nodes, preparers)
    share, traffic = pipeline.share(chosen), pipeline.traffic(setting.nodes, chosen)

    def thread(passes: float) -> float:
        """Core-seconds of the exchanging thread per sample; other cores do not slow it."""
        return passes * exchange.byte_time * costs.sample_bytes

    preparing, exchanging = _stages(pipeline, setting, chosen)
    # One after the other, or at once on shared cores.
    peak = 1.0 / (preparing + exchanging)
    if pipeline.overlapped:
        peak = 1.0 / max(preparing + thread(traffic.busiest) / cores.count, exchanging)
    # What the member of the busiest node trains while the stream is always there.
    alone = trained(
        costs.demand,
        own=costs.train * cores.slowing,
        others=share * costs.prepare * cores.slowing + thread(traffic.busiest),
        cores=cores.count,
    )
    rate = min(alone, peak)
    prepared = share * chosen / setting.nodes * costs.prepare
    cpu = (prepared + costs.train) * cores.slowing + thread(traffic.average)
    # Full queues: in front of training, and of the collective where there is one.
    batches = (2.0 if pipeline.exchanges else 1.0) * exchange.queue
    watts = setting.watts
    return PipelineEstimate(
        pipeline=pipeline,
        preparers=chosen,
        preparing=preparing,
        exchanging=exchanging,
        peak=peak,
        rate=rate,
        limit=_limit(rate, demand=costs.demand, peak=peak, stages=(preparing, exchanging)),
        cpu=cpu,
        memory=batches * costs.batch * costs.sample_bytes,
        power=None if watts is None else watts.drawn(rate * cpu, rate / costs.demand),
    )


def _stages(
    pipeline: EnsemblePipeline, setting: AcrossNodes, preparers: int
) -> tuple[float, float]:
    """Seconds per sample that the busiest node prepares and exchanges."""
    share = pipeline.share(preparers)
    traffic = pipeline.traffic(setting.nodes, preparers)
    exchange, size = setting.exchange, setting.costs.sample_bytes
    moving = max(traffic.busiest * exchange.byte_time, traffic.sent / exchange.bandwidth) * size
    together = exchange.block * setting.costs.batch * (preparers if pipeline.divided else 1)
    starting = traffic.hops * exchange.latency / together
    return share / preparation_rate(setting.costs, setting.cores), moving + starting


def _limit(rate: float, *, demand: float, peak: float, stages: tuple[float, float]) -> str:
    """What keeps a rate from being higher."""
    if rate >= 0.99 * demand:
        return "training"
    if rate < peak:
        return "cores"
    return "preparation" if stages[0] >= stages[1] else "exchange"
