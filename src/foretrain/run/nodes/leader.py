"""Who this node is among the others, and where they meet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from foretrain.errors import InputError
from foretrain.run.nodes.errors import NodeLost

if TYPE_CHECKING:
    from torch.distributed import Store

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
        from torch.distributed import PrefixStore

        place = f"foretrain/{self.launch}/{name}"
        stores = [PrefixStore(place, self._connected()) for _ in range(connections)]
        times = str(stores[0].add(str(self.rank), 1))
        return [PrefixStore(times, store) for store in stores]

    def _connected(self) -> Store:
        from torch.distributed import DistNetworkError

        serves = self.rank == 0 and not self.hosted
        try:
            if serves:
                _served(self.address, self.port, process=os.getpid())
            return _store(self.address, self.port, timeout=self.timeout)
        except DistNetworkError as error:
            raise (self._taken() if serves else self._absent()) from error

    def _taken(self) -> InputError:
        return InputError(
            f"port {self.port} of {self.address} cannot be served by rank 0: another program has "
            "it, or the address is not this node's. Choose a free port on every node."
        )

    def _absent(self) -> NodeLost:
        return NodeLost(
            f"rank 0 did not answer at {self.address}:{self.port} within {self.timeout:g} s. "
            "Start it, or give all nodes its address."
        )


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
