"""Exchanges: rounds of messages that travel between nodes, one collective after another.

A round is one message of each sender. Its lengths travel first, since messages differ: shorter
ones are filled up to the longest. A node that has no block left sends an empty message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretrain.run.nodes.channel import Channel

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Round:
    """Messages of one round.

    Attributes:
        lengths: bytes of each message, 0 where its sender had none.
        rows: the messages, one a row, filled up to the longest.
    """

    lengths: Tensor
    rows: Tensor

    def messages(self) -> Iterator[Tensor]:
        """Those that are not empty, in the order of their senders."""
        for length, row in zip(self.lengths.tolist(), self.rows, strict=True):
            if length:
                yield row[:length]


def gathered(channel: Channel, mine: Iterator[Tensor], *, rounds: int) -> Iterator[Round]:
    """All members' messages, round by round.

    Args:
        channel: of the senders, who are the receivers too.
        mine: this node's messages, at most one per round.
        rounds: how many, the same at every member.
    """
    import torch

    device = channel.leader.device
    for _ in range(rounds):
        message = next(mine, torch.empty(0, dtype=torch.uint8)).to(device)
        lengths = channel.gather(torch.tensor([message.numel()], device=device)).flatten()
        yield Round(lengths, channel.gather(_filled(message, int(lengths.max()))))


def alone(mine: Iterator[Tensor]) -> Iterator[Round]:
    """The messages of a single sender as rounds of one."""
    import torch

    for message in mine:
        yield Round(torch.tensor([message.numel()]), message.unsqueeze(0))


def sent(channel: Channel, rounds: Iterator[Round]) -> Iterator[Round]:
    """The same rounds, after every other member of the channel has them.

    Args:
        channel: this node and those to whom it sends.
        rounds: what to send.
    """
    device = channel.leader.device
    for each in rounds:
        lengths, rows = each.lengths.to(device), each.rows.to(device)
        channel.broadcast(lengths, root=channel.leader.rank)
        channel.broadcast(rows, root=channel.leader.rank)
        yield Round(lengths, rows)


def received(channel: Channel, *, root: int, rounds: int, senders: int) -> Iterator[Round]:
    """The rounds that another member sends.

    Args:
        channel: this node, the root and others.
        root: rank of the node that sends.
        rounds: how many it sends.
        senders: messages in each of them.
    """
    import torch

    device = channel.leader.device
    for _ in range(rounds):
        lengths = torch.empty(senders, dtype=torch.int64, device=device)
        channel.broadcast(lengths, root=root)
        rows = torch.empty((senders, int(lengths.max())), dtype=torch.uint8, device=device)
        channel.broadcast(rows, root=root)
        yield Round(lengths, rows)


def _filled(message: Tensor, length: int) -> Tensor:
    if message.numel() == length:
        return message
    filled = message.new_zeros(length)
    filled[: message.numel()] = message
    return filled
