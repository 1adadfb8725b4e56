"""What limits a job with parameter servers as nodes are added, and what would help, as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf

from foretrain.plan.startup import Access
from foretrain.queueing.served import (
    ServedJob,
    Steps,
    best_count,
    served_time,
    server_demand,
    server_knee,
)

DOMINATES = 0.5
"""Share of a job's time from which on start-up dominates it: more than everything else."""

QUANTIZED = 32.0
"""How many times fewer bytes gradients and parameters of one bit have.

Source: seide2014, section 3."""


class ScalingCause(StrEnum):
    """What a finding is about."""

    START_UP = "start-up"
    BEST_COUNT = "best count"
    SERVER = "server"
    WHAT_IF = "what if"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingFinding:
    """One thing that a reader should take home.

    Attributes:
        kind: what it is about.
        subject: what limits, or what is changed.
        values: the numbers behind it, in seconds, nodes and fractions.
        sentence: all of that in one sentence.
    """

    kind: ScalingCause
    subject: str
    values: Mapping[str, float]
    sentence: str


def scaling_findings(
    job: ServedJob, *, most: int, step: Steps | None = None
) -> tuple[ScalingFinding, ...]:
    """What limits a job as nodes are added.

    Args:
        job: the job.
        most: nodes that there are, at least 1.
        step: how long a step takes; None for the bound.

    Returns:
        What shows: that start-up dominates, where the best count from fewer nodes on.
    """
    best = best_count(job, most=most, step=step)
    found = [*_start_up(job, best, step)]
    if best < most:
        found.append(_best(job, best, step))
    if server_knee(job.training) < most:
        found.append(_server(job))
    return tuple(found)


def _start_up(job: ServedJob, nodes: int, step: Steps | None) -> Iterator[ScalingFinding]:
    time = served_time(job, nodes=nodes, step=step)
    start, total = time.start, float(time.total)
    share = float(start.total) / total
    if share > DOMINATES:
        parts = {name: float(getattr(start, name)) for name in ("launch", "metadata", "reading")}
        yield ScalingFinding(
            kind=ScalingCause.START_UP,
            subject=max(parts, key=lambda name: parts[name]),
            values={"nodes": nodes, "share": share, "total": total, **parts},
            sentence=(
                f"Start-up dominates: {share:.0%} of {total:,.0f} s on {nodes} nodes, of which"
                f" {parts['launch']:,.0f} s to launch, {parts['metadata']:,.0f} s to open files and"
                f" {parts['reading']:,.0f} s to read them."
            ),
        )


def _best(job: ServedJob, best: int, step: Steps | None) -> ScalingFinding:
    here, more = (served_time(job, nodes=nodes, step=step) for nodes in (best, best + 1))
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


def _server(job: ServedJob) -> ScalingFinding:
    servers, knee, demand = (
        job.training.servers,
        server_knee(job.training),
        server_demand(job.training),
    )
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


def what_ifs(job: ServedJob) -> dict[str, ServedJob]:
    """The job with one thing changed, by what is changed; only what differs and can be priced."""
    start, training = job.start, job.training
    servers, worker = training.servers, training.worker
    assert servers, "a training without servers was not refused"
    offered = {
        "shard the input": Access.SHARDED,
        "stagger the reading": Access.STAGGERED,
        **({"broadcast the input": Access.BROADCAST} if start.link else {}),
        **({"cache the input": Access.CACHED} if start.local else {}),
    }
    found = {
        name: replace(job, start=replace(start, access=access))
        for name, access in offered.items()
        if access is not start.access
    }
    twice = replace(training, servers=replace(servers, count=2 * servers.count))
    few = replace(worker, pushed=worker.pushed / QUANTIZED)
    return {
        **found,
        "double the servers": replace(job, training=twice),
        "send gradients of one bit (other weights)": replace(
            job, training=replace(training, worker=few)
        ),
    }


def what_if_findings(
    job: ServedJob, *, most: int, step: Steps | None = None
) -> tuple[ScalingFinding, ...]:
    """What each change would make of a job, the most helpful first.

    Args:
        job: the job.
        most: nodes that there are, at least 1.
        step: how long a step takes; None for the bound.
    """
    now = float(served_time(job, nodes=best_count(job, most=most, step=step), step=step).total)
    found = []
    for name, changed in what_ifs(job).items():
        best = best_count(changed, most=most, step=step)
        total = float(served_time(changed, nodes=best, step=step).total)
        knee = server_knee(changed.training)
        told = "no quicker" if total >= now else f"{1.0 - total / now:.0%} quicker"
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
