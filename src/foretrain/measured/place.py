"""Which cluster of the catalogue stands in for the machine of a measured run.

The cluster of a measured run: the nearest one of the catalogue, with what the row states.

A measured collective in the words of the nouns: where, what, how many bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd, prod

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device, Level, Link, Technology
from foretrain.errors import InputError, nearest
from foretrain.measured.coverage import Assumptions, Default, NotCovered, stated
from foretrain.measured.defaults import NODE_DEVICES
from foretrain.measured.degrees import left_out
from foretrain.measured.run import MeasuredRun, Place
from foretrain.trainers.recipes import PublishedPlan
from foretrain.trainers.trainer import Trainer


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceTemplate:
    """A cluster of the catalogue that resembles those of a kind of device.

    Attributes:
        device: how the name of the device starts.
        cluster: the cluster's name.
        node_link: how sources write the link that its nodes have, in lower case.
        words: what the words for the links must hold, in lower case, for it to be taken.
        node_devices: what a row must state for it to be taken; None for any number.
    """

    device: str
    cluster: str
    node_link: str = "pcie"
    words: str = ""
    node_devices: int | None = None

    def suits(self, place: Place) -> bool:
        """Whether it stands in for a place."""
        links = f"{place.node_link} {place.fabric}".lower()
        return (
            place.device.lower().startswith(self.device.lower())
            and self.words in links
            and self.node_devices in (None, place.node_devices)
        )

    def names(self, link: str) -> bool:
        """Whether words of a source name the link of its nodes."""
        return self.node_link in link.lower().replace(".0", "").replace("gen", "")


TEMPLATES = (
    PlaceTemplate(device="K80", cluster="aws-p2-8xlarge"),
    PlaceTemplate(device="P100 SXM", cluster="dgx-1-p100", node_link="nvlink 1"),
    PlaceTemplate(
        device="V100 SXM", cluster="jean-zay-v100", node_link="nvlink 2", words="jean zay"
    ),
    PlaceTemplate(device="V100 SXM", cluster="dgx-2", node_link="nvlink 2", words="nvswitch"),
    PlaceTemplate(device="V100 SXM", cluster="dgx-2", node_link="nvlink 2", node_devices=16),
    PlaceTemplate(device="V100 SXM", cluster="dgx-1-v100", node_link="nvlink 2"),
    PlaceTemplate(device="V100S", cluster="pcie-8x-v100s"),
    PlaceTemplate(
        device="A100 SXM", cluster="jean-zay-a100", node_link="nvlink 3", words="jean zay"
    ),
    PlaceTemplate(
        device="A100 SXM", cluster="aws-p4de-24xlarge", node_link="nvlink 3", words="efa"
    ),
    PlaceTemplate(device="A100 SXM", cluster="dgx-a100", node_link="nvlink 3"),
    PlaceTemplate(device="A100 PCIe 40GB", cluster="pcie-8x-a100-40gb"),
    PlaceTemplate(device="A100 PCIe", cluster="pcie-8x-a100-bridged", words="nvlink"),
    PlaceTemplate(device="A100 PCIe", cluster="pcie-8x-a100"),
    PlaceTemplate(device="A30", cluster="pcie-8x-a30"),
    PlaceTemplate(device="A40", cluster="pcie-8x-a40"),
    PlaceTemplate(device="RTX A5000", cluster="pcie-2x-rtx-a5000", node_link="nvlink"),
    PlaceTemplate(device="A10", cluster="pcie-8x-a10"),
    PlaceTemplate(device="RTX A6000", cluster="pcie-8x-rtx-a6000"),
    PlaceTemplate(device="L40S", cluster="pcie-8x-l40s"),
    PlaceTemplate(device="L40", cluster="pcie-8x-l40"),
    PlaceTemplate(device="L4", cluster="pcie-8x-l4"),
    PlaceTemplate(device="RTX 3090", cluster="pcie-8x-rtx-3090"),
    PlaceTemplate(device="RTX 4090", cluster="pcie-8x-rtx-4090"),
    PlaceTemplate(device="2080 Ti", cluster="pcie-8x-2080-ti"),
    PlaceTemplate(device="1080 Ti", cluster="pcie-8x-1080-ti"),
    PlaceTemplate(device="GTX 1080 Ti", cluster="pcie-8x-1080-ti"),
    PlaceTemplate(device="Titan V", cluster="pcie-4x-titan-v"),
    PlaceTemplate(device="GTX Titan X", cluster="pcie-4x-titan-x"),
    PlaceTemplate(device="Maxwell Titan X", cluster="pcie-4x-titan-x"),
    PlaceTemplate(device="Pascal Titan X", cluster="pcie-4x-titan-x-pascal"),
    PlaceTemplate(device="H100 SXM", cluster="hgx-h100-4x", node_link="nvlink 4", node_devices=4),
    PlaceTemplate(device="H100 SXM", cluster="aws-p5-48xlarge", node_link="nvlink 4", words="efa"),
    PlaceTemplate(device="H100 SXM", cluster="dgx-h100", node_link="nvlink 4"),
    PlaceTemplate(device="H100 NVL", cluster="pcie-8x-h100-nvl", node_link="nvlink 4"),
    PlaceTemplate(device="H100 PCIe", cluster="pcie-8x-h100"),
    PlaceTemplate(
        device="H200 SXM", cluster="aws-p5en-48xlarge", node_link="nvlink 4", words="efa"
    ),
    PlaceTemplate(device="H200 SXM", cluster="hgx-h200", node_link="nvlink 4"),
    PlaceTemplate(device="A800", cluster="hgx-a800", node_link="nvlink 3"),
    PlaceTemplate(device="H800", cluster="hgx-h800", node_link="nvlink 4"),
    PlaceTemplate(device="H200 NVL", cluster="pcie-8x-h200-nvl", node_link="nvlink 4"),
    PlaceTemplate(device="H20", cluster="hgx-h20", node_link="nvlink 4"),
    PlaceTemplate(device="B200", cluster="hgx-b200", node_link="nvlink 5"),
    PlaceTemplate(device="B300", cluster="hgx-b300", node_link="nvlink 5"),
    PlaceTemplate(device="GB200", cluster="gb200-nvl72", node_link="nvlink 5"),
    PlaceTemplate(device="GB300", cluster="gb300-nvl72", node_link="nvlink 5"),
    PlaceTemplate(device="TPU v3", cluster="tpu-v3-pod", node_link="ici"),
    PlaceTemplate(device="TPU v4", cluster="tpu-v4-pod", node_link="ici"),
    PlaceTemplate(device="TPU v5e", cluster="tpu-v5e-pod", node_link="ici"),
    PlaceTemplate(device="TPU v5p", cluster="tpu-v5p-pod", node_link="ici"),
    PlaceTemplate(device="TPU v6e", cluster="tpu-v6e-pod", node_link="ici"),
    PlaceTemplate(device="TPU v7x", cluster="tpu-v7x-pod", node_link="ici"),
    PlaceTemplate(device="Ascend", cluster="ascend-910-node", node_link="hccs"),
    PlaceTemplate(device="Gaudi2", cluster="gaudi2-node", node_link="100gb/s ethernet"),
    PlaceTemplate(device="Gaudi", cluster="gaudi-node", node_link="100gbe"),
    PlaceTemplate(device="MI300X", cluster="mi300x-node", node_link="infinity fabric"),
    PlaceTemplate(device="MI325X", cluster="mi325x-node", node_link="infinity fabric"),
    PlaceTemplate(device="MI355X", cluster="mi355x-node", node_link="infinity fabric"),
    PlaceTemplate(device="Gaudi3", cluster="gaudi3-node", node_link="200gb/s ethernet"),
    PlaceTemplate(device="GH200", cluster="gh200-node", node_link="nvlink"),
    PlaceTemplate(device="MI250X", cluster="frontier", node_link="infinity fabric"),
    PlaceTemplate(device="Graphcore Bow", cluster="bow-pod", node_link="ipulink"),
    PlaceTemplate(device="Graphcore", cluster="ipu-pod", node_link="ipulink"),
    PlaceTemplate(device="AMD EPYC", cluster="processor-cores"),
)
"""The first that suits a place is taken."""


def template_of(place: Place) -> PlaceTemplate:
    """The cluster that stands in for a place.

    Raises:
        NotCovered: none resembles it.
    """
    for template in TEMPLATES:
        if template.suits(place):
            return template
    raise NotCovered(f"no cluster of '{place.device}' is in the catalogue")


ALONE = Level(
    name="node",
    members=1,
    link=Link(latency=0.0, bandwidth=1e9, technology=Technology.CUSTOM),
)
"""The level of a device that has no other to reach: nothing crosses its link."""

HOSTLESS = (Technology.ICI, Technology.CUSTOM)
"""Links of machines whose rows count a whole slice as one node."""

ADAPTERS = re.compile(r"([0-9]+)x([0-9]+) ?Gbps per node|([0-9]+) x([0-9]+) per node")
LISTED = re.compile(r"([0-9]+) ?x ?(?:ConnectX|Cornelis|Mellanox|BF3)[^,:]* ([0-9]+) ?Gb", re.I)
PURPOSE = re.compile(r"(Storage|Management|Compute)[^,:]*: ([^,]*)", re.I)
PORT = re.compile(r"([0-9]+) ?Gbps per node")
GIGABIT = 1e9 / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What is known of hardware and trainers, handed in so that nothing here reads a file.

    Attributes:
        device: a device by name.
        cluster: a cluster by name and number of nodes.
        trainers: every trainer.
        recipes: every published recipe.
    """

    device: Callable[[str], Device]
    cluster: Callable[[str, int], Cluster]
    trainers: Callable[[], tuple[Trainer, ...]]
    recipes: Callable[[], tuple[PublishedPlan, ...]] = tuple


