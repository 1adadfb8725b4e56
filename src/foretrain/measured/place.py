"""The cluster of a measured run: the nearest one of the catalogue, with what the row states."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device
from foretrain.cluster.link import Level, Link
from foretrain.errors import InputError
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.defaults import NODE_DEVICES
from foretrain.measured.run import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What is known of hardware, handed in so that nothing here reads a file.

    Attributes:
        device: a device by name.
        cluster: a cluster by name and number of nodes.
    """

    device: Callable[[str], Device]
    cluster: Callable[[str, int], Cluster]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A cluster of the catalogue that resembles those of a kind of device.

    Attributes:
        cluster: its name.
        node_link: how sources write the link that its nodes have.
    """

    cluster: str
    node_link: str


TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {
        "V100 SXM": Template(cluster="dgx-1-v100", node_link="NVLink 2"),
        "A100 SXM": Template(cluster="dgx-a100", node_link="NVLink 3"),
        "H100 SXM": Template(cluster="dgx-h100", node_link="NVLink 4"),
    }
)

ADAPTERS = re.compile(r"([0-9]+)x([0-9]+) ?Gbps per node|([0-9]+) x([0-9]+) per node")
PORT = re.compile(r"([0-9]+) ?Gbps per node")
GIGABIT = 1e9 / 8


def cluster_of(place: Place, catalogue: Catalogue, assumptions: Assumptions) -> Cluster:
    """The cluster of exactly the run's devices.

    Raises:
        NotCovered: the device is not in the catalogue, or nodes are not filled.
    """
    device = _device(place, catalogue)
    template = _template(place)
    devices = stated(place.devices, "number of devices")
    nodes, node_devices = _nodes(devices, place.node_devices, assumptions)
    known = catalogue.cluster(template.cluster, nodes)
    node, fabric = known.levels
    if node_devices > 1 and template.node_link.lower() not in place.node_link.lower():
        assumptions.note(f"links in a node as in {template.cluster}")
    levels = (
        replace(node, members=node_devices),
        _fabric(replace(fabric, members=nodes), place.fabric, assumptions)
        if nodes > 1
        else replace(fabric, members=1),
    )
    return replace(known, device=device, levels=levels)


def _device(place: Place, catalogue: Catalogue) -> Device:
    try:
        return catalogue.device(stated(place.device or None, "device"))
    except InputError:
        raise NotCovered(f"device '{place.device}' is not in the catalogue") from None


def _template(place: Place) -> Template:
    for start, template in TEMPLATES.items():
        if place.device.startswith(start):
            return template
    raise NotCovered(f"no cluster of '{place.device}' is in the catalogue")


def _nodes(devices: int, node_devices: int | None, assumptions: Assumptions) -> tuple[int, int]:
    """Nodes, and devices in each."""
    members = min(devices, assumptions.fill(node_devices, NODE_DEVICES))
    if devices % members:
        raise NotCovered(f"{devices} devices do not fill nodes of {members}")
    return devices // members, members


def _fabric(fabric: Level, words: str, assumptions: Assumptions) -> Level:
    """The template's fabric at the rate per node that the row states."""
    rates = _rates(words, fabric.link)
    if rates is None:
        assumptions.note(f"fabric of the catalogue ({fabric.link.technology})")
        return fabric
    if fabric.link.technology not in words.lower():
        assumptions.note(f"fabric as efficient as {fabric.link.technology}")
    bandwidth, capacity = rates
    return replace(fabric, link=replace(fabric.link, bandwidth=bandwidth, capacity=capacity))


def _rates(words: str, link: Link) -> tuple[float, float] | None:
    """Bytes per second of one device alone and of a whole node; None if the text states none."""
    adapters = ADAPTERS.search(words)
    if adapters:
        first, second, rate, count = adapters.groups()
        number, each = (first, second) if first else (count, rate)
        alone = float(each) * GIGABIT
        return alone, float(number) * alone
    port = PORT.search(words)
    if port:
        capacity = float(port[1]) * GIGABIT
        return min(link.bandwidth, capacity), capacity
    return None
