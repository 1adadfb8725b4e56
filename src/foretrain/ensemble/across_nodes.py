"""Cores in demand: how much slower a member trains while the same cores prepare samples.

A pipeline across nodes, priced: what it can deliver, what is trained, CPU, memory, power.

Per sample of the shared stream, on the busiest node, P seconds prepare it and X seconds exchange
it, for T of which a thread is busy that takes one of the c cores. Without a training step the
pipeline delivers

    peak = 1 / (P + X)             where nodes stop preparing while they exchange
    peak = 1 / max(P + T / c, X)   where they go on

samples per second to every node. With one, preparing takes cores away from training.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from foretrain.ensemble.costs import Cores, ExchangeCosts, MeasuredCosts, Watts
from foretrain.ensemble.pipelines import EnsemblePipeline
from foretrain.errors import InputError
from foretrain.queueing.fifo import waits

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
