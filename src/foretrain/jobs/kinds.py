"""What a division of time sees of a job: how quickly it goes on each kind, and what is left.

Both are counted in steps of the present phase: who divides time does not know that a batch will
grow, and sees a job's steps become larger when it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.shared import ClusterState
from foretrain.measured.job import Phased, current


def rates(active: Active, state: ClusterState) -> Mapping[str, float]:
    """Steps per second on the devices that the job asks for, by kind.

    Args:
        active: the job.
        state: where it runs; kinds that the job cannot use, or of which too few devices can be
            given, are left out.
    """
    job, step = active.job, _step(active)
    return {
        each.kind: job.curve.rate(
            job.devices, nodes=ceil(job.devices / each.devices), kind=each.kind, done=active.done
        )
        / step
        for each in state.fleet.nodes
        if (not job.kinds or each.kind in job.kinds) and state.room(each.kind) >= job.devices
    }


def steps_left(active: Active) -> float:
    """Steps until all of a job's work is done."""
    return (active.job.work - active.done) / _step(active)


def _step(active: Active) -> float:
    """Units of work of a step."""
    curve = active.job.curve
    return current(curve.phases, active.done).scale if isinstance(curve, Phased) else 1.0


def only_kind(fleet: Fleet, policy: str) -> str:
    """The kind of a fleet that has one.

    Raises:
        InputError: where it has several.
    """
    if len(fleet.nodes) > 1:
        kinds = ", ".join(each.kind for each in fleet.nodes)
        raise InputError(
            f"{policy} divides one kind of device; the fleet has {kinds}. Use max-min-kinds,"
            " allox, sia or a policy that orders jobs, or simulate each kind alone."
        )
    return fleet.nodes[0].kind


def filled(
    least: Mapping[int, float], jobs: Sequence[Active], *, devices: float
) -> dict[int, float]:
    """Shares of time of jobs that use up some devices.

    What the least shares leave over is given to all, to each the same part of what it lacks.

    Args:
        least: share of each job, by rank.
        jobs: those jobs.
        devices: how many there are.
    """
    taken = sum(least[active.rank] * active.job.devices for active in jobs)
    lacking = sum((1.0 - least[active.rank]) * active.job.devices for active in jobs)
    part = min(1.0, max(0.0, devices - taken) / lacking) if lacking > 0.0 else 0.0
    return {rank: share + part * (1.0 - share) for rank, share in least.items()}


def water_level(most: Sequence[int], *, devices: float) -> float:
    """Devices of everybody who can use more, once nothing is left over.

    Args:
        most: devices that each can use.
        devices: that they share.
    """
    left, level = float(devices), float(devices)
    for place, each in enumerate(sorted(most)):
        level = left / (len(most) - place)
        if each >= level:
            break
        left -= each
    return level
