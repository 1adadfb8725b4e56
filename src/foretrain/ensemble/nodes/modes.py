"""Modes: who decodes which block, and how the others get it.

A mode is one line in `MODES`: who talks to whom, and how messages flow. With n nodes of which p
decode, block k is decoded by node k mod p.

    mode               decode   groups                        flow
    duplicate          all, all none                          none
    all-shared         n        all nodes                     all-gather
    single-broadcast   p        {0..p-1}, {p-1..n-1}          all-gather, then broadcast
    multi-broadcast    p        p times all nodes             p broadcasts at once

Source: pittman2018, section 3.

Exchanges: rounds of messages that travel between nodes, one collective after another.

A round is one message of each sender, one a row; a sender without a block brings an empty one.
Rows first travel as far as the longest of the last round went, as blocks are mostly alike. Every
message begins with its length, so all nodes then know the same: what did not fit follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretrain.ensemble.nodes.decode import ahead
from foretrain.ensemble.nodes.groups import ALIGNMENT, length_of
from foretrain.ensemble.nodes.leader import Channel

if TYPE_CHECKING:
    from torch import Tensor


Piece = Callable[[int, int], "Tensor"]
"""Bytes from the first number to the second of every row, after they have travelled."""


def gathered(channel: Channel, mine: Iterator[Tensor], *, rounds: int) -> Iterator[Tensor]:
    """All members' messages, round by round.

    Args:
        channel: of the senders, who are the receivers too.
        mine: this node's messages, at most one per round.
        rounds: how many, the same at every member.
    """
    import torch

    def gathering(message: Tensor) -> Piece:
        return lambda begin, end: channel.gather(_cut(message, channel, begin=begin, end=end))

    empty = torch.zeros(ALIGNMENT, dtype=torch.uint8)
    return _travelled(gathering(next(mine, empty)) for _ in range(rounds))


def sent(channel: Channel, rounds: Iterator[Tensor]) -> Iterator[Tensor]:
    """The same rounds, after every other member of the channel has them.

    Args:
        channel: this node and those to whom it sends.
        rounds: what to send.
    """

    def sending(rows: Tensor) -> Piece:
        def piece(begin: int, end: int) -> Tensor:
            found = _cut(rows, channel, begin=begin, end=end)
            channel.broadcast(found, root=channel.leader.rank)
            return found

        return piece

    return _travelled(map(sending, rounds))


def received(channel: Channel, *, root: int, rounds: int, senders: int) -> Iterator[Tensor]:
    """The rounds that another member sends.

    Args:
        channel: this node, the root and others.
        root: rank of the node that sends.
        rounds: how many it sends.
        senders: messages in each of them.
    """
    import torch

    def piece(begin: int, end: int) -> Tensor:
        shape = (senders, end - begin)
        found = torch.empty(shape, dtype=torch.uint8, device=channel.leader.device)
        channel.broadcast(found, root=root)
        return found

    return _travelled(piece for _ in range(rounds))


def _travelled(pieces: Iterable[Piece]) -> Iterator[Tensor]:
    """Rounds as wide as their longest message; as much as of the one before travels at first."""
    import torch

    room = ALIGNMENT
    for piece in pieces:
        rows = piece(0, room)
        longest = max(ALIGNMENT, *map(length_of, rows))
        if longest > room:
            rows = torch.cat([rows, piece(room, longest)], dim=1)
        room = longest
        yield rows[:, :longest]


def messages_of(rows: Tensor) -> Iterator[Tensor]:
    """The messages of a round that are not empty, in the order of their senders."""
    for row in rows:
        if length := length_of(row):
            yield row[:length]


def _cut(bytes_: Tensor, channel: Channel, *, begin: int, end: int) -> Tensor:
    """These bytes of each row, filled up where it has fewer."""
    from torch.nn.functional import pad

    found = bytes_[..., begin:end].to(channel.leader.device)
    lacking = end - begin - found.shape[-1]
    return (pad(found, (0, lacking)) if lacking else found).contiguous()  # pad always copies


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSite:
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


Flow = Callable[[NodeSite], Iterator["Tensor"]]
Groups = Callable[[int, int], list[list[int]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeMode:
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


def _duplicate(site: NodeSite) -> Iterator[Tensor]:
    return site.mine


def _all_shared(site: NodeSite) -> Iterator[Tensor]:
    (world,) = site.channels
    assert world is not None
    return _one_by_one(gathered(world, site.mine, rounds=site.rounds()), site)


def _single_broadcast(site: NodeSite) -> Iterator[Tensor]:
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


def _multi_broadcast(site: NodeSite) -> Iterator[Tensor]:
    streams = []
    for root, channel in enumerate(site.channels):
        if channel is None:
            continue
        rounds = (
            sent(channel, (message.unsqueeze(0) for message in site.mine))
            if site.rank == root
            else received(channel, root=root, rounds=site.rounds(root), senders=1)
        )
        streams.append(ahead(rounds, site.queue))
    for block in range(site.blocks):
        yield from messages_of(next(streams[block % len(streams)]))


def _one_by_one(rounds: Iterator[Tensor], site: NodeSite) -> Iterator[Tensor]:
    for each in ahead(rounds, site.queue):
        yield from messages_of(each)


# Functions with names, as lambdas would not go with a pipeline to the process that feeds a stream.


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


MODES: Mapping[str, ExchangeMode] = {
    "duplicate": ExchangeMode(groups=_none, flow=_duplicate, preprocessors=_every, alone=True),
    "all-shared": ExchangeMode(groups=_all, flow=_all_shared, preprocessors=_every),
    "single-broadcast": ExchangeMode(
        groups=_two, flow=_single_broadcast, preprocessors=_half, chosen=True
    ),
    "multi-broadcast": ExchangeMode(
        groups=_many, flow=_multi_broadcast, preprocessors=_half, chosen=True
    ),
}
