"""What can go wrong between nodes, told to every node that is still there.

Who this node is among the others, and where they meet.

A channel: some nodes that exchange bytes among themselves, whatever other channels do.

A meeting: all channels of one pipeline, and what its nodes agree on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from foretrain.errors import ForetrainError, InputError

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import ProcessGroup, Store, Work


class NodeLost(ForetrainError):
    """Another node died, left, or has not answered within the timeout."""


class NodeFailed(ForetrainError):
    """A node could not decode its block; every node is told why."""


PATIENCE = 300.0
"""Seconds that a node may be silent by default: longer than a reader is likely to be paused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The one process of a node that exchanges data with the other nodes.

    Attributes:
        rank: of this node, from 0.
        nodes: how many there are.
        address: host name or address of rank 0, where all meet.
        port: at that address; free unless `hosted`.
        timeout: seconds after which a silent node counts as lost. One that dies is noticed at
            once, as its connections close.
        device: where exchanged bytes live: "cpu" (gloo), or "cuda" with its number (NCCL).
        hosted: whether somebody else, such as torchrun, already serves the port.
        launch: a word that differs between restarts under one launcher.
    """

    rank: int
    nodes: int
    address: str = "127.0.0.1"
    port: int = 29400
    timeout: float = PATIENCE
    device: str = "cpu"
    hosted: bool = False
    launch: str = "0"

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.nodes:
            raise InputError(
                f"Leader.rank is {self.rank}: with {self.nodes} nodes it goes from 0 to "
                f"{self.nodes - 1}."
            )
        if not self.timeout > 0:
            raise InputError(f"Leader.timeout must be above 0 s, got {self.timeout}.")

    def meet(self, name: str, *, connections: int = 1) -> list[Store]:
        """Connections to a store in which the nodes find each other.

        Nodes that meet again under a name, such as after an error, find nothing of earlier times.

        Args:
            name: of what they meet for, the same at every node.
            connections: how many; while one waits, it serves nobody else.

        Raises:
            NodeLost: rank 0 does not answer within the timeout.
            InputError: rank 0 cannot serve its port.
        """
        from torch.distributed import DistNetworkError, PrefixStore

        place = f"foretrain/{self.launch}/{name}"
        serves = self.rank == 0 and not self.hosted
        try:
            if serves:
                _served(self.address, self.port, process=os.getpid())
            found = [
                _store(self.address, self.port, timeout=self.timeout) for _ in range(connections)
            ]
        except DistNetworkError as error:
            if serves:
                raise InputError(
                    f"port {self.port} of {self.address} cannot be served by rank 0: another"
                    " program has it, or the address is not this node's. Choose a free port on"
                    " every node."
                ) from error
            raise NodeLost(
                f"rank 0 did not answer at {self.address}:{self.port} within {self.timeout:g} s. "
                "Start it, or give all nodes its address."
            ) from error
        stores = [PrefixStore(place, each) for each in found]
        times = str(stores[0].add(str(self.rank), 1))
        return [PrefixStore(times, store) for store in stores]


@cache
def _served(address: str, port: int, *, process: int) -> Store:
    """The port, served by this process for as long as it lives."""
    return _store(address, port, serves=True, timeout=PATIENCE)


def _store(address: str, port: int, *, timeout: float, serves: bool = False) -> Store:
    from torch.distributed import TCPStore

    patience = timedelta(seconds=timeout)
    return TCPStore(address, port, is_master=serves, timeout=patience, wait_for_workers=False)


def leader_from_environment(
    environment: Mapping[str, str] = os.environ,
    *,
    timeout: float = PATIENCE,
    device: str = "cpu",
) -> Leader:
    """The leader that torchrun, or RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, describe.

    With several processes per node the first of each node (LOCAL_RANK 0) leads.

    Args:
        environment: variables as the launcher set them.
        timeout: seconds after which a silent node counts as lost.
        device: where exchanged bytes live.

    Raises:
        InputError: a variable is missing, or this process is not the first of its node.
    """
    wanted = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    if missing := [name for name in wanted if name not in environment]:
        raise InputError(
            f"{', '.join(missing)} not set in the environment. Start with torchrun, or describe "
            "the node: Leader(rank=..., nodes=..., address=..., port=...)."
        )
    if environment.get("LOCAL_RANK", "0") != "0":
        raise InputError(
            f"LOCAL_RANK is {environment['LOCAL_RANK']}: only the first process of a node leads. "
            "The others attach to its stream."
        )
    together = int(environment.get("LOCAL_WORLD_SIZE", "1"))
    return Leader(
        rank=int(environment["RANK"]) // together,
        nodes=int(environment["WORLD_SIZE"]) // together,
        address=environment["MASTER_ADDR"],
        port=int(environment["MASTER_PORT"]),
        timeout=timeout,
        device=device,
        hosted=environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
        launch=environment.get("TORCHELASTIC_RESTART_COUNT", "0"),
    )


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

            def swap() -> None:
                # Two members send each other their rows, each over connections of its own.
                sends = [
                    _broadcast(group, row, place)
                    for place, (group, row) in enumerate(zip(self._groups, together, strict=True))
                ]
                for each in sends:
                    each.wait()

            self._sure(swap)
        else:
            flat = together.view(-1), tensor.reshape(-1)
            self._sure(lambda: self._groups[0]._allgather_base(*flat).wait())
        return together

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
    """One group, or one for each direction, without a global one around it: decision 037 says why.

    gloo's all-gather of two members uses one connection for both directions, and takes 1.5 to
    1.75 times as long as two broadcasts over connections of their own.
    """
    from torch import distributed

    patience = timedelta(seconds=leader.timeout)
    place, count = ranks.index(leader.rank), len(ranks)
    stores = [distributed.PrefixStore(name, store) for name in ("there", "back")]
    if leader.device == "cpu":
        used = stores if count == 2 else stores[:1]
        return [distributed.ProcessGroupGloo(each, place, count, patience) for each in used]
    options = distributed.ProcessGroupNCCL.Options()
    options._timeout = patience
    return [distributed.ProcessGroupNCCL(stores[0], place, count, options)]


class Meeting:
    """This node's channels: one to all nodes for agreements, and one per group of the mode."""

    def __init__(self, leader: Leader, groups: Sequence[Sequence[int]], *, name: str) -> None:
        """Meet everybody.

        Args:
            leader: this node.
            groups: ranks that exchange data; they may overlap. With none, nobody meets.
            name: of the pipeline.
        """
        from torch.distributed import PrefixStore

        self.name = name
        self._leader = leader
        everybody = [list(range(leader.nodes)), *groups] if groups else []
        stores = leader.meet(name) if groups else []
        found = [
            Channel(leader, ranks, store=PrefixStore(str(number), *stores))
            if leader.rank in ranks
            else None
            for number, ranks in enumerate(everybody)
        ]
        self._world = found[0] if found else None
        self.channels = found[1:]

    def gathered(self, numbers: Sequence[int]) -> list[list[int]]:
        """These numbers as every node has them, one node a row."""
        import torch

        if self._world is None:
            return [list(numbers)]
        row = torch.tensor(numbers, dtype=torch.int64, device=self._leader.device)
        rows: list[list[int]] = self._world.gather(row).tolist()
        return rows

    def same(self, told: Mapping[str, int]) -> None:
        """Refuse nodes that were told different things: they would wait for each other.

        Raises:
            InputError: with the names of what differs.
        """
        columns = zip(*self.gathered(list(told.values())), strict=True)
        differ = [name for name, all_of in zip(told, columns, strict=True) if len({*all_of}) > 1]
        if differ:
            raise InputError(
                f"the nodes of pipeline '{self.name}' differ in {', '.join(differ)}. Give all of "
                "them the same dataset and the same arguments."
            )

    def close(self) -> None:
        """Leave: nodes that still wait for this one learn of it."""
        for channel in (self._world, *self.channels):
            if channel is not None:
                channel.close()
