"""A parameter server over gloo: what each emulated node runs, job after job.

The first nodes are servers, each with an equal part of the parameters; the others are workers. A
worker computes (it sleeps, so that eight of them fit on two cores), sends each server its part of
the gradients, and receives that part of the parameters as soon as it may go on. Every pair of a
worker and a server has connections of its own, and on the server a thread of its own.

A job is a table with a `kind`; all nodes run the same jobs, and each prints what it found as JSON:

    send    seconds in which `size` bytes go from one node to another, several times
    apply   seconds in which a server adds gradients of `size` bytes to parameters
    train   of a worker: when each step ended, how late it woke, and how long it then exchanged;
            of a server: what it applied; of both: what went over their links
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from math import inf
from pathlib import Path
from random import Random
from threading import Condition, Lock, Thread
from time import perf_counter, sleep
from typing import Any

import torch
import torch.distributed as dist
from validation.testbed.servers import SERVERS, distribution

Job = Mapping[str, Any]
Connections = Mapping[tuple[int, int], dist.ProcessGroup]
"""Of each server with each worker."""

LONGEST = timedelta(seconds=300)
"""That a node without a part in a job waits for the others."""
SOON = 0.2
"""Seconds from agreeing on a moment to that moment."""
SET_TIMER_SLACK = 29
"""Of Linux' prctl: how late a sleep may end, in nanoseconds."""


def main() -> None:
    """Run the jobs."""
    ctypes.CDLL(None).prctl(SET_TIMER_SLACK, 1, 0, 0, 0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=LONGEST)
    rank, nodes = dist.get_rank(), dist.get_world_size()
    connections = {
        (server, worker): dist.new_group([server, worker], timeout=LONGEST)
        for server in range(SERVERS)
        for worker in range(SERVERS, nodes)
    }
    found = []
    for job in json.load(sys.stdin):
        dist.barrier()
        found.append(KINDS[job["kind"]](rank, connections, job))
    dist.barrier()  # nobody leaves before the last one ends
    print(json.dumps(found))


def _send(rank: int, connections: Connections, job: Job) -> list[float]:
    """Seconds at the receiver of each time but the first, which opens TCP's window."""
    source, target = job["between"]
    block, ready = torch.zeros(job["size"], dtype=torch.uint8), torch.zeros(1)
    seconds = []
    for _ in range(job["times"] + 1):
        if rank == source:
            dist.recv(ready, target)
            dist.send(block, target)
        elif rank == target:
            start = perf_counter()
            dist.send(ready, source)
            dist.recv(block, source)
            seconds.append(perf_counter() - start)
    return seconds[1:]


def _apply(rank: int, connections: Connections, job: Job) -> list[float]:
    """Seconds of each time, at the first server."""
    if rank:
        return []
    parameters, gradients = torch.zeros(job["size"] // 4), torch.ones(job["size"] // 4)
    seconds = []
    for _ in range(job["times"]):
        start = perf_counter()
        parameters.add_(gradients)
        seconds.append(perf_counter() - start)
    return seconds


def _train(rank: int, connections: Connections, job: Job) -> Mapping[str, Any]:
    workers = range(SERVERS, SERVERS + job["workers"])
    begin = torch.tensor([perf_counter() + SOON], dtype=torch.float64)
    dist.broadcast(begin, 0)  # all nodes are on one machine, so they share its clock
    before = _counters()
    if rank < job["servers"]:
        found = Server(job, {worker: connections[rank, worker] for worker in workers}).serve()
    elif rank in workers:
        servers = {server: connections[server, rank] for server in range(job["servers"])}
        found = _work(servers, job, begin=begin.item(), seed=f"{job['seed']} {rank}")
    else:
        found = {}
    return {**found, **{name: value - before[name] for name, value in _counters().items()}}


def _work(
    servers: Mapping[int, dist.ProcessGroup], job: Job, *, begin: float, seed: str
) -> dict[str, Any]:
    """Take steps until the time is over.

    Args:
        servers: connections with each.
        job: what is trained.
        begin: when.
        seed: of the computations.
    """
    compute, random = distribution(job["compute"]), Random(seed)
    gradients = {server: torch.ones(_elements(job) + 1) for server in servers}
    parameters = {server: torch.empty(_elements(job)) for server in servers}
    ends: list[float] = []
    late: list[float] = []
    exchanged: list[float] = []
    now, on = begin, True
    while on:
        until = now + compute.draw(random)
        _sleep_until(until)
        woken = perf_counter()
        on = woken < begin + job["seconds"]
        for part in gradients.values():
            part[0] = on  # tells the server whether this is the last step
        under_way = [
            *(dist.irecv(parameters[each], each, group=group) for each, group in servers.items()),
            *(dist.isend(gradients[each], each, group=group) for each, group in servers.items()),
        ]
        for each in under_way:
            each.wait()
        now = perf_counter()
        ends.append(now - begin)
        late.append(woken - until)
        exchanged.append(now - woken)
    return {"ends": ends, "late": late, "exchanged": exchanged}


class Server:
    """A part of the parameters, and when each worker may have it."""

    def __init__(self, job: Job, workers: Mapping[int, dist.ProcessGroup]) -> None:
        """Nobody has sent anything.

        Args:
            job: what is trained.
            workers: connections with each.
        """
        self._workers = workers
        self._parameters = torch.zeros(_elements(job))
        self._update = job["update"]
        self._stale = inf if job["stale"] is None else job["stale"]
        self._core = Lock()  # gradients are applied one after another
        self._gate = Condition()
        self._ended: dict[int, float] = dict.fromkeys(workers, 0)

    def serve(self) -> dict[str, Any]:
        """Serve all workers until each has had its last step."""
        threads = [Thread(target=self._serve, args=(worker,)) for worker in self._workers]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return {"applied": self._parameters.mean(dtype=torch.float64).item()}

    def _serve(self, worker: int) -> None:
        group, message, on = self._workers[worker], torch.empty(len(self._parameters) + 1), True
        while on:
            dist.recv(message, worker, group=group)
            with self._core:
                until = perf_counter() + self._update
                self._parameters.add_(message[1:])
                if self._update:
                    _sleep_until(until)
            on = bool(message[0])
            self._pass(worker, on=on)
            dist.send(self._parameters, worker, group=group)

    def _pass(self, worker: int, *, on: bool) -> None:
        """Wait until this worker may go on; one that leaves keeps nobody waiting."""
        with self._gate:
            self._ended[worker] = self._ended[worker] + 1 if on else inf
            self._gate.notify_all()
            if on:
                self._gate.wait_for(
                    lambda: self._ended[worker] <= min(self._ended.values()) + self._stale
                )


def _elements(job: Job) -> int:
    """Parameters of a server."""
    return int(job["size"]) // job["servers"] // 4


def _sleep_until(moment: float) -> None:
    if (left := moment - perf_counter()) > 0:
        sleep(left)


def _counters() -> dict[str, int]:
    """Bytes that this node's link has carried, and segments that TCP had to send again."""
    (link,) = (
        line.split()[1:]
        for line in Path("/proc/net/dev").read_text("utf-8").splitlines()
        if line.strip().startswith("eth0:")
    )
    names, values = (
        line.split()
        for line in Path("/proc/net/snmp").read_text("utf-8").splitlines()
        if line.startswith("Tcp:")
    )
    again = int(values[names.index("RetransSegs")])
    return {"received": int(link[0]), "sent": int(link[8]), "again": again}


KINDS: Mapping[str, Callable[[int, Connections, Job], Any]] = {
    "send": _send,
    "apply": _apply,
    "train": _train,
}

if __name__ == "__main__":
    main()
