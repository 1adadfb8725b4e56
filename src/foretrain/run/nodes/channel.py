"""A channel: some nodes that exchange bytes among themselves, whatever other channels do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from foretrain.run.nodes.errors import NodeLost
from foretrain.run.nodes.leader import Leader

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import ProcessGroup, Store, Work

Answer = TypeVar("Answer")


class Channel:
    """Collectives among some nodes, over connections of their own.

    Only its members take part in making one, so channels may be made in any order and overlap
    as they like: none waits for another. Its calls block; they come from one thread at a time,
    in the same order at every member.
    """

    def __init__(self, leader: Leader, ranks: Sequence[int], *, store: Store) -> None:
        """Meet the other members.

        Args:
            leader: this node, one of the ranks.
            ranks: of the members, in the order that `gather` and `root` number them.
            store: where they meet; no other channel uses the same names in it.
        """
        self.ranks = tuple(ranks)
        self.leader = leader
        self._groups = self._sure(lambda: _process_groups(leader, self.ranks, store))

    def broadcast(self, tensor: Tensor, *, root: int) -> None:
        """Fill every member's tensor with the root's; `root` is a rank."""
        self._sure(lambda: _broadcast(self._groups[0], tensor, self.ranks.index(root)).wait())

    def gather(self, tensor: Tensor) -> Tensor:
        """The tensors of all members, one a row; they have the same shape."""
        together: Tensor = tensor.new_empty(len(self.ranks), *tensor.shape)
        if len(self._groups) == 2:
            together[self.ranks.index(self.leader.rank)] = tensor
            self._sure(lambda: self._swap(together))
        else:
            flat = together.view(-1), tensor.reshape(-1)
            self._sure(lambda: self._groups[0]._allgather_base(*flat).wait())
        return together

    def _swap(self, rows: Tensor) -> None:
        """Two members send each other their rows, each over connections of its own."""
        sends = [
            _broadcast(group, row, place)
            for place, (group, row) in enumerate(zip(self._groups, rows, strict=True))
        ]
        for each in sends:
            each.wait()

    def reduce(self, tensor: Tensor) -> None:
        """Replace every member's tensor by the sum over all members."""
        self._sure(lambda: self._groups[0].allreduce([tensor]).wait())

    def close(self) -> None:
        """Close the connections: members that still wait for this node learn that it left."""
        for group in self._groups:
            group.abort()

    def _sure(self, act: Callable[[], Answer]) -> Answer:
        try:
            return act()
        except RuntimeError as error:
            raise NodeLost(
                f"a node among ranks {list(self.ranks)} died, left, or was silent for "
                f"{self.leader.timeout:g} s, rank {self.leader.rank} found. Start the nodes "
                f"again. torch says: {str(error).splitlines()[0]}"
            ) from error


def _broadcast(group: ProcessGroup, tensor: Tensor, place: int) -> Work:
    """A broadcast from the member at that place, as it begins."""
    from torch.distributed import BroadcastOptions

    options = BroadcastOptions()
    options.rootRank = place
    return group.broadcast([tensor], options)


def _process_groups(leader: Leader, ranks: Sequence[int], store: Store) -> list[ProcessGroup]:
    """One group, or one for each direction.

    gloo's all-gather of two members uses one connection for both directions, and takes 1.5 to
    1.75 times as long as two broadcasts over connections of their own.
    """
    from torch.distributed import PrefixStore

    directions = ("there", "back") if len(ranks) == 2 and leader.device == "cpu" else ("there",)
    return [_process_group(leader, ranks, PrefixStore(each, store)) for each in directions]


def _process_group(leader: Leader, ranks: Sequence[int], store: Store) -> ProcessGroup:
    """A group of torch's without a global one around it: decision 037 says why."""
    from torch import distributed

    patience = timedelta(seconds=leader.timeout)
    place = (store, ranks.index(leader.rank), len(ranks))
    if leader.device == "cpu":
        return distributed.ProcessGroupGloo(*place, patience)
    options = distributed.ProcessGroupNCCL.Options()
    options._timeout = patience
    return distributed.ProcessGroupNCCL(*place, options)
