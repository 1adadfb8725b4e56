"""A simulated run as a trace of many workers, in the format that browsers and Perfetto show.

One process per worker and server, one thread per resource. What a core or a device does stands as
complete events; transfers, of which many share a link, as pairs of asynchronous ones with their
bytes.

Source: traceevent2016 (Trace Event Format): JSON object format, phases X, b, e and M.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foretrain.plan.servers import Servers, Training
from foretrain.queueing.servers.tally import (
    EVERY,
    Recording,
    SimulatedTraining,
    TransferSpan,
    WorkSpan,
)

MICROSECONDS = 1e6
"""The format's unit of time."""

COMPUTE, EGRESS, INGRESS, CORE = "compute", "egress", "ingress", "core"
THREADS = {COMPUTE: 0, EGRESS: 1, INGRESS: 2, CORE: 3}
"""Numbers of threads in a process; cores go on from the last."""

Event = dict[str, Any]


def chrome_trace(
    training: Training, simulated: SimulatedTraining, recording: Recording
) -> dict[str, Any]:
    """The trace of a simulation, as a JSON document.

    Args:
        training: that was simulated.
        simulated: what came out.
        recording: what the simulation wrote down.
    """
    servers, workers = training.servers, simulated.workers
    count = servers.count if servers else 0
    events = [*_names(workers, servers)]
    for span in recording.work:
        events += _work(span, workers, count)
    for number, transfer in enumerate(recording.transfers):
        events += _transfer(transfer, number, workers=workers, servers=count)
    theirs = training.server_link if servers else 0.0
    rates = {"worker": training.worker.link, "server": theirs}
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "seconds": simulated.seconds,
            "links": rates,
            "cores": servers.cores if servers else 0,
        },
    }


def trace_utilisation(trace: Mapping[str, Any]) -> dict[str, float]:
    """Utilisation of each kind of resource, from a trace alone.

    Args:
        trace: what `chrome_trace` made.

    Returns:
        Of a device and a core the share of time, of a link its bytes over those that it could have
        carried; the mean over workers, or servers.
    """
    about = trace["otherData"]
    kinds, done = {}, Counter[tuple[str, str]]()
    for event in trace["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "process_name":
            kinds[event["pid"]] = event["args"]["name"].split()[0]
        elif event["ph"] == "X":
            done[kinds[event["pid"]], event["cat"]] += event["dur"] / MICROSECONDS
        elif event["ph"] == "b":
            done[kinds[event["pid"]], event["cat"]] += event["args"]["bytes"]
    count, rate = Counter(kinds.values()), about["links"]
    used = {}
    for (kind, thread), amount in done.items():
        could = {COMPUTE: 1.0, CORE: about["cores"]}.get(thread, rate[kind])
        name = f"{kind} {'cores' if thread == CORE else thread}"
        used[name] = amount / (could * count[kind] * about["seconds"])
    return used


def _names(workers: int, servers: Servers | None) -> Iterator[Event]:
    """What processes and threads are called."""
    for worker in range(workers):
        yield from _named(worker, f"worker {worker}", (COMPUTE, EGRESS, INGRESS))
    if servers is not None:
        cores = [f"{CORE} {core}" for core in range(servers.cores)]
        for server in range(servers.count):
            yield from _named(workers + server, f"server {server}", ("", EGRESS, INGRESS, *cores))


def _named(process: int, name: str, threads: Sequence[str]) -> Iterator[Event]:
    yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}
    for number, thread in enumerate(threads):
        about = {"ph": "M", "name": "thread_name", "pid": process, "tid": number}
        if thread:
            yield {**about, "args": {"name": thread}}


def _work(span: WorkSpan, workers: int, servers: int) -> Iterator[Event]:
    """A complete event in each process that did the work."""
    thread, processes = COMPUTE, [span.node]
    if span.server:
        thread = CORE
        processes = [workers + each for each in _alike(span.node, servers)]
    for process in processes:
        yield {
            "ph": "X",
            "name": span.name,
            "cat": thread,
            "pid": process,
            "tid": THREADS[thread] + span.core,
            "ts": span.start * MICROSECONDS,
            "dur": (span.end - span.start) * MICROSECONDS,
        }


def _transfer(
    transfer: TransferSpan, number: int, *, workers: int, servers: int
) -> Iterator[Event]:
    """Its begin and its end, on the sending and the receiving side."""
    for node, thread in ((transfer.source, EGRESS), (transfer.target, INGRESS)):
        everybody = node == EVERY
        processes = [workers + each for each in range(servers)] if everybody else [node]
        for process in processes:
            common = {
                "name": "transfer",
                "cat": thread,
                "id": f"{number} {thread}",
                "pid": process,
                "tid": THREADS[thread],
            }
            size = transfer.size / len(processes)
            start, end = transfer.start * MICROSECONDS, transfer.end * MICROSECONDS
            yield {**common, "ph": "b", "ts": start, "args": {"bytes": size}}
            yield {**common, "ph": "e", "ts": end}


def _alike(server: int, servers: int) -> Sequence[int]:
    return range(servers) if server == EVERY else (server,)
