"""Servers as workers see them: links, cores, and where they stand.

What a worker asks for is done when all servers have done their parts of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from foretrain.errors import InputError
from foretrain.events import Action
from foretrain.plan.servers import LinkPolicy, Servers, Training, Worker
from foretrain.queueing.servers.links import ORDERS, Connection, FifoLink, SharedLink
from foretrain.queueing.servers.mesh import IntoServers, Mesh, OutOfServers
from foretrain.queueing.servers.tally import EVERY, Context

Wanted = Callable[[], bool]


class ServerSide(Protocol):
    """How workers reach servers."""

    def pull(self, worker: int, size: float, done: Action, *, rank: int = 0) -> None:
        """Carry some bytes of parameters to a worker, the latency first.

        Args:
            worker: which.
            size: bytes, over all servers.
            done: what happens when all have come.
            rank: of two messages the lower is needed first.
        """
        ...

    def push(self, worker: int, size: float, done: Action, *, rank: int = 0) -> None:
        """Carry some bytes of gradients to the servers; otherwise as `pull`."""
        ...

    def apply(self, seconds: float, done: Action, wanted: Wanted) -> None:
        """Let the servers' cores work for some core seconds in all, unless not wanted any more."""
        ...

    def used(self, seconds: float) -> Mapping[str, float]:
        """Utilisation of links and cores over so many seconds, by kind."""
        ...


class ServerCores:
    """Cores of a server: each does one piece of work at a time, gradients in the order they came.

    Attributes:
        busy: core seconds of work that was done.
    """

    __slots__ = ("_context", "_events", "_free", "_queue", "_server", "busy")

    def __init__(self, context: Context, *, count: int, server: int) -> None:
        """All are free.

        Args:
            context: of the simulation.
            count: cores.
            server: whose they are.
        """
        self.busy = 0.0
        self._context = context
        self._events = context.events
        self._server = server
        self._free = list(range(count))[::-1]
        self._queue: deque[tuple[float, Action, Wanted]] = deque()

    def work(self, seconds: float, done: Action, wanted: Wanted) -> None:
        """Do a piece of work as soon as a core is free.

        Args:
            seconds: of one core.
            done: what happens then.
            wanted: asked when a core is free: whether it still has to be done.
        """
        self._queue.append((seconds, done, wanted))
        self._begin()

    def _begin(self) -> None:
        """Begin what is wanted as long as a core is free."""
        while self._free and self._queue:
            seconds, done, wanted = self._queue.popleft()
            if wanted():
                self._occupy(self._free.pop(), seconds, done)

    def _occupy(self, core: int, seconds: float, done: Action) -> None:
        start = self._events.now

        def end() -> None:
            self.busy += seconds
            self._context.applied(self._server, core, start)
            self._free.append(core)
            done()  # may make others unwanted
            self._begin()

        self._events.after(seconds, end)


class ServerLink:
    """One direction between all servers and the workers."""

    __slots__ = ("_connections", "_link")

    def __init__(
        self, training: Training, context: Context, *, inward: bool, messages: bool
    ) -> None:
        """Nothing is under way.

        Args:
            training: whose servers' rates add up, and whose worker's link bounds what it gets.
            context: of the simulation.
            inward: whether to the servers.
            messages: whether a worker may have several messages under way.
        """
        servers = training.servers
        assert servers is not None, "a training without servers has other sides"
        rates = {"capacity": servers.count * training.server_link, "most": training.worker.link}
        self._connections: Sequence[Connection] = ()
        self._link: SharedLink | FifoLink | IntoServers | OutOfServers
        if context.policy is LinkPolicy.FIFO:
            self._link = FifoLink(context.events, **rates)
            return
        if context.policy is LinkPolicy.BUFFERED:
            self._link = (IntoServers if inward else OutOfServers)(context.events, **rates)
            return
        self._link = link = SharedLink(context.events, **rates)
        if messages:
            order = ORDERS[context.policy]
            window = context.window if context.policy is LinkPolicy.WINDOWS else 0.0
            self._connections = [
                Connection(link, order, window=window) for _ in range(context.workers)
            ]

    @property
    def carried(self) -> float:
        """Bytes so far."""
        return self._link.carried

    def send(self, worker: int, size: float, done: Action, *, rank: int = 0) -> None:
        """Begin a message."""
        if self._connections:
            self._connections[worker].send(size, done, rank=rank)
        elif isinstance(self._link, FifoLink):
            self._link.send(size, done, worker=worker)
        else:
            self._link.send(size, done)


