"""Which algorithm is cheapest, by bytes, members and level, and where the next one takes over.

    python benchmarks/collective_crossovers.py [CLUSTER ...]

For each cluster, group and pattern one line: the algorithms from small messages to large ones, with
the size from which each is the cheapest. The library's own algorithms come first, those that
anybody has published after `|`. The exit status is 1 if a chosen algorithm takes longer than
another one of those it was chosen from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.step.collective import FLAGGED, Exchange, exchange
from foretrain.step.collectives import ALGORITHMS, EVERY
from foretrain.step.collectives.group import group
from foretrain.step.collectives.network import Network, network
from foretrain.step.strategies.strategy import Pattern
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.units import BYTES

CLUSTERS = ("dgx-a100", "dgx-h100", "dgx-1-v100", "ethernet-100g", "abci")
NODES = 64
SIZES = 2.0 ** np.arange(6, 36, 1 / 16)


def groups(place: Cluster) -> Iterator[tuple[str, list[np.ndarray]]]:
    """A pair, a node, and two, eight and all nodes with one member each or full."""
    full = place.node_devices
    for nodes, members in ((1, 2), (1, full), (2, 1), (2, full), (8, full), (NODES, 1)):
        yield f"{nodes:3d} x {members}", list(inside(place, nodes, members))
    yield f"{NODES:3d} x {full}", list(inside(place, NODES, full))


def inside(place: Cluster, nodes: int, members: int) -> Iterator[np.ndarray]:
    """Members inside a group of each level, of so many nodes next to one another."""
    devices = 1
    for level in place.levels:
        devices *= level.members
        reached = min(nodes, max(1, devices // place.node_devices))
        yield np.array([float(reached * min(members, devices))])


def line(found: Exchange, pattern: Pattern) -> str:
    """Algorithms from small messages to large ones, each with the size from which it counts."""
    chosen = found.take(np.zeros(len(SIZES), np.intp)).choice(SIZES, pattern)
    starts = [0, *(1 + np.flatnonzero(chosen[1:] != chosen[:-1]))]
    first, *later = [(str(chosen[place]), SIZES[place]) for place in starts]
    return " ".join([first[0], *(f"> {BYTES.write(size)} {name}" for name, size in later)])


def least(members: list[np.ndarray], net: Network, pattern: Pattern) -> bool:
    """Whether nothing that the network knows takes less than what is chosen."""
    found = exchange(members, net).take(np.zeros(len(SIZES), np.intp))
    ways = [(net, name) for name in ALGORITHMS[pattern] if name in net.known]
    ways += [
        (net.over(protocol, name), name)
        for protocol in net.protocols
        if carried(protocol.name, members, net)
        for name in ALGORITHMS[pattern]
        if name in net.known.intersection(FLAGGED)
    ]
    lines = [(each, ALGORITHMS[pattern][name](group(members, each))) for each, name in ways]
    every = [each.start + line.fixed + line.per_byte * SIZES for each, line in lines]
    return bool((found.seconds(SIZES, pattern) == np.min(every, axis=0)).all())


def carried(protocol: str, members: list[np.ndarray], net: Network) -> bool:
    """Whether every level that members meet over carries a protocol."""
    levels = zip([np.ones(1), *members[:-1]], members, net.wires, strict=True)
    return all(protocol in wire.carries for below, here, wire in levels if here > below)


def show(name: str) -> bool:
    """Print one cluster; whether every choice was the cheapest."""
    place = cluster(name, nodes=NODES)
    library = network(place, DEFAULT)
    cheapest = True
    for pattern in Pattern:
        print(f"{name}, {pattern}")
        for title, members in groups(place):
            nets = (library, replace(library, known=EVERY))
            print(f"  {title:8s}", " | ".join(line(exchange(members, n), pattern) for n in nets))
            cheapest &= all(least(members, net, pattern) for net in nets)
    return cheapest


def main() -> bool:
    """Print every cluster; whether every choice was the cheapest."""
    cheapest = [show(name) for name in sys.argv[1:] or CLUSTERS]
    print("every choice is the cheapest" if all(cheapest) else "a choice is not the cheapest")
    return all(cheapest)


if __name__ == "__main__":
    sys.exit(not main())
