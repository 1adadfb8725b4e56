"""Places: on which devices of which nodes the members of a deal lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import ceil, factorial, inf

from foretrain.ensemble.terms import Deal
from foretrain.measured.members import Ensemble

Places = dict[int, tuple[int, ...]]
"""Devices of each member; device d lies on node d // devices per node."""

PERMUTATIONS = 1024
"""Orders that are tried for members that fill no nodes. Source: guan2020, GPU placement."""


def moved(before: Places, deal: Deal, ensemble: Ensemble) -> Places:
    """Places for a deal; who has as many devices as before stays where it is.

    Args:
        before: places of the deal before it, empty at the start.
        deal: devices of each member.
        ensemble: whose devices they are.
    """
    still = {place: there for place, there in before.items() if deal.get(place) == len(there)}
    taken = {device for there in still.values() for device in there}
    free = [device for device in range(ensemble.devices) if device not in taken]
    new = {place: count for place, count in deal.items() if place not in still}
    return still | placement(new, free, devices_per_node=ensemble.devices_per_node)


def placement(deal: Deal, free: Sequence[int], *, devices_per_node: int) -> Places:
    """Devices for the members of a deal.

    First those whose devices fill nodes, then pairs that fill nodes together, as long as there are
    free ones; the others lie one after another in the order that spans the fewest nodes.

    Args:
        deal: devices of each member, no more than are free.
        free: devices that may be taken, ascending.
        devices_per_node: of each node.

    Source: guan2020, GPU placement.
    """
    whole, parts = _nodes(free, devices_per_node)
    found, rest = Places(), dict(deal)
    for group in _filling(deal, devices_per_node):
        need = sum(deal[place] for place in group) // devices_per_node
        if need <= len(whole) and all(place in rest for place in group):
            taken = [device for node in whole[:need] for device in node]
            whole = whole[need:]
            found |= _in_a_row(group, deal, taken)
            for place in group:
                del rest[place]
    left = sorted(parts + [device for node in whole for device in node])
    return found | _least_spread(rest, left, devices_per_node)


def spread(places: Places, devices_per_node: int) -> float:
    """Sum over members of the nodes on which one lies, over its devices.

    Source: guan2020, GPU placement.
    """
    return sum(
        len({device // devices_per_node for device in there}) / len(there)
        for there in places.values()
    )


def orders(items: Sequence[int], most: int) -> Iterator[list[int]]:
    """Orders of items, all of them or else `most` that lie evenly in the dictionary of all."""
    total = factorial(len(items))
    tried = min(total, most)
    for each in range(tried):
        yield _order(items, each * total // tried)


def _nodes(free: Sequence[int], width: int) -> tuple[list[list[int]], list[int]]:
    """Nodes that are free as a whole, and the other free devices."""
    nodes: dict[int, list[int]] = {}
    for device in free:
        nodes.setdefault(device // width, []).append(device)
    whole = [node for node in nodes.values() if len(node) == width]
    return whole, [device for node in nodes.values() if len(node) < width for device in node]


def _filling(deal: Deal, width: int) -> Iterator[tuple[int, ...]]:
    """Members, then pairs, whose devices fill nodes."""
    yield from ((place,) for place in deal if deal[place] % width == 0)
    yield from (
        pair for pair in combinations(deal, 2) if (deal[pair[0]] + deal[pair[1]]) % width == 0
    )


def _in_a_row(order: Iterable[int], deal: Deal, devices: Sequence[int]) -> Places:
    found, start = Places(), 0
    for place in order:
        found[place] = tuple(devices[start : start + deal[place]])
        start += deal[place]
    return found


def _least_spread(deal: Deal, devices: Sequence[int], width: int) -> Places:
    ideal = sum(ceil(count / width) / count for count in deal.values())
    best, least = Places(), inf
    for order in orders(list(deal), PERMUTATIONS):
        places = _in_a_row(order, deal, devices)
        if (now := spread(places, width)) < least:
            best, least = places, now
        if least <= ideal:
            break
    return best


def _order(items: Sequence[int], rank: int) -> list[int]:
    """The order of a rank in the dictionary of all orders, from 0."""
    rest, order = list(items), list[int]()
    for size in range(len(items), 0, -1):
        pick, rank = divmod(rank, factorial(size - 1))
        order.append(rest.pop(pick))
    return order
