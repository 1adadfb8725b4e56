"""Exchanges: rounds of messages that travel between nodes, one collective after another.

A round is one message of each sender, one a row; a sender without a block brings an empty one.
Rows first travel as far as the longest of the last round went, as blocks are mostly alike. Every
message begins with its length, so all nodes then know the same: what did not fit follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from foretrain.ensemble.nodes.leader import Channel
from foretrain.ensemble.nodes.message import ALIGNMENT, length_of

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

    room = ALIGNMENT
    for _ in range(rounds):
        message = next(mine, torch.zeros(ALIGNMENT, dtype=torch.uint8))
        rows = _whole(_gathering(channel, message), room)
        room = rows.shape[1]
        yield rows


def sent(channel: Channel, rounds: Iterator[Tensor]) -> Iterator[Tensor]:
    """The same rounds, after every other member of the channel has them.

    Args:
        channel: this node and those to whom it sends.
        rounds: what to send.
    """
    room = ALIGNMENT
    for each in rounds:
        rows = _whole(_sending(channel, each), room)
        room = rows.shape[1]
        yield rows


def received(channel: Channel, *, root: int, rounds: int, senders: int) -> Iterator[Tensor]:
    """The rounds that another member sends.

    Args:
        channel: this node, the root and others.
        root: rank of the node that sends.
        rounds: how many it sends.
        senders: messages in each of them.
    """
    room = ALIGNMENT
    for _ in range(rounds):
        rows = _whole(_receiving(channel, root, senders), room)
        room = rows.shape[1]
        yield rows


def messages_of(rows: Tensor) -> Iterator[Tensor]:
    """The messages of a round that are not empty, in the order of their senders."""
    for row in rows:
        if length := length_of(row):
            yield row[:length]


def _whole(piece: Piece, room: int) -> Tensor:
    """Rows as long as the longest message; `room` bytes of them travel at first."""
    import torch

    rows = piece(0, room)
    longest = max(ALIGNMENT, *map(length_of, rows))
    if longest > room:
        return torch.cat([rows, piece(room, longest)], dim=1)
    return rows[:, :longest]


def _gathering(channel: Channel, message: Tensor) -> Piece:
    return lambda begin, end: channel.gather(_cut(message, channel, begin=begin, end=end))


def _sending(channel: Channel, rows: Tensor) -> Piece:
    def piece(begin: int, end: int) -> Tensor:
        found = _cut(rows, channel, begin=begin, end=end)
        channel.broadcast(found, root=channel.leader.rank)
        return found

    return piece


def _receiving(channel: Channel, root: int, senders: int) -> Piece:
    import torch

    def piece(begin: int, end: int) -> Tensor:
        shape = (senders, end - begin)
        found = torch.empty(shape, dtype=torch.uint8, device=channel.leader.device)
        channel.broadcast(found, root=root)
        return found

    return piece


def _cut(bytes_: Tensor, channel: Channel, *, begin: int, end: int) -> Tensor:
    """These bytes of each row, filled up where it has fewer."""
    from torch.nn.functional import pad

    found = bytes_[..., begin:end].to(channel.leader.device)
    lacking = end - begin - found.shape[-1]
    return (pad(found, (0, lacking)) if lacking else found).contiguous()  # pad always copies