def cluster_of(place: Place, catalogue: Catalogue, assumptions: Assumptions) -> Cluster:
    """The cluster of exactly the run's devices.

    Raises:
        NotCovered: the device is not in the catalogue, or its nodes cannot be filled evenly.
    """
    try:
        device = catalogue.device(stated(place.device or None, "device"))
    except InputError:
        raise NotCovered(f"device '{place.device}' is not in the catalogue") from None
    if place.devices == 1 and not any(each.suits(place) for each in TEMPLATES):
        return Cluster(name="one device", device=device, levels=(ALONE,))
    template = template_of(place)
    single = catalogue.cluster(template.cluster, 1)
    names = [level.name for level in single.levels]
    node = single.levels[: names.index("node") + 1]
    members = min(
        stated(place.devices, "number of devices"),
        assumptions.fill(place.node_devices, NODE_DEVICES),
    )
    host = prod(level.members for level in node)
    node_devices = min(members, host) if node[-1].link.technology in HOSTLESS else members
    nodes, rest = divmod(stated(place.devices, "number of devices"), node_devices)
    if rest:
        raise NotCovered(f"{place.devices} devices do not fill nodes of {node_devices}")
    try:
        known = catalogue.cluster(template.cluster, nodes)
    except InputError as error:
        raise NotCovered(str(error)) from None
    if node_devices > 1 and not template.names(place.node_link):
        _leave_out("intra_link", place.node_link, assumptions)
        assumptions.note(f"links in a node as in {template.cluster}")
    outer = known.levels[len(node) :]
    if nodes > 1:
        outer = (*outer[:-1], _fabric(outer[-1], place.fabric, assumptions))
    return replace(known, device=device, levels=(*_filled(node, node_devices), *outer))


