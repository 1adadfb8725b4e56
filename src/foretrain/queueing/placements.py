"""Placements: how long a step takes on the nodes that a job happens to get.

Workers and servers exchange all their messages of a step at once. Every link of the network divides
its bandwidth evenly among the messages that pass it, so a message goes at the pace of the link on
its way that is shared most. That is no more than what max-min fairness would give it. Jobs beside
this one are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import inf, prod
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.plan.servers import Training

ABSENT = -1
"""The place of a link that a message does not need."""

BOXES = 8
"""Boxes of a torus that are tried."""

Floats = NDArray[np.float64]
Nodes = NDArray[np.intp]
Links = NDArray[np.intp]


class Fabric(Protocol):
    """What lies between the connections of nodes."""

    @property
    def nodes(self) -> int:
        """How many there are."""
        ...

    def paths(self, sources: Nodes, targets: Nodes) -> Links:
        """The links that messages pass, and `ABSENT` where they pass none. [flow, hop]"""
        ...

    def capacities(self, links: Links) -> Floats:
        """Bytes per second of links, one direction; infinite where one is `ABSENT`. [link]"""
        ...

    def packed(self, workers: int, servers: int) -> Iterator[Nodes]:
        """Placements on nodes that lie together: those of workers, then of servers. [node]"""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rack:
    """Nodes under one switch, which gives each its full connection.

    Attributes:
        nodes: how many, at least 1.
    """

    nodes: int

    def __post_init__(self) -> None:
        if not self.nodes >= 1:
            raise InputError(f"Rack.nodes must be at least 1, got {self.nodes}.")

    def paths(self, sources: Nodes, targets: Nodes) -> Links:
        """None that could be full. [flow, 0]"""
        return np.zeros((len(sources), 0), np.intp)

    def capacities(self, links: Links) -> Floats:
        """No link limits. [link]"""
        return np.full(len(links), inf)

    def packed(self, workers: int, servers: int) -> Iterator[Nodes]:
        """Any are as close as others."""
        yield np.arange(workers + servers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Torus:
    """Routers in a box, each joined to two neighbours along each side, the last to the first.

    Messages go along the first side as far as they must, then along the second and so on, the
    shorter way around.

    Attributes:
        sides: routers along each side.
        bandwidths: bytes per second of one link along each side, one direction.
        per_router: nodes of each router.
    """

    sides: tuple[int, ...]
    bandwidths: tuple[float, ...]
    per_router: int = 1

    def __post_init__(self) -> None:
        if not self.sides or not all(side >= 1 for side in self.sides):
            raise InputError(f"Torus.sides must be at least 1 router each, got {self.sides}.")
        if len(self.bandwidths) != len(self.sides) or not all(b > 0 for b in self.bandwidths):
            raise InputError(
                f"Torus.bandwidths must be {len(self.sides)} numbers above 0 B/s, one a side,"
                f" got {self.bandwidths}."
            )
        if not self.per_router >= 1:
            raise InputError(f"Torus.per_router must be at least 1 node, got {self.per_router}.")

    @property
    def routers(self) -> int:
        """How many there are."""
        return prod(self.sides)

    @property
    def nodes(self) -> int:
        """How many there are."""
        return self.routers * self.per_router

    def paths(self, sources: Nodes, targets: Nodes) -> Links:
        """By side: a hop for each router that a message may have to pass. [flow, hop]"""
        here = np.array(np.unravel_index(sources // self.per_router, self.sides))
        there = np.array(np.unravel_index(targets // self.per_router, self.sides))
        found = []
        for side, length in enumerate(self.sides):
            up = (there[side] - here[side]) % length
            down = up > length // 2
            steps = np.where(down, length - up, up)
            hop = np.arange(length // 2)
            at = here[:, :, np.newaxis].repeat(len(hop), axis=2)
            at[side] = (at[side] + np.where(down, -1, 1)[:, np.newaxis] * hop) % length
            router = np.ravel_multi_index(tuple(at), self.sides)
            link = (router * len(self.sides) + side) * 2 + down[:, np.newaxis]
            found.append(np.where(hop < steps[:, np.newaxis], link, ABSENT))
            here[side] = there[side]
        return np.concatenate(found, axis=1)

    def capacities(self, links: Links) -> Floats:
        """Links are numbered by router, side and way: up, then down. [link]"""
        along = np.array(self.bandwidths)[links // 2 % len(self.sides)]
        return np.where(links == ABSENT, inf, along)

    def packed(self, workers: int, servers: int) -> Iterator[Nodes]:
        """Boxes of routers, with all nodes of a router and with fewer, which have more links each.

        Of the boxes that no shorter side would do for, those with the least way along all sides.
        Servers stand far apart among the workers, in the order of nodes or along diagonals.
        """
        count = workers + servers
        every = [*product(*(range(1, side + 1) for side in self.sides))]
        for nodes in range(1, self.per_router + 1):
            routers, own = -(-count // nodes), np.arange(nodes)
            boxes = sorted((b for b in every if _just_holds(b, routers)), key=self._way)
            for sides in boxes[:BOXES]:
                corners = np.indices(sides).reshape(len(sides), -1)[:, :routers]
                inside = np.asarray(np.ravel_multi_index(tuple(corners), self.sides))
                near = (inside[:, np.newaxis] * self.per_router + own).ravel()[:count]
                diagonal = (corners.sum(axis=0)[:, np.newaxis] + own).ravel()[:count]
                for serving in _apart(diagonal, servers):
                    yield np.concatenate([np.delete(near, serving), near[serving]])

    def _way(self, box: tuple[int, ...]) -> float:
        """Seconds per byte along all sides of a box."""
        return sum(side / width for side, width in zip(box, self.bandwidths, strict=True))


def _just_holds(box: tuple[int, ...], routers: int) -> bool:
    """Whether a box holds so many, and no longer does with any side shorter."""
    size = prod(box)
    return size >= routers > max((size // side * (side - 1) for side in box), default=0)


def _apart(diagonal: Nodes, servers: int) -> Iterator[Nodes]:
    """Which nodes of a box serve: ways to have them far apart. [server]

    Side by side they would share the few links that lead to them. Evenly spread in the order of
    nodes they may all stand in a few planes; then whoever is beyond gets everything over one link.
    On diagonals every row of the box, along every side, has its share of them.

    Args:
        diagonal: sum of the places of each node along all sides. [node]
        servers: how many serve.
    """
    count = len(diagonal)
    yield ((np.arange(servers) + 0.5) * count / servers).astype(np.intp)
    for first in (0.0, 0.5):
        turn = (diagonal * (servers / count) + first) % 1.0
        yield np.argsort(turn, kind="stable")[:servers]


def _has_room(fabric: Fabric, count: int) -> None:
    if not 1 <= count <= fabric.nodes:
        raise InputError(f"nodes of a job must number from 1 to {fabric.nodes}, got {count}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementSpread:
    """Seconds of a step over placements.

    Attributes:
        p10: what one in ten placements stays below.
        p50: the median.
        p90: what one in ten exceeds.
        packed: on nodes that lie together, the quickest of few ways to choose them.
    """

    p10: float
    p50: float
    p90: float
    packed: float


def placement_spread(
    training: Training, fabric: Fabric, *, workers: int, draws: int = 1000, seed: int = 0
) -> PlacementSpread:
    """How long a step takes on nodes that are drawn at random.

    Args:
        training: with servers on nodes of their own; connections of nodes are those of its
            workers and servers.
        fabric: what lies between them.
        workers: how many, at least 1.
        draws: placements, at least 1.
        seed: equal seeds draw equal placements.
    """
    if not workers >= 1 or not draws >= 1:
        raise InputError(f"workers and draws must be at least 1, got {workers} and {draws}.")
    count = workers + _servers(training)
    _has_room(fabric, count)
    random, nodes = Random(seed), range(fabric.nodes)
    drawn = (np.array(random.sample(nodes, count)) for _ in range(draws))
    seconds = [placed_step(training, fabric, placement=each) for each in drawn]
    p10, p50, p90 = np.quantile(seconds, [0.1, 0.5, 0.9])
    return PlacementSpread(
        p10=float(p10),
        p50=float(p50),
        p90=float(p90),
        packed=min(
            placed_step(training, fabric, placement=each)
            for each in fabric.packed(workers, count - workers)
        ),
    )


def placed_step(training: Training, fabric: Fabric, *, placement: Nodes) -> float:
    """Seconds of a step on some nodes.

    Args:
        training: with servers on nodes of their own.
        fabric: what lies between the nodes.
        placement: nodes of the workers, then of the servers. [node]

    Returns:
        Until the last worker is done where all wait for one another, else the mean worker's pace.
    """
    count = _servers(training)
    workers, servers = placement[:-count], placement[-count:]
    worker, server = training.worker, training.servers
    assert server, "a training without servers was not refused"
    of_worker, of_server = np.repeat(workers, count), np.tile(servers, len(workers))
    # Seconds in which every worker moves a byte over each of its connections, both ways.
    pull = _byte_seconds(
        fabric, of_server, of_worker, leave=training.server_link, enter=worker.link
    )
    push = _byte_seconds(
        fabric, of_worker, of_server, leave=worker.link, enter=training.server_link
    )
    moved = (pull * worker.pulled + push * worker.pushed) / count
    slowest = moved.reshape(len(workers), count).max(axis=1)
    own = worker.compute.mean + 2.0 * server.latency + server.update / count + slowest
    if training.updates.stale == 0:
        return float(own.max())
    return float(len(own) / (1.0 / own).sum())


def _byte_seconds(
    fabric: Fabric, sources: Nodes, targets: Nodes, *, leave: float, enter: float
) -> Floats:
    """Seconds in which each message moves a byte while all are under way. [flow]

    Args:
        fabric: what lies between the nodes.
        sources: of messages. [flow]
        targets: of messages. [flow]
        leave: bytes per second of a source's connection.
        enter: bytes per second of a target's.
    """
    paths = fabric.paths(sources, targets)
    links, place, messages = np.unique(paths, return_inverse=True, return_counts=True)
    shared = messages / fabric.capacities(links)
    between = shared[place].reshape(paths.shape).max(axis=1, initial=0.0)
    ends = np.maximum(_alike(sources) / leave, _alike(targets) / enter)
    return np.asarray(np.maximum(between, ends), np.float64)


def _alike(nodes: Nodes) -> Nodes:
    """How many of some nodes are each of them. [flow]"""
    _, inverse, counts = np.unique(nodes, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse], np.intp)


def _servers(training: Training) -> int:
    """How many there are, on nodes of their own."""
    if training.servers is None or training.servers.colocated:
        raise InputError("a placement needs servers on nodes of their own.")
    return training.servers.count
