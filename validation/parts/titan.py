"""The model of input pipelines on Titan: what it is given, what is fitted, what it says.

Given, and the same for every curve, is what the paper measured on one node that prepares for
itself: how busy cores and device are, and how much slower one core is. Fitted are two constants
per network, shared by all its curves: k, the CPU time of a sample that can be shared over that
which cannot, and the seconds in which the thread of the collectives passes one sample on.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

from foretrain.ensemble.across_nodes import (
    ALL_SHARED,
    DUPLICATE,
    SINGLE_BROADCAST,
    UNDIVIDED_BROADCAST,
    AcrossNodes,
    EnsemblePipeline,
    PipelineEstimate,
    estimate_pipeline,
)
from foretrain.ensemble.costs import Cores, ExchangeCosts, MeasuredCosts, Watts

TABLE = Path(__file__).parents[1] / "tables" / "ensemble" / "titan.toml"
NETWORKS = ("alexnet", "inception", "vgg")
FIRST = "alexnet"
"""The network of the run on one node: preparing a sample costs the others as much."""

AT_CAP = 0.99
"""Share of the cabinet's cap from which on a reading tells of the cap."""

PIPELINES: Mapping[str, EnsemblePipeline] = {
    "all-shared": ALL_SHARED,
    "single-broadcast": SINGLE_BROADCAST,
    "multi-broadcast": UNDIVIDED_BROADCAST,
}


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What is known of a network.

    Attributes:
        network: its name in the table.
        prepare: core-seconds to prepare a sample, one core at work.
        k: shareable over private CPU time.
        passing: seconds in which the thread of the collectives passes one sample on.
    """

    network: str
    prepare: float
    k: float
    passing: float

    def setting(self, nodes: int, *, cores: int = 16) -> AcrossNodes:
        """So many nodes of Titan with so many cores each."""
        of = measured()
        costs = MeasuredCosts(
            demand=of["networks"][self.network]["demand"],
            prepare=self.prepare,
            train=self.prepare / self.k,
            sample_bytes=of["sample_bytes"],
            batch=of["networks"][self.network]["batch"],
        )
        return AcrossNodes(
            nodes=nodes,
            costs=costs,
            cores=Cores(count=cores, contention=contention()),
            exchange=ExchangeCosts(byte_time=self.passing / costs.sample_bytes),
        )

    def estimate(
        self, pipeline: EnsemblePipeline, nodes: int, *, cores: int = 16, preparers: int = 1
    ) -> PipelineEstimate:
        """A pipeline on so many nodes."""
        return estimate_pipeline(pipeline, self.setting(nodes, cores=cores), preparers=preparers)


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Measured points of one kind beside what the model says of them.

    Attributes:
        kind: "peak", "CPU reduction", "core limit".
        name: which one.
        places: nodes or cores at which it was measured.
        paper: what was measured.
        ours: what the model says.
    """

    kind: str
    name: str
    places: Sequence[int]
    paper: Sequence[float]
    ours: Sequence[float]

    @property
    def errors(self) -> list[float]:
        """Of every point, as a fraction of what was measured."""
        return [ours / paper - 1.0 for ours, paper in zip(self.ours, self.paper, strict=True)]


@cache
def measured() -> Mapping[str, Any]:
    """The paper's figures."""
    return tomllib.loads(TABLE.read_text("utf-8"))


def contention() -> float:
    """By how much a core slows the others: 16 cores are worth 9.61 of one."""
    cores, worth = measured()["cores"], measured()["one_core"]["duplicate"][FIRST]
    slowing: float = (cores / worth - 1.0) / (cores - 1)
    return slowing


def core_seconds() -> float:
    """What a sample of AlexNet takes on one node that prepares for itself, one core at work."""
    node, cores = measured()["single_node"], measured()["cores"]
    rate = node["device_of_peak"] * measured()["networks"][FIRST]["demand"]
    slowing = Cores(count=cores, contention=contention()).slowing
    return float(node["cpu_busy"] * cores / rate / slowing)


@cache
def fitted(network: str, *, without: frozenset[str] = frozenset()) -> Fitted:
    """The two constants of a network, by least squares over the logarithms of its curves.

    A point of a kind with many points counts less, so that every kind counts the same. Power is
    not looked at.

    Args:
        network: one of `NETWORKS`.
        without: names and kinds of curves that are left out of the fit.
    """
    from scipy.optimize import least_squares

    def off(logarithms: Sequence[float]) -> list[float]:
        every = curves(_of(network, *(2.0**each for each in logarithms)))
        return list(_weighed([each for each in every if not without & {each.kind, each.name}]))

    best = least_squares(off, (log(4.0, 2), log(5e-4, 2)))
    return _of(network, *(2.0 ** float(each) for each in best.x))