class OwnNodes:
    """Servers on nodes of their own.

    They are alike and get equal parts of everything at the same moments: so one link of their
    summed rate stands for all, and the cores of one for those of each.
    """

    def __init__(self, training: Training, context: Context, *, messages: bool) -> None:
        """Nothing is under way.

        Args:
            training: whose servers they are.
            context: of the simulation.
            messages: whether a worker may have several messages under way.
        """
        servers = training.servers
        assert servers is not None, "a training without servers has other sides"
        self._servers = servers
        self._training = training
        self._context = context
        self._down = ServerLink(training, context, inward=False, messages=messages)
        self._up = ServerLink(training, context, inward=True, messages=messages)
        self._cores = ServerCores(context, count=servers.cores, server=EVERY)

    def pull(self, worker: int, size: float, done: Action, *, rank: int = 0) -> None:
        """Carry some bytes of parameters to a worker, the latency first."""
        done = self._context.noted(size, done, source=EVERY, target=worker)
        if self._servers.latency:
            send = partial(self._down.send, worker, size, done, rank=rank)
            self._context.events.after(self._servers.latency, send)
        else:
            self._down.send(worker, size, done, rank=rank)

    def push(self, worker: int, size: float, done: Action, *, rank: int = 0) -> None:
        """Carry some bytes of gradients to the servers; otherwise as `pull`."""
        done = self._context.noted(size, done, source=worker, target=EVERY)
        if self._servers.latency:
            send = partial(self._up.send, worker, size, done, rank=rank)
            self._context.events.after(self._servers.latency, send)
        else:
            self._up.send(worker, size, done, rank=rank)

    def apply(self, seconds: float, done: Action, wanted: Wanted) -> None:
        """Let the servers' cores work for some core seconds in all, unless not wanted any more."""
        self._cores.work(seconds / self._servers.count, done, wanted)

    def used(self, seconds: float) -> Mapping[str, float]:
        """Utilisation of links and cores over so many seconds, by kind."""
        theirs = self._servers.count * self._training.server_link * seconds
        workers = self._context.workers * self._training.worker.link * seconds
        return {
            "worker ingress": self._down.carried / workers,
            "worker egress": self._up.carried / workers,
            "server egress": self._down.carried / theirs,
            "server ingress": self._up.carried / theirs,
            "server cores": self._cores.busy / (self._servers.cores * seconds),
        }


class Colocated:
    """Servers on the workers' nodes, in turn, which share the workers' links.

    A server's own part of what its node's worker asks for crosses no link. Servers apply a worker's
    gradients when all of them have come.
    """

    def __init__(self, servers: Servers, worker: Worker, context: Context) -> None:
        """Nothing is under way.

        Args:
            servers: that there are; their links are those of the nodes.
            worker: whose link each node has.
            context: of the simulation.
        """
        if context.policy is not LinkPolicy.FAIR:
            raise InputError(
                f"colocated servers share links fairly; policy = '{context.policy}' is for servers"
                " on nodes of their own."
            )
        self._servers = servers
        self._worker = worker
        self._context = context
        self._mesh = node_mesh(worker, context)
        self._homes = [server % context.workers for server in range(servers.count)]
        self._cores = [
            ServerCores(context, count=servers.cores, server=each) for each in range(servers.count)
        ]

    def pull(self, worker: int, size: float, done: Action, *, rank: int = 0) -> None:
        """Carry some bytes of parameters to a worker, the latency first."""
        self._carry([(home, worker) for home in self._homes], size, done)

    def push(self, worker: int, size: float, done: Action, *, rank: int = 0) -> None:
        """Carry some bytes of gradients to the servers; otherwise as `pull`."""
        self._carry([(worker, home) for home in self._homes], size, done)

    def apply(self, seconds: float, done: Action, wanted: Wanted) -> None:
        """Let the servers' cores work for some core seconds in all, unless not wanted any more."""
        part = joined(self._servers.count, done)
        for cores in self._cores:
            cores.work(seconds / self._servers.count, part, wanted)

    def used(self, seconds: float) -> Mapping[str, float]:
        """Utilisation of links and cores over so many seconds, by kind."""
        cores = self._servers.count * self._servers.cores * seconds
        return {
            **links_used(self._mesh, self._worker, seconds),
            "server cores": sum(each.busy for each in self._cores) / cores,
        }

    def _carry(self, ways: Sequence[tuple[int, int]], size: float, done: Action) -> None:
        """Carry equal parts from nodes to nodes."""
        size /= len(ways)
        ways = [way for way in ways if way[0] != way[1]]
        if not ways:
            self._context.events.after(0.0, done)
        part = joined(len(ways), done)
        for source, target in ways:
            ended = self._context.noted(size, part, source=source, target=target)
            links = source, self._context.workers + target
            send = partial(self._mesh.send, size, links, ended)
            self._context.events.after(self._servers.latency, send)


def node_mesh(worker: Worker, context: Context) -> Mesh:
    """The workers' links: first those out of each node, then those into each."""
    return Mesh(context.events, [worker.link] * (2 * context.workers))


def links_used(mesh: Mesh, worker: Worker, seconds: float) -> Mapping[str, float]:
    """Utilisation of workers' links over so many seconds."""
    workers = len(mesh.carried) // 2
    all_of_them = workers * worker.link * seconds
    return {
        "worker egress": sum(mesh.carried[:workers]) / all_of_them,
        "worker ingress": sum(mesh.carried[workers:]) / all_of_them,
    }


def joined(count: int, done: Action) -> Action:
    """What each of some parts does at its end, so that `done` happens with the last of them."""
    left = count

    def part() -> None:
        nonlocal left
        left -= 1
        if not left:
            done()

    return part
