"""Partitions: groups of jobs with a part of the fleet of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from foretrain.cluster.fleet import Fleet
from foretrain.errors import InputError
from foretrain.jobs.outcomes import Outcomes
from foretrain.measured.job import Job, Trace

REST = ""
"""The partition of all groups without a quota."""


def partitioned(
    trace: Trace, fleet: Fleet, simulate: Callable[[Trace, Fleet], Outcomes]
) -> Outcomes:
    """What becomes of jobs where each group with a quota has its devices to itself.

    Args:
        trace: the jobs.
        fleet: of one kind; its quotas are whole nodes.
        simulate: a run of some jobs on some nodes, under any policy and placement.

    Nobody borrows what another group leaves free, so each partition is a cluster by itself.
    """
    shares = parts(fleet)
    members: dict[str, list[Job]] = {}
    for job in trace.jobs:
        members.setdefault(job.group if job.group in shares else REST, []).append(job)
    if REST in members and REST not in shares:
        raise InputError(
            f"{trace.name}: the quotas leave no node for job {members[REST][0].name} of the group"
            f" '{members[REST][0].group}'. Give that group a quota, or the others less."
        )
    ended = {
        group: simulate(Trace(name=f"{trace.name}, {group}", jobs=tuple(jobs)), shares[group])
        for group, jobs in members.items()
    }
    return _joined(trace, ended)


def parts(fleet: Fleet) -> Mapping[str, Fleet]:
    """Nodes of each group with a quota, and of the rest if any are left.

    Raises:
        InputError: where quotas are not whole nodes of one kind, or more than there are.
    """
    if len(fleet.nodes) > 1:
        raise InputError("quotas need a fleet of one kind of device; use a fleet for each kind.")
    nodes = fleet.nodes[0]
    uneven = [group for group, devices in fleet.quota.items() if devices % nodes.devices]
    if uneven:
        raise InputError(
            f"Fleet.quota of {', '.join(uneven)} must be whole nodes, multiples of {nodes.devices}."
        )
    rest = fleet.devices - sum(fleet.quota.values())
    if rest < 0:
        raise InputError(f"Fleet.quota promises {-rest} devices more than there are.")
    sizes = {**fleet.quota, REST: rest}
    return {
        group: Fleet(nodes=(replace(nodes, count=devices // nodes.devices),))
        for group, devices in sizes.items()
        if devices
    }


def _joined(trace: Trace, ended: Mapping[str, Outcomes]) -> Outcomes:
    """The outcomes of all partitions in the order of the whole trace."""
    whole = Outcomes(trace)
    ranks = {job.name: rank for rank, job in enumerate(trace.jobs)}
    for part in ended.values():
        for place, job in enumerate(part.trace.jobs):
            rank = ranks[job.name]
            for column in ("begun", "ended", "attained", "held", "stops"):
                getattr(whole, column)[rank] = getattr(part, column)[place]
        whole.last = max(whole.last, part.last)
    return whole
