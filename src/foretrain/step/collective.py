"""Collectives: seconds to move bytes among the members of a group that may span several levels.

A group is described by how many of its members share a group of each level (`plan/plan.py`).
All groups of an axis communicate at once, so a device has its fair share of what may leave its
node; members on one node each drive their own rail, so that together they use all of it. The
algorithms are in `collectives/`; for each size the cheapest one counts.

Transfers: one collective of all devices, as its library's own benchmark times it.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from itertools import accumulate
from operator import mul
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients, TransferErrors
from foretrain.plan.table import Rows, distinct
from foretrain.step.collectives import ALGORITHMS, exchanges
from foretrain.step.collectives.group import Algorithm, Group, group, own_algorithm
from foretrain.step.collectives.line import Line, Number
from foretrain.step.collectives.network import LIBRARY, Network, network
from foretrain.step.strategies.strategy import Pattern
from foretrain.workload.parts.feed_forward import ANYWHERE, RouterLimit

FLAGGED = ("ring", "single-ring", "tree")
"""Algorithms that have protocols for short messages."""

Inside = tuple[tuple[float, ...], ...]
"""Members that share a group of each level, of a few groups. [level][group]"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Menu:
    """The algorithms worth a thought for each group, those that start quickest first.

    Attributes:
        fixed: seconds of an empty message. [place, group]
        per_byte: seconds per byte. [place, group]
        algorithm: position in `names`. [place, group]
        names: of the algorithms.
    """

    fixed: Number
    per_byte: Number
    algorithm: Rows
    names: tuple[str, ...]

    def times(self, size: Number, row: Rows) -> Iterator[Number]:
        """Seconds by each place of the menu. [place][plan]"""
        for fixed, per_byte in zip(self.fixed, self.per_byte, strict=True):
            yield fixed.take(row) + per_byte.take(row) * size


class Menus(typing.Protocol):
    """The algorithms for a pattern, of each distinct group."""

    def __call__(self, pattern: Pattern, *, copies: int, limit: RouterLimit = ANYWHERE) -> Menu:
        """Those for values of so many receivers each, drawn from some groups of experts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exchange:
    """Every collective that the groups of some plans may do.

    Attributes:
        menu: the algorithms for a pattern and receivers of a value, of each distinct group.
        row: group of each plan. [plan]
    """

    menu: Menus
    row: Rows

    def seconds(
        self, size: Number, pattern: Pattern, *, copies: int = 1, limit: RouterLimit = ANYWHERE
    ) -> Number:
        """The cheapest algorithm's, for that many bytes; nothing for no bytes."""
        menu = self.menu(pattern, copies=copies, limit=limit)
        return reduce(np.minimum, menu.times(size, self.row)) * (size > 0)

    def choice(self, size: Number, pattern: Pattern) -> NDArray[np.str_]:
        """Name of the algorithm that takes those seconds. [plan]"""
        menu = self.menu(pattern, copies=1)
        place = np.argmin(np.stack(list(menu.times(size, self.row))), axis=0)
        names: NDArray[np.str_] = np.asarray(menu.names)[menu.algorithm[place, self.row]]
        return names

    def take(self, index: Rows) -> Exchange:
        """The same for some of the plans."""
        return replace(self, row=self.row[index])


def exchange(inside: Sequence[Number], net: Network) -> Exchange:
    """The collectives of groups by every algorithm that the network's library knows.

    Args:
        inside: members that share a group of each level, innermost first; the last is all.
        net: the levels.
    """
    few, row = _few(inside)
    return Exchange(menu=partial(menu_of, net, few), row=row)


def send(inside: Sequence[Number], net: Network) -> Line:
    """One message to the next member, as `collectives.neighbour` has it. [group]"""
    few, row = _few(inside)
    return _sends(net, few).take(row)


def _few(inside: Sequence[Number]) -> tuple[Inside, Rows]:
    """The distinct groups, and which of them each group is."""
    rows, row = distinct(inside)
    return tuple(tuple(members[rows].tolist()) for members in inside), row


@lru_cache(maxsize=1024)
def _sends(net: Network, inside: Inside) -> Line:
    """Messages of distinct groups; the few that there are come back with every chunk of plans."""
    return exchanges.send(group([np.array(members) for members in inside], net))


@lru_cache(maxsize=1024)
def menu_of(
    net: Network,
    inside: Inside,
    pattern: Pattern,
    *,
    copies: int = 1,
    limit: RouterLimit = ANYWHERE,
) -> Menu:
    """The algorithms of a pattern, without those that another one of the group always beats."""
    members = [np.array(level) for level in inside]
    groups = group(members, net, copies=copies, limit=limit)
    lines = dict(_lines(net, members, pattern, groups=groups))
    names = tuple(lines)
    alone = members[-1] <= 1.0
    fixed = np.where(alone, 0.0, np.stack([line.fixed for line in lines.values()]))
    per_byte = np.where(alone, 0.0, np.stack([line.per_byte for line in lines.values()]))
    order = np.lexsort((per_byte, fixed), axis=0)
    return shortened(
        Menu(
            fixed=np.take_along_axis(fixed, order, axis=0),
            per_byte=np.take_along_axis(per_byte, order, axis=0),
            algorithm=order,
            names=names,
        )
    )


