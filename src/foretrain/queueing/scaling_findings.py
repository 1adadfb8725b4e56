"""What limits training as workers are added, and what would help, as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf

from foretrain.distributions import stretched
from foretrain.plan.servers import ASYNCHRONOUS, Access, Servers, Training, WholeJob
from foretrain.queueing.closed_form import CORES, by_formula, closed_network
from foretrain.queueing.scaled import (
    ScaleChange,
    ScaleKnee,
    ScalingCause,
    ScalingFinding,
)
from foretrain.queueing.served import (
    ServedTime,
    Steps,
    best_count,
    served_time,
    server_demand,
    server_knee,
)
from foretrain.show.words import percent

DOMINATES = 0.5
"""Share of a job's time from which on start-up dominates it: more than everything else."""

QUANTIZED = 32.0
"""How many times fewer bytes gradients and parameters of one bit have.

Source: seide2014, section 3."""


def scaling_findings(
    job: WholeJob, training: Training, *, most: int, step: Steps | None = None
) -> tuple[ScalingFinding, ...]:
    """What limits a job as nodes are added.

    Args:
        job: the job.
        training: as for `served_time`.
        most: nodes that there are, at least 1.
        step: how long a step takes; None for the bound.

    Returns:
        What shows: that start-up dominates, where the best count from fewer nodes on.
    """
    best = best_count(job, training, most=most, step=step)

    def on(nodes: int) -> ServedTime:
        return served_time(job, training, nodes=float(nodes), step=step)

    found = [*_start_up(best, on(best))]
    if best < most:
        found.append(_best(best, on(best), on(best + 1)))
    if server_knee(training) < most:
        found.append(_server(training))
    return tuple(found)


def _start_up(nodes: int, time: ServedTime) -> Iterator[ScalingFinding]:
    start, total = time.start, float(time.total)
    share = float(start.total) / total
    if share > DOMINATES:
        parts = {name: float(getattr(start, name)) for name in ("launch", "metadata", "reading")}
        yield ScalingFinding(
            kind=ScalingCause.START_UP,
            subject=max(parts, key=lambda name: parts[name]),
            values={"nodes": nodes, "share": share, "total": total, **parts},
            sentence=(
                f"Start-up dominates: {percent(share)} of {total:,.0f} s on {nodes} nodes, of which"
                f" {parts['launch']:,.0f} s to launch, {parts['metadata']:,.0f} s to open files and"
                f" {parts['reading']:,.0f} s to read them."
            ),
        )


def _best(best: int, here: ServedTime, more: ServedTime) -> ScalingFinding:
    added = float(more.start.total) - float(here.start.total)
    saved = float(here.steps) - float(more.steps)
    return ScalingFinding(
        kind=ScalingCause.BEST_COUNT,
        subject="nodes",
        values={"nodes": best, "total": float(here.total), "added": added, "saved": saved},
        sentence=(
            f"{best} nodes are the best count, {float(here.total):,.0f} s: one more adds"
            f" {added:,.0f} s of start-up and saves {saved:,.0f} s of training."
        ),
    )


def _server(training: Training) -> ScalingFinding:
    servers, knee, demand = training.servers, server_knee(training), server_demand(training)
    assert servers, "a training without servers was not refused"
    serve = "server serves" if servers.count == 1 else "servers serve"
    return ScalingFinding(
        kind=ScalingCause.SERVER,
        subject="servers",
        values={"knee": knee, "servers": servers.count, "demand": demand},
        sentence=(
            f"Servers are the bottleneck beyond {knee:.1f} nodes: {servers.count} {serve} a step of"
            f" a worker every {demand:.3g} s, however many workers there are."
        ),
    )


def what_ifs(job: WholeJob, training: Training) -> dict[str, tuple[WholeJob, Training]]:
    """Both with one thing changed, by what is changed; only what differs and can be priced."""
    start, servers, worker = job.start, training.servers, training.worker
    assert servers, "a training without servers was not refused"
    offered = {
        "shard the input": Access.SHARDED,
        "stagger the reading": Access.STAGGERED,
        "broadcast the input": Access.BROADCAST,
        **({"cache the input": Access.CACHED} if start.local else {}),
    }
    found = {
        name: (replace(job, start=replace(start, access=access)), training)
        for name, access in offered.items()
        if access is not start.access
    }
    twice = replace(training, servers=replace(servers, count=2 * servers.count))
    few = replace(worker, pushed=worker.pushed / QUANTIZED)
    return {
        **found,
        "double the servers": (job, twice),
        "send gradients of one bit (other weights)": (job, replace(training, worker=few)),
    }


