"""Mixed clusters: two clusters, each of one kind of device, and what connects them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil
from operator import mul

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
