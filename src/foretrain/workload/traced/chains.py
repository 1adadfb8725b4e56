"""Chains of a network: which of its modules are layers that follow one another.

What a `Sequential` or a `ModuleList` holds are layers where each reads what the one before it made;
experts and branches, which all read the same, are not. A chain inside a layer counts only where it
is longer than the chain that the layer belongs to: stages hold blocks, and blocks hold few parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from foretrain.workload.traced.trace import ModelTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleRows:
    """The rows of a module.

    Attributes:
        first: position of the first one.
        last: position of the last one.
    """

    first: int
    last: int


def layers_of(trace: ModelTrace) -> frozenset[str]:
    """The modules that are layers, by their paths; empty for a network without a chain."""
    # Where each module ran; those that did not are left out.
    spans: dict[str, ModuleRows] = {}
    for position, row in enumerate(trace.rows):
        for path in ("", *_upwards(row.module)):
            first = spans[path].first if path in spans else position
            spans[path] = ModuleRows(first=first, last=position)
    for plain in (False, True):
        chains = {
            path: found
            for path in trace.parts
            if (found := _chain(trace, path, spans, plain=plain))
        }
        if chains:
            tops = [path for path in chains if not _inside(path, chains)]
            return frozenset(member for path in tops for member in _members(path, chains, trace))
    return frozenset()


def member_of(module: str, members: frozenset[str]) -> str:
    """The layer that a module belongs to; empty for none."""
    return next((path for path in _upwards(module) if path in members), "")


def _upwards(module: str) -> Iterator[str]:
    """A path, and those of all modules around it, outermost first."""
    parts = module.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _chain(
    trace: ModelTrace, path: str, spans: Mapping[str, ModuleRows], *, plain: bool
) -> tuple[str, ...]:
    """The members of a chain that ran, one after the other; empty where it is no chain.

    Args:
        trace: of the network.
        path: of the module.
        spans: where modules ran.
        plain: whether a chain of nothing but leaves (a convolution, a ReLU) counts.
    """
    part = trace.parts[path]
    below = [f"{path}.{name}" if path else name for name in part.children]
    ran = sorted((each for each in below if each in spans), key=lambda each: spans[each].first)
    deep = any(trace.parts[each].children for each in ran if each in trace.parts)
    if not part.chain or len(ran) < 2 or not (deep or plain):
        return ()
    pairs = pairwise(ran)
    linked = all(_follows(trace, spans[one], spans[other]) for one, other in pairs)
    return tuple(ran) if linked else ()


def _follows(trace: ModelTrace, one: ModuleRows, other: ModuleRows) -> bool:
    """Whether what runs in one span reads, perhaps by way of others, what another one made."""
    if other.first <= one.last:
        return False
    made: set[int] = set()
    for position in range(one.first, other.last + 1):
        row = trace.rows[position]
        touched = not made.isdisjoint(value.storage for value in row.reads)
        if touched and position >= other.first:
            return True
        if touched or position <= one.last:
            made.update(value.storage for value in row.writes)
    return False


def _inside(path: str, chains: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a module is, or stands inside, a member of a chain."""
    return any(
        member == path or path.startswith(f"{member}.")
        for members in chains.values()
        for member in members
    )


def _members(path: str, chains: Mapping[str, tuple[str, ...]], trace: ModelTrace) -> Iterator[str]:
    """The layers of a chain, those of longer chains inside its members in their place."""
    members = chains[path]
    nested = {member: _next(member, chains) for member in members}
    longest = max((len(chains[each]) for found in nested.values() for each in found), default=0)
    for member in members:
        is_chain = member in chains
        if nested[member] and (is_chain or longest > len(members)):
            for each in nested[member]:
                yield from _members(each, chains, trace)
        else:
            yield member


def _next(member: str, chains: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The outermost chains at or inside a member."""
    within = [each for each in chains if each == member or each.startswith(f"{member}.")]
    inner = {each: chains[each] for each in within}
    return [
        each for each in within if not _inside(each, {k: v for k, v in inner.items() if k != each})
    ]
