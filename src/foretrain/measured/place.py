"""The cluster of a measured run: the nearest one of the catalogue, with what the row states."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd, prod

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device
from foretrain.cluster.link import Level, Link, Technology
from foretrain.errors import InputError
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.defaults import NODE_DEVICES
from foretrain.measured.free_text import left_out
from foretrain.measured.run import Place
from foretrain.measured.templates import Template, template_of

HOSTLESS = (Technology.ICI, Technology.CUSTOM)
"""Links of machines whose rows count a whole slice as one node."""

ADAPTERS = re.compile(r"([0-9]+)x([0-9]+) ?Gbps per node|([0-9]+) x([0-9]+) per node")
LISTED = re.compile(r"([0-9]+) ?x ?(?:ConnectX|Cornelis|Mellanox|BF3)[^,:]* ([0-9]+) ?Gb", re.I)
PURPOSE = re.compile(r"(Storage|Management|Compute)[^,:]*: ([^,]*)", re.I)
PORT = re.compile(r"([0-9]+) ?Gbps per node")
GIGABIT = 1e9 / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What is known of hardware, handed in so that nothing here reads a file.

    Attributes:
        device: a device by name.
        cluster: a cluster by name and number of nodes.
    """

    device: Callable[[str], Device]
    cluster: Callable[[str, int], Cluster]


def cluster_of(place: Place, catalogue: Catalogue, assumptions: Assumptions) -> Cluster:
    """The cluster of exactly the run's devices.

    Raises:
        NotCovered: the device is not in the catalogue, or its nodes cannot be filled evenly.
    """
    device = _device(place, catalogue)
    template = template_of(place)
    node = _node(catalogue.cluster(template.cluster, 1))
    node_devices = _node_devices(place, node, assumptions)
    nodes, rest = divmod(stated(place.devices, "number of devices"), node_devices)
    if rest:
        raise NotCovered(f"{place.devices} devices do not fill nodes of {node_devices}")
    known = _of_nodes(catalogue, template, nodes)
    if node_devices > 1 and not template.names(place.node_link):
        _leave_out("intra_link", place.node_link, assumptions)
        assumptions.note(f"links in a node as in {template.cluster}")
    outer = known.levels[len(node) :]
    if nodes > 1:
        outer = (*outer[:-1], _fabric(outer[-1], place.fabric, assumptions))
    return replace(known, device=device, levels=(*_filled(node, node_devices), *outer))


def _device(place: Place, catalogue: Catalogue) -> Device:
    try:
        return catalogue.device(stated(place.device or None, "device"))
    except InputError:
        raise NotCovered(f"device '{place.device}' is not in the catalogue") from None


def _node(cluster: Cluster) -> tuple[Level, ...]:
    """The levels of one node, the innermost first."""
    names = [level.name for level in cluster.levels]
    return cluster.levels[: names.index("node") + 1]


def _node_devices(place: Place, node: tuple[Level, ...], assumptions: Assumptions) -> int:
    members = min(
        stated(place.devices, "number of devices"),
        assumptions.fill(place.node_devices, NODE_DEVICES),
    )
    host = prod(level.members for level in node)
    return min(members, host) if node[-1].link.technology in HOSTLESS else members


def _filled(node: tuple[Level, ...], devices: int) -> tuple[Level, ...]:
    """The levels of a node with so many devices: inner groups as full as divides them."""
    levels = []
    for level in node[:-1]:
        members = gcd(devices, level.members)
        levels.append(replace(level, members=members))
        devices //= members
    return (*levels, replace(node[-1], members=devices))


def _of_nodes(catalogue: Catalogue, template: Template, nodes: int) -> Cluster:
    try:
        return catalogue.cluster(template.cluster, nodes)
    except InputError as error:
        raise NotCovered(str(error)) from None


def _fabric(fabric: Level, words: str, assumptions: Assumptions) -> Level:
    """The template's fabric at the rate per node that the row states."""
    rates = _rates(words, fabric.link)
    if rates is None:
        if fabric.link.technology not in words.lower():
            _leave_out("inter_link", words, assumptions)
        assumptions.note(f"fabric of the catalogue ({fabric.link.technology})")
        return fabric
    if fabric.link.technology not in words.lower():
        assumptions.note(f"fabric as efficient as {fabric.link.technology}")
    bandwidth, capacity = rates
    return replace(fabric, link=replace(fabric.link, bandwidth=bandwidth, capacity=capacity))


def _leave_out(column: str, words: str, assumptions: Assumptions) -> None:
    if words:
        assumptions.note(left_out(column, words))


def _rates(words: str, link: Link) -> tuple[float, float] | None:
    """Bytes per second of one device alone and of a whole node; None if the text states none."""
    adapters = ADAPTERS.search(words)
    if adapters:
        first, second, rate, count = adapters.groups()
        return _together(*((first, second) if first else (count, rate)))
    listed = LISTED.search(_for_training(words))
    if listed:
        return _together(*listed.groups())
    port = PORT.search(words)
    if port:
        capacity = float(port[1]) * GIGABIT
        return min(link.bandwidth, capacity), capacity
    return None


def _for_training(words: str) -> str:
    """What a list of adapters says of those that are not for storage or management."""
    purposes = PURPOSE.findall(words)
    if not purposes:
        return words
    return " ".join(adapters for purpose, adapters in purposes if purpose.lower() == "compute")


def _together(number: str, each: str) -> tuple[float, float]:
    """One adapter of so many Gb/s, and all of a node."""
    alone = float(each) * GIGABIT
    return alone, float(number) * alone
