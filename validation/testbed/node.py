"""What an emulated node runs: the jobs that it reads from standard input, one after the other.

A job is a table with a `kind`. All nodes run the same jobs, and each prints what it found as JSON:

    gather, broadcast   seconds of an operation among the first `members` nodes, several times
    decode              seconds of each block that this node decodes while it exchanges nothing
    pipeline            for each epoch, when how many samples had come: seconds and samples

All but the last also tell how many cores the whole machine kept busy meanwhile.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import torch
from torch.utils.data import Dataset
from validation.parts.processors import busy_seconds
from validation.testbed.pictures import Paced, Real

from batchcast.heap import keep_memory
from foretrain.ensemble.nodes.leader import Channel, Leader, leader_from_environment
from foretrain.ensemble.nodes.pipeline import InputPipeline, input_pipeline

Job = Mapping[str, Any]
Arrivals = list[tuple[float, int]]
Found = Mapping[str, Any]
"""Seconds of each time, and the cores of the machine that were busy from first to last."""

DATA: Mapping[str, Callable[..., Dataset[torch.Tensor]]] = {"paced": Paced, "real": Real}
SET_TIMER_SLACK = 29
"""Of Linux' prctl: how late a sleep may end, in nanoseconds."""


def main() -> None:
    """Run the jobs."""
    ctypes.CDLL(None).prctl(SET_TIMER_SLACK, 1, 0, 0, 0)
    keep_memory()  # as the feeder of a stream does, which runs the pipeline of a node
    torch.set_num_threads(1)
    leader = leader_from_environment(timeout=60.0)
    jobs = json.load(sys.stdin)
    print(json.dumps([KINDS[job["kind"]](leader, str(n), job) for n, job in enumerate(jobs)]))


class _Meter:
    """The cores of the whole machine that are busy from now on.

    What the kernel does for a node's links is done in the name of whoever runs at that moment, so
    the time of the node's processes alone would miss most of it.
    """

    def __init__(self) -> None:
        self._start, self._had = perf_counter(), busy_seconds()

    def cores(self) -> float:
        """Mean of them until now."""
        return (busy_seconds() - self._had) / (perf_counter() - self._start)


def _gather(leader: Leader, name: str, job: Job) -> Found:
    """Everybody brings `size` bytes."""
    mine = torch.zeros(job["size"], dtype=torch.uint8)
    with _Members(leader, name, job) as members:
        return members.timed(lambda channel: channel.gather(mine))


def _broadcast(leader: Leader, name: str, job: Job) -> Found:
    """Rank 0 sends `size` bytes; with two members this is a plain send."""
    here = torch.zeros(job["size"], dtype=torch.uint8)
    with _Members(leader, name, job) as members:
        return members.timed(lambda channel: channel.broadcast(here, root=0))


class _Members:
    """The first nodes, which do something together several times, `row` times without a pause."""

    def __init__(self, leader: Leader, name: str, job: Job) -> None:
        self._times, self._row = job["times"], job["row"]
        self._channel: Channel | None = None
        if leader.rank < job["members"]:
            (store,) = leader.meet(name)
            self._channel = Channel(leader, range(job["members"]), store=store)

    def __enter__(self) -> _Members:
        return self

    def __exit__(self, *error: object) -> None:
        if self._channel is not None:
            self._channel.gather(torch.zeros(1))  # nobody leaves before the last one ends
            self._channel.close()

    def timed(self, act: Callable[[Channel], object]) -> Found:
        """Seconds of each time after a first that does not count; none if not a member."""
        if self._channel is None:
            return {"seconds": [], "busy": 0.0}
        _seconds(self._channel, act, self._row)
        meter = _Meter()
        seconds = [_seconds(self._channel, act, self._row) for _ in range(self._times)]
        return {"seconds": seconds, "busy": meter.cores()}


def _seconds(channel: Channel, act: Callable[[Channel], object], row: int) -> float:
    """Of each in a row."""
    channel.gather(torch.zeros(1))  # all begin together
    start = perf_counter()
    for _ in range(row):
        act(channel)
    return (perf_counter() - start) / row


def _decode(leader: Leader, name: str, job: Job) -> Found:
    """As a pipeline decodes, with packing, but without anybody to send to; all nodes at once."""
    (store,) = leader.meet(name)
    channel = Channel(leader, range(leader.nodes), store=store)
    decoder = _made(leader, name, {**job, "mode": "duplicate"}).decoder
    made = decoder.messages(range(job["blocks"]), epoch=0, queue=0)
    next(made)
    channel.gather(torch.zeros(1))  # all begin together
    found, meter, start = [], _Meter(), perf_counter()
    for _ in made:
        found.append(perf_counter() - start)
        start = perf_counter()
    channel.close()
    return {"seconds": found, "busy": meter.cores()}


def _pipeline(leader: Leader, name: str, job: Job) -> list[Arrivals]:
    with _made(leader, name, job) as source:
        return [_arrivals(source) for _ in range(job["epochs"])]


def _arrivals(source: InputPipeline) -> Arrivals:
    start, had, found = perf_counter(), 0, []
    for block in source.blocks():
        had += len(block.ids)
        found.append((perf_counter() - start, had))
    return found


def _made(leader: Leader, name: str, job: Job) -> InputPipeline:
    data = {key: value for key, value in job["data"].items() if key != "kind"}
    return input_pipeline(
        DATA[job["data"]["kind"]](**data),
        leader=leader,
        name=name,
        mode=job["mode"],
        batch_size=job["batch_size"],
        preprocessors=job.get("preprocessors"),
        queue=job.get("queue", 0),
    )


KINDS: Mapping[str, Callable[[Leader, str, Job], Any]] = {
    "gather": _gather,
    "broadcast": _broadcast,
    "decode": _decode,
    "pipeline": _pipeline,
}

if __name__ == "__main__":
    main()
