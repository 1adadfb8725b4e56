"""Nodes: how a number of them fills the levels of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from foretrain.errors import InputError

Members = tuple[int, ...]


def spread(nodes: int, most: Sequence[int]) -> Members:
    """Members of each level above the node: as few groups as hold the nodes, all of one size.

    Args:
        nodes: of the whole cluster.
        most: groups of the level below that a group of each level can connect, innermost first;
            the outermost level, which is not among them, connects any number.

    Returns:
        One number per level, the outermost included.

    Raises:
        InputError: the nodes cannot be spread evenly; the message names numbers that can.
    """
    members = _spread(nodes, most)
    if members is None:
        groups = " of ".join(f"at most {size}" for size in reversed(most))
        raise InputError(
            f"{nodes} nodes do not spread evenly over groups of {groups}. "
            f"Take {_next(nodes, most, step=-1)} or {_next(nodes, most, step=1)}."
        )
    return members


def _spread(nodes: int, most: Sequence[int]) -> Members | None:
    """The members, or None where some level cannot be filled evenly and by more than half."""
    members: list[int] = []
    for size in most:
        fewest = -(-nodes // size)
        even = [groups for groups in range(fewest, 2 * fewest) if nodes % groups == 0]
        if not even:
            return None
        members.append(nodes // even[0])
        nodes = even[0]
    return (*members, nodes)


def _next(nodes: int, most: Sequence[int], *, step: int) -> int:
    """The nearest number that spreads evenly; there is one, as multiples of all sizes do."""
    assert prod(most) > 0
    while _spread(nodes, most) is None:
        nodes += step
    return nodes
