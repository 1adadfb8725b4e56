"""Devices of several kinds: in a cluster that trains together, and in a fleet that jobs share.

Mixed clusters: two clusters, each of one kind of device, and what connects them.

The fleet: the devices that jobs share, in nodes and racks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import ceil, fsum, inf
from operator import mul
from typing import Final

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Level, Link
from foretrain.errors import InputError

BETWEEN = "between"
"""Name of the level that connects the two clusters where a link of its own does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """Two clusters that train together; each is of one kind.

    Attributes:
        name: the user's.
        first: one of them.
        second: the other.
        link: what connects them; None where one fabric, as slow as the slower of their outermost
            levels, connects all nodes. Its capacity is that of everything that leaves one cluster.
    """

    name: str
    first: Cluster
    second: Cluster
    link: Link | None = None

    def __post_init__(self) -> None:
        for cluster in self.kinds:
            if self.link is None and (
                len(cluster.levels) == 1 or cluster.levels[-1].name == "node"
            ):
                raise InputError(
                    f"Mixed.link: '{cluster.name}' has no level outside its node; say what "
                    "connects its devices with those of the other kind."
                )

    @property
    def kinds(self) -> tuple[Cluster, Cluster]:
        """Both clusters."""
        return self.first, self.second

    @property
    def devices(self) -> int:
        """Devices of both."""
        return self.first.devices + self.second.devices

    @property
    def swapped(self) -> Mixed:
        """The same with the second cluster first."""
        return replace(self, first=self.second, second=self.first)


def dollars(mixed: Mixed) -> float | None:
    """Dollars per second of both clusters; None unless both prices are known."""
    first, second = mixed.kinds
    if first.price is None or second.price is None:
        return None
    return first.price * first.devices + second.price * second.devices


def watts(mixed: Mixed) -> float | None:
    """Watts of the buildings for all nodes at full load; None unless both are known."""
    first, second = mixed.kinds
    if first.draw is None or second.draw is None:
        return None
    return first.draw + second.draw


def alike(mixed: Mixed, place: int) -> Cluster:
    """A cluster of all devices, as if those of the other kind were like the own ones.

    Args:
        mixed: both clusters.
        place: of the own one among them, 0 or 1.
    """
    return _widened(mixed, mixed.kinds[place])


def slower(mixed: Mixed, place: int) -> Cluster:
    """The cluster `alike`, each level as slow as what as many devices of the other kind have.

    What spans both kinds waits for the slower one on every level that it crosses.

    Args:
        mixed: both clusters.
        place: of the own one among them, 0 or 1.
    """
    own, other = mixed.kinds[place], mixed.kinds[1 - place]
    # Links as slow as those over which as many devices of the other kind meet.
    theirs = [1, *accumulate((level.members for level in other.levels), mul)]
    levels, below = [], 1
    for level in own.levels:
        span = below * level.members
        met = next((i for i, size in enumerate(theirs[1:]) if size >= span), len(theirs) - 2)
        link = _slower(level.link, other.levels[met].link, ratio=below / theirs[met])
        levels.append(replace(level, link=link))
        below = span
    return _widened(mixed, replace(own, levels=tuple(levels)))


def _widened(mixed: Mixed, own: Cluster) -> Cluster:
    """A cluster with as many devices as both, or with a few more where they fill no whole group."""
    *inner, outermost = own.levels
    if mixed.link is None:
        groups = ceil(mixed.devices * outermost.members / own.devices)
        return replace(own, levels=(*inner, replace(outermost, members=groups)))
    groups = ceil(mixed.devices / own.devices)
    return replace(own, levels=(*own.levels, Level(name=BETWEEN, members=groups, link=mixed.link)))