def _filled(node: tuple[Level, ...], devices: int) -> tuple[Level, ...]:
    """The levels of a node with so many devices: inner groups as full as divides them."""
    levels = []
    for level in node[:-1]:
        members = gcd(devices, level.members)
        levels.append(replace(level, members=members))
        devices //= members
    return (*levels, replace(node[-1], members=devices))


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
    # A list of adapters may say which of them are for storage or management.
    purposes = PURPOSE.findall(words)
    training = " ".join(adapters for purpose, adapters in purposes if purpose.lower() == "compute")
    listed = LISTED.search(training if purposes else words)
    if listed:
        return _together(*listed.groups())
    port = PORT.search(words)
    if port:
        capacity = float(port[1]) * GIGABIT
        return min(link.bandwidth, capacity), capacity
    return None


def _together(number: str, each: str) -> tuple[float, float]:
    """One adapter of so many Gb/s, and all of a node."""
    alone = float(each) * GIGABIT
    return alone, float(number) * alone


COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "alltoall",
    "broadcast",
    "sendrecv",
)
"""Calls of `nccl-tests` that are predicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeCase:
    """A collective among all devices of a cluster.

    Attributes:
        cluster: where.
        collective: name of the call.
        size: bytes of the buffer.
        together: devices that one process calls for.
        assumed: every default that stands for a blank.
    """

    cluster: Cluster
    collective: str
    size: float
    together: int
    assumed: tuple[str, ...]


def called_together(devices: int, nodes: int, assumptions: Assumptions) -> int:
    """Devices that one process calls a collective for, where nobody says so.

    Args:
        devices: of all nodes.
        nodes: over which they are spread.
        assumptions: where that is noted.

    Source: nccl-tests, README: `-g 8` on one node, `mpirun -np 64 -N 8 ... -g 1` on several (from
    memory).
    """
    if nodes > 1:
        return 1
    return assumptions.take(
        Default(
            value=devices,
            words="one process for all devices of the node",
            why="how the README of nccl-tests starts it on one node",
        )
    )


def exchange_case(run: MeasuredRun, catalogue: Catalogue) -> ExchangeCase:
    """A measured collective in the words of the nouns.

    Raises:
        NotCovered: foretrain has no such collective, or a blank must not be guessed.
    """
    message = run.message
    if message is None:
        raise NotCovered("no collective is stated")
    if message.collective not in COLLECTIVES:
        raise NotCovered(
            f"collective '{message.collective}' is not covered."
            f"{nearest(message.collective, COLLECTIVES)} Known: {', '.join(COLLECTIVES)}"
        )
    assumptions = Assumptions()
    cluster = cluster_of(run.place, catalogue, assumptions)
    return ExchangeCase(
        cluster=cluster,
        collective=message.collective,
        size=stated(message.size, "bytes of the message"),
        together=message.together or called_together(cluster.devices, cluster.nodes, assumptions),
        assumed=assumptions.words,
    )