def _of(network: str, k: float, passing: float) -> Fitted:
    """A network with two constants; what a sample of the others costs to prepare is AlexNet's."""
    prepare = core_seconds() * k / (k + 1.0) if network == FIRST else fitted(FIRST).prepare
    return Fitted(network=network, prepare=prepare, k=k, passing=passing)


def _weighed(every: Sequence[Curve]) -> Iterator[float]:
    """Logarithms of the errors of all points, so that every kind of curve weighs the same."""
    kinds = [curve.kind for curve in every for _ in curve.paper]
    errors = [error for curve in every for error in curve.errors]
    for kind, error in zip(kinds, errors, strict=True):
        yield log(1.0 + error) / sqrt(kinds.count(kind))


def curves(of: Fitted) -> Iterator[Curve]:
    """All curves of a network that are scored, power aside."""
    if of.network == FIRST:
        yield from (_peak(of, row) for row in measured()["peak"])
    yield _reduction(of)
    yield _core_limit(of)


def _peak(of: Fitted, row: Mapping[str, Any]) -> Curve:
    preparers, cores = row.get("preparers", 1), row["cores"]
    pipeline = PIPELINES[row["pipeline"]]
    found = [
        of.estimate(pipeline, nodes, cores=cores, preparers=preparers) for nodes in row["nodes"]
    ]
    chosen = f", {preparers} preparing" if "preparers" in row else ""
    return Curve(
        kind="peak",
        name=f"{row['pipeline']}{chosen}, {cores} cores",
        places=row["nodes"],
        paper=row["rate"],
        ours=[each.peak for each in found],
    )


def _reduction(of: Fitted) -> Curve:
    row = measured()["cpu_reduction"]
    return Curve(
        kind="CPU reduction",
        name=of.network,
        places=row["nodes"],
        paper=row[of.network],
        ours=[
            of.estimate(DUPLICATE, nodes).cpu / of.estimate(ALL_SHARED, nodes).cpu
            for nodes in row["nodes"]
        ],
    )


def _core_limit(of: Fitted) -> Curve:
    row = measured()["core_limit"]
    return Curve(
        kind="core limit",
        name=of.network,
        places=row["cores"],
        paper=row[of.network],
        ours=[faster(of, row["nodes"], cores=cores) for cores in row["cores"]],
    )


def faster(of: Fitted, nodes: int, *, cores: int) -> float:
    """Rate of all-shared over that of preparing on every node."""
    shared = of.estimate(ALL_SHARED, nodes, cores=cores).rate
    return shared / of.estimate(DUPLICATE, nodes, cores=cores).rate


def power(of: Fitted) -> Curve:
    """Watts above idle of a node without and with sharing, by the readings of other networks."""
    watts = watts_of([fitted(each) for each in NETWORKS if each != of.network])
    return Curve(
        kind="power above idle",
        name=of.network,
        places=(0, 1),
        paper=_above_idle(of.network),
        ours=[watts.drawn(*busy) for busy in _busy(of)],
    )


def watts_of(networks: Sequence[Fitted]) -> Watts:
    """What the readings of some networks say of a busy core and of a node that runs anything.

    A core's watts are those by which two readings of one network differ: nothing else does between
    them, while networks keep a device busy in ways of their own. What is left is the node's, with
    its device. A reading at the cabinet's cap says only that the node would have drawn as much.
    """
    most = _most_watts()
    kept = {
        network.network: [
            (cores, watts)
            for (cores, _), watts in zip(_busy(network), _above_idle(network.network), strict=True)
            if watts < AT_CAP * most
        ]
        for network in networks
    }
    pairs = [
        (more - less, above - below)
        for (more, above), (less, below) in (each for each in kept.values() if len(each) == 2)
    ]
    core = sum(cores * watts for cores, watts in pairs) / sum(cores**2 for cores, _ in pairs)
    running = fmean(
        fmean(watts - core * cores for cores, watts in each) for each in kept.values() if each
    )
    return Watts(core=core, device=0.0, running=running, most=most)


def _most_watts() -> float:
    """Watts above idle of a node when the cabinet draws what it is capped at."""
    row = measured()["power"]
    return float((row["cap"] - row["idle"]) / row["nodes"])


def _busy(of: Fitted) -> list[tuple[float, float]]:
    """Cores and devices busy on average, without and with sharing."""
    nodes, demand = measured()["power"]["nodes"], measured()["networks"][of.network]["demand"]
    found = [of.estimate(pipeline, nodes) for pipeline in (DUPLICATE, ALL_SHARED)]
    return [(each.busy_cores, each.rate / demand) for each in found]


def _above_idle(network: str) -> list[float]:
    """Watts above idle of a node, as metered, without and with sharing."""
    row = measured()["power"]
    return [
        (row[kind][network] - row["idle"]) / row["nodes"] for kind in ("duplicate", "all_shared")
    ]