def what_if_findings(
    job: WholeJob, training: Training, *, most: int, step: Steps | None = None
) -> tuple[ScalingFinding, ...]:
    """What each change would make of a job, the most helpful first.

    Args:
        job: the job.
        training: as for `served_time`.
        most: nodes that there are, at least 1.
        step: how long a step takes; None for the bound.
    """

    def best_of(job: WholeJob, training: Training) -> tuple[int, float]:
        best = best_count(job, training, most=most, step=step)
        return best, float(served_time(job, training, nodes=float(best), step=step).total)

    (_, now), found = best_of(job, training), []
    for name, changed in what_ifs(job, training).items():
        (best, total), knee = best_of(*changed), server_knee(changed[1])
        told = "no quicker" if total >= now else f"{percent(1.0 - total / now)} quicker"
        limit = f", and servers limit beyond {knee:,.1f}" if knee < inf else ""
        found.append(
            ScalingFinding(
                kind=ScalingCause.WHAT_IF,
                subject=name,
                values={
                    **{"nodes": best, "total": total, "gain": 1.0 - total / now},
                    **({"knee": knee} if knee < inf else {}),
                },
                sentence=(
                    f"If you {name}, the best count is {best} nodes, {total:,.0f} s"
                    f" ({told}){limit}."
                ),
            )
        )
    return tuple(sorted(found, key=lambda each: each.values["total"]))


def knee_of(training: Training) -> ScaleKnee | None:
    """Where workers begin to wait at the servers: none where there are none of their own."""
    if training.servers is None or training.servers.colocated:
        return None
    found = closed_network(training)
    if found.bottleneck is None:
        return None
    samples = training.worker.samples
    return ScaleKnee(
        workers=found.knee, limit=found.bottleneck, throughput=found.capacity * samples
    )


def bounds_of(training: Training) -> Mapping[str, float]:
    """What no number of workers exceeds, by the resource that sets it."""
    if training.servers is None or training.servers.colocated:
        return {}
    seconds = closed_network(training).least_seconds
    samples = training.worker.samples
    return {name: samples / each for name, each in seconds.items() if each > 0}


def changes_of(training: Training, workers: int) -> Iterator[ScaleChange]:
    """One change each, the most helpful first; only where servers are."""
    if training.servers is None or training.servers.colocated:
        return
    before = by_formula(training, workers).throughput
    found = [
        _change(name, changed, workers, before=before)
        for name, changed in _changes(training, training.servers)
    ]
    yield from sorted(found, key=lambda each: -(each.gain or 0.0))


def _change(name: str, changed: Training, workers: int, *, before: float | None) -> ScaleChange:
    rate, knee = by_formula(changed, workers).throughput, knee_of(changed)
    return ScaleChange(
        change=name,
        knee=knee.workers if knee else None,
        throughput=rate,
        gain=rate / before - 1.0 if rate is not None and before is not None else None,
    )


def _changes(training: Training, servers: Servers) -> Iterator[tuple[str, Training]]:
    """What could be changed, and the training then."""
    worker = training.worker
    yield (
        "twice the servers",
        replace(training, servers=replace(servers, count=2 * servers.count)),
    )
    halved = replace(worker, pulled=worker.pulled / 2.0, pushed=worker.pushed / 2.0)
    yield "half the bytes", replace(training, worker=halved)
    longer = stretched(worker.compute, 2.0)
    larger = replace(worker, samples=2.0 * worker.samples, compute=longer)
    yield "twice the batch of a worker", replace(training, worker=larger)
    if closed_network(training).bottleneck == CORES:
        more = replace(servers, cores=2 * servers.cores)
        yield "twice the cores of a server", replace(training, servers=more)
    if training.updates.stale is not None:
        yield (
            "asynchronous updates (other weights: stale gradients)",
            replace(training, updates=ASYNCHRONOUS),
        )
