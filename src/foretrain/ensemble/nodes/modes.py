"""Modes: who decodes which block, and how the others get it.

A mode is one line in `MODES`: who talks to whom, and how messages flow. With n nodes of which p
decode, block k is decoded by node k mod p.

    mode               decode   groups                        flow
    duplicate          all, all none                          none
    all-shared         n        all nodes                     all-gather
    single-broadcast   p        {0..p-1}, {p-1..n-1}          all-gather, then broadcast
    multi-broadcast    p        p times all nodes             p broadcasts at once

Source: pittman2018, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretrain.ensemble.nodes.exchange import gathered, messages_of, received, sent
from foretrain.ensemble.nodes.leader import Channel
from foretrain.ensemble.nodes.stages import ahead

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a flow sees of its node.

    Attributes:
        rank: of the node.
        nodes: how many there are.
        preprocessors: how many of them decode.
        blocks: of the epoch.
        queue: items that may lie ready between two stages.
        channels: one per group of the mode, None where this node is no member.
        mine: messages of the blocks that this node decodes, in order.
    """

    rank: int
    nodes: int
    preprocessors: int
    blocks: int
    queue: int
    channels: Sequence[Channel | None]
    mine: Iterator[Tensor]

    def rounds(self, sender: int = 0) -> int:
        """Blocks of a sender: rounds, for the first of them."""
        return len(range(sender, self.blocks, self.preprocessors))


Flow = Callable[[Site], Iterator["Tensor"]]
Groups = Callable[[int, int], list[list[int]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One way to share the work.

    Attributes:
        groups: ranks that exchange data, for (nodes, preprocessors).
        flow: the messages of an epoch in order, at a site.
        preprocessors: how many decode where the user does not say, for the number of nodes.
        chosen: whether the user may say.
        alone: whether every node decodes everything, so that none needs another.
    """

    groups: Groups
    flow: Flow
    preprocessors: Callable[[int], int]
    chosen: bool = False
    alone: bool = False

    def own(self, rank: int, preprocessors: int, blocks: int) -> range:
        """Numbers of the blocks that a node decodes."""
        if self.alone:
            return range(blocks)
        return range(rank, blocks, preprocessors) if rank < preprocessors else range(0)


def _duplicate(site: Site) -> Iterator[Tensor]:
    return site.mine


def _all_shared(site: Site) -> Iterator[Tensor]:
    (world,) = site.channels
    assert world is not None
    return _one_by_one(gathered(world, site.mine, rounds=site.rounds()), site)


def _single_broadcast(site: Site) -> Iterator[Tensor]:
    senders, others = site.channels
    last, count = site.preprocessors - 1, site.rounds()
    if senders is None:
        assert others is not None
        come = received(others, root=last, rounds=count, senders=site.preprocessors)
        return _one_by_one(come, site)
    rounds = gathered(senders, site.mine, rounds=count)
    if others is not None:
        rounds = sent(others, ahead(rounds, site.queue))
    return _one_by_one(rounds, site)


def _multi_broadcast(site: Site) -> Iterator[Tensor]:
    lanes = [
        ahead(_lane(site, root, channel), site.queue)
        for root, channel in enumerate(site.channels)
        if channel is not None
    ]
    for block in range(site.blocks):
        yield from messages_of(next(lanes[block % len(lanes)]))


def _lane(site: Site, root: int, channel: Channel) -> Iterator[Tensor]:
    if site.rank == root:
        return sent(channel, (message.unsqueeze(0) for message in site.mine))
    return received(channel, root=root, rounds=site.rounds(root), senders=1)


def _one_by_one(rounds: Iterator[Tensor], site: Site) -> Iterator[Tensor]:
    for each in ahead(rounds, site.queue):
        yield from messages_of(each)


def _none(nodes: int, preprocessors: int) -> list[list[int]]:
    return []


def _all(nodes: int, preprocessors: int) -> list[list[int]]:
    return [list(range(nodes))]


def _two(nodes: int, preprocessors: int) -> list[list[int]]:
    return [list(range(preprocessors)), list(range(preprocessors - 1, nodes))]


def _many(nodes: int, preprocessors: int) -> list[list[int]]:
    return [list(range(nodes))] * preprocessors


def _every(nodes: int) -> int:
    return nodes


def _half(nodes: int) -> int:
    return -(-nodes // 2)


MODES: Mapping[str, Mode] = {
    "duplicate": Mode(groups=_none, flow=_duplicate, preprocessors=_every, alone=True),
    "all-shared": Mode(groups=_all, flow=_all_shared, preprocessors=_every),
    "single-broadcast": Mode(groups=_two, flow=_single_broadcast, preprocessors=_half, chosen=True),
    "multi-broadcast": Mode(groups=_many, flow=_multi_broadcast, preprocessors=_half, chosen=True),
}