def _slower(one: Link, other: Link, *, ratio: float) -> Link:
    """The worse of two links in every respect; the kind of the one with less bandwidth.

    `ratio`: devices that share the capacity of the one over those that share the other's.
    """
    slow = one if one.bandwidth <= other.bandwidth else other
    theirs = None if other.capacity is None else ratio * other.capacity
    known = [capacity for capacity in (one.capacity, theirs) if capacity is not None]
    return replace(
        slow,
        latency=max(one.latency, other.latency),
        capacity=min(known, default=None),
        duplex=one.duplex and other.duplex,
        in_network=one.in_network and other.in_network,
        ordered=one.ordered and other.ordered,
        contention=max(filter(None, (one.contention, other.contention)), default=None),
    )


MOST_NODES: Final = 100_000
MOST_DEVICES: Final = 100_000
"""Of one node. A simulation keeps account of each node, and looks for room node by node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Equal nodes.

    Attributes:
        count: how many, at least 1.
        devices: of each, at least 1.
        kind: of the devices.
        rack: nodes of a rack; 0 where racks do not matter.
        price: dollars per device and second; 0 if unknown.
    """

    count: int
    devices: int
    kind: str = ""
    rack: int = 0
    price: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_NODES:
            raise InputError(f"Nodes.count must be from 1 to {MOST_NODES:,}, got {self.count:,}.")
        if not 1 <= self.devices <= MOST_DEVICES:
            raise InputError(
                f"Nodes.devices must be from 1 to {MOST_DEVICES:,}, got {self.devices:,}."
            )
        if not (self.rack >= 0 and self.price >= 0):
            raise InputError(f"Nodes.rack and price must be at least 0, got {self}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFailures:
    """How nodes fail.

    Attributes:
        between: mean seconds from the repair of a node to its next failure; exponential.
        repair: seconds until a node is there again.
        checkpoint: seconds of work after which a job saves its state, counted from its start.
    """

    between: float
    repair: float
    checkpoint: float

    def __post_init__(self) -> None:
        if not (self.between > 0 and self.repair >= 0 and self.checkpoint > 0):
            raise InputError(
                "NodeFailures.between and checkpoint must be above 0 s and repair at least 0 s,"
                f" got {self}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """Nodes that are known not to be there for a while: maintenance, a failed switch, spot nodes.

    Attributes:
        nodes: first and last of each range, counted through all kinds from 0.
        start: seconds since the trace began from which jobs on them are ended.
        end: when they are there again; infinite for never. Nodes that are bought later are out from
            0 on until then.
        notice: seconds before the start from which nobody starts on them.
        lets_end: whether jobs on them run on until they end: nodes that are drained.
        checkpoint: seconds of work after which a job has saved its state; 0 where it can save it at
            the notice, infinite where it begins anew.
    """

    nodes: tuple[tuple[int, int], ...]
    start: float
    end: float = inf
    notice: float = 0.0
    lets_end: bool = False
    checkpoint: float = inf

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InputError(
                f"Outage.start must be at least 0 s and before its end, got {self.start} and"
                f" {self.end}."
            )
        if not (self.notice >= 0 and self.checkpoint >= 0):
            raise InputError(
                f"Outage.notice and checkpoint must be at least 0 s, got {self.notice} and"
                f" {self.checkpoint}."
            )
        if not self.nodes or any(not 0 <= first <= last for first, last in self.nodes):
            raise InputError(f"Outage.nodes must be ranges of nodes, got {self.nodes}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscaling:
    """Nodes that come when jobs wait for them, and leave when nobody uses them.

    Attributes:
        least: nodes of each kind that are always there; the fleet has the most of them.
        scan: seconds from when jobs wait until nodes are asked for.
        boot: mean seconds from then until they are there.
        varies: standard deviation of these seconds over their mean; lognormal, each node by itself.
        give_up: seconds after which a node that has not come is given up, and may be asked again.
        idle: seconds that a node is not used before it leaves.
        after_add: seconds after a node has come, or was given up, during which none leaves; none
            does while others are on their way.

    Source: cluster-autoscaler's defaults, but for `boot` and `varies`, which are the provider's.
    """

    least: int = 0
    scan: float = 10.0
    boot: float = 300.0
    varies: float = 0.0
    give_up: float = 900.0
    idle: float = 600.0
    after_add: float = 600.0

    def __post_init__(self) -> None:
        times = (self.scan, self.boot, self.varies, self.idle, self.after_add)
        if not (self.least >= 0 and all(0 <= each < inf for each in times)):
            raise InputError(
                "Autoscaling.least, scan, boot, varies, idle and after_add must be finite and at"
                f" least 0, got {self.least} and {times}."
            )
        if not self.give_up > self.boot:
            raise InputError(
                f"Autoscaling.give_up must be above boot ({self.boot} s), or no node would ever"
                f" come; got {self.give_up} s."
            )


REST: Final = ""
"""The part of a fleet that all groups without a quota share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What jobs share.

    Attributes:
        nodes: of each kind.
        quota: devices that the jobs of a group may hold at once; groups that are not named are
            bounded by the fleet alone.
    """

    nodes: tuple[Nodes, ...]
    quota: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.nodes:
            raise InputError("Fleet.nodes is empty; give at least one group of nodes.")
        kinds = [each.kind for each in self.nodes]
        if len(set(kinds)) < len(kinds):
            raise InputError(f"Fleet.nodes names a kind of device twice: {', '.join(kinds)}.")
        for group, devices in self.quota.items():
            if not devices >= 1:
                raise InputError(f"Fleet.quota of {group} must be at least 1, got {devices}.")

    @property
    def devices(self) -> int:
        """All devices."""
        return sum(each.count * each.devices for each in self.nodes)

    @property
    def price(self) -> float:
        """Dollars per second for all devices."""
        return fsum(each.count * each.devices * each.price for each in self.nodes)

    @property
    def parts(self) -> Mapping[str, Fleet]:
        """Nodes of each group with a quota, and of the rest if any are left.

        Raises:
            InputError: where quotas are not whole nodes of one kind, or more than there are.
        """
        if not self.quota:
            return {REST: self}
        if len(self.nodes) > 1:
            raise InputError(
                "quotas need a fleet of one kind of device; use a fleet for each kind."
            )
        nodes = self.nodes[0]
        uneven = [group for group, devices in self.quota.items() if devices % nodes.devices]
        if uneven:
            raise InputError(
                f"Fleet.quota of {', '.join(uneven)} must be whole nodes, multiples of"
                f" {nodes.devices}."
            )
        rest = self.devices - sum(self.quota.values())
        if rest < 0:
            raise InputError(f"Fleet.quota promises {-rest} devices more than there are.")
        return {
            group: Fleet(nodes=(replace(nodes, count=devices // nodes.devices),))
            for group, devices in {**self.quota, REST: rest}.items()
            if devices
        }

    def of(self, kinds: tuple[str, ...]) -> int:
        """Devices of some kinds; all where none is named."""
        return sum(self._by_kind(kinds))

    def most(self, kinds: tuple[str, ...]) -> int:
        """The most devices of one of some kinds, of any where none is named."""
        return max(self._by_kind(kinds), default=0)

    def _by_kind(self, kinds: tuple[str, ...]) -> Iterator[int]:
        mine = (each for each in self.nodes if not kinds or each.kind in kinds)
        return (each.count * each.devices for each in mine)


def fleet(devices: int, *, per_node: int = 0) -> Fleet:
    """Devices of one kind.

    Args:
        devices: how many, at least 1.
        per_node: of each node; 0 for nodes that do not matter, one node of all devices.

    Raises:
        InputError: where the nodes cannot be filled.
    """
    each = per_node or devices
    if not devices >= 1 or devices % each:
        raise InputError(f"{devices} devices do not fill nodes of {each}.")
    return Fleet(nodes=(Nodes(count=devices // each, devices=each),))