def _lines(
    net: Network, members: Sequence[Number], pattern: Pattern, *, groups: Group
) -> Iterator[tuple[str, Line]]:
    """What each algorithm takes, its start-up included, by its name and that of a protocol."""
    known = _known(net, pattern)
    for name, algorithm in known.items():
        yield name, algorithm(groups).after(net.start)
    for protocol in net.protocols:
        never = np.zeros_like(groups.members)
        for level, wire in zip(groups.stretches, net.wires, strict=True):
            if protocol.name not in wire.carries:
                never = np.where(level.crossed, np.inf, never)
        for name in (name for name in FLAGGED if name in known):
            over = net.over(protocol, name)
            line = known[name](group(members, over)).after(over.start)
            yield f"{name} {protocol.name}", replace(line, fixed=line.fixed + never)


def _known(net: Network, pattern: Pattern) -> dict[str, Algorithm]:
    """The algorithms that are chosen from, by name.

    The library's, or those of the table that were asked for in their place; and the user's own.
    """
    table = ALGORITHMS[pattern]
    asked = [name for kind, name in net.own if kind == pattern]
    named = [name for name in asked if name in table]
    chosen = named or [name for name in table if name in net.known]
    own = {name: own_algorithm(name) for name in asked if name not in table}
    return {name: table[name] for name in chosen} | own


def shortened(menu: Menu) -> Menu:
    """Only what starts later and then is quicker; the first again where a group has fewer.

    Sums and products round the same way up, so what is left out would never be less, to the bit.
    """
    quickest = np.minimum.accumulate(menu.per_byte, axis=0)
    better = np.isfinite(menu.fixed)
    better[1:] &= menu.per_byte[1:] < quickest[:-1]
    place = np.argsort(~better, axis=0, kind="stable")[: better.sum(axis=0).max()]
    place = np.where(np.take_along_axis(better, place, axis=0), place, 0)
    return replace(
        menu,
        fixed=np.take_along_axis(menu.fixed, place, axis=0),
        per_byte=np.take_along_axis(menu.per_byte, place, axis=0),
        algorithm=np.take_along_axis(menu.algorithm, place, axis=0),
    )


PATTERNS: Mapping[str, Pattern | None] = MappingProxyType(
    {
        "all_reduce": Pattern.ALL_REDUCE,
        "all_gather": Pattern.ALL_GATHER,
        "reduce_scatter": Pattern.ALL_GATHER,
        "alltoall": Pattern.ALL_TO_ALL,
        "broadcast": Pattern.BROADCAST,
        "sendrecv": None,
    }
)
"""Patterns of the calls of `nccl-tests`, whose bytes are counted as ours; None is a message."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transfers:
    """A collective with messages of several sizes. [size]

    Attributes:
        seconds: from a call to the next.
        waiting: share of them that starts and hops take, or the host's calls.
        names: of the algorithms and protocols that are chosen.
    """

    seconds: Number
    waiting: Number
    names: tuple[str, ...]

    def spread(self, errors: TransferErrors) -> Number:
        """Factor of an interval that holds 80 % of what machines measure, up and down."""
        factor: Number = np.exp(np.hypot(errors.moving, errors.waiting * np.sqrt(self.waiting)))
        return factor


MESSAGE = "send"
"""What stands for an algorithm where each member sends to the next."""


def transfers(
    cluster: Cluster,
    coefficients: Coefficients,
    pattern: Pattern | None,
    *,
    sizes: Sequence[float],
    devices: int | None = None,
    together: int = 1,
) -> Transfers:
    """A collective of some devices, by the library alone, called again and again.

    No call is over before the next one has been made on every device of a process.

    Args:
        cluster: where.
        coefficients: how well.
        pattern: what is exchanged; None for a message of each member to the next.
        sizes: bytes.
        devices: that fill one node after the other; None for all.
        together: devices that one process calls for, one after the other.
    """
    every = np.asarray(sizes, dtype=np.float64)
    inside, net = _inside(cluster, devices), _library(cluster, coefficients)
    row = np.zeros(len(every), dtype=np.intp)
    if pattern is None:
        line = send(inside, net).take(row)
        fixed, moved = line.fixed, line.fixed + line.per_byte * every
        names = (MESSAGE,) * len(every)
    else:
        found = exchange(inside, net).take(row)
        menu = found.menu(pattern, copies=1)
        place = np.argmin(np.stack(list(menu.times(every, row))), axis=0)
        fixed, moved = menu.fixed[place, row], found.seconds(every, pattern)
        names = tuple(str(name) for name in found.choice(every, pattern))
    # No bytes take no time.
    called = together * coefficients.links.launch * (every > 0)
    seconds = np.maximum(called, moved)
    waiting = np.where(called > moved, 1.0, fixed / np.where(moved > 0, moved, np.inf))
    return Transfers(seconds=seconds, waiting=np.minimum(waiting, 1.0), names=names)


def transfer(
    cluster: Cluster,
    coefficients: Coefficients,
    pattern: Pattern | None,
    *,
    sizes: Sequence[float],
    together: int = 1,
) -> Number:
    """The seconds of `transfers` of all devices. [size]"""
    return transfers(cluster, coefficients, pattern, sizes=sizes, together=together).seconds


def algorithms(
    cluster: Cluster, coefficients: Coefficients, pattern: Pattern, *, sizes: Sequence[float]
) -> tuple[str, ...]:
    """Names of the algorithms and protocols that take those seconds. [size]"""
    return transfers(cluster, coefficients, pattern, sizes=sizes).names


def _library(cluster: Cluster, coefficients: Coefficients) -> Network:
    return replace(network(cluster, coefficients), known=LIBRARY)


def _inside(cluster: Cluster, devices: int | None) -> list[Number]:
    """Members inside each level."""
    most = cluster.devices if devices is None else devices
    counts = accumulate((level.members for level in cluster.levels), mul)
    return [np.array([float(min(count, most))]) for count in counts]
