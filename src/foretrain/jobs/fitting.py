"""Fitting: which jobs of a log a fleet can hold at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from foretrain.cluster.fleet import Fleet
from foretrain.jobs.partitions import REST, parts
from foretrain.measured.job import Job
from foretrain.measured.log import Log, Remainder

TOO_LARGE = "ask for more devices than there are for them"
NO_KIND = "need kinds of devices that the fleet has not"


def that_fit(log: Log, fleet: Fleet) -> Log:
    """The log without jobs that the fleet can never hold, which are told as left out.

    Args:
        log: of this fleet or of another.
        fleet: what its jobs are to share; a group with a quota has no other devices.

    Where no job fits, all of them are returned: a run of them says why.
    """
    shares = parts(fleet) if fleet.quota else {REST: fleet}
    remainder = Remainder(log.left_out)
    kept = tuple(job for job in log.trace.jobs if _fits(job, shares, remainder))
    if not kept or len(kept) == len(log.trace.jobs):
        return log
    names = {job.name for job in kept}
    return replace(
        log,
        trace=replace(log.trace, jobs=kept),
        begun={name: begun for name, begun in log.begun.items() if name in names},
        left_out=remainder.left_out(),
    )


def room(fleet: Fleet, kinds: tuple[str, ...]) -> int:
    """The most devices of one kind.

    Args:
        fleet: that has them.
        kinds: that count; empty for all.
    """
    return max(
        (each.count * each.devices for each in fleet.nodes if not kinds or each.kind in kinds),
        default=0,
    )


def _fits(job: Job, shares: Mapping[str, Fleet], remainder: Remainder) -> bool:
    """Whether a job can run; if not, it is left out.

    That the quotas leave a group nothing at all is no matter of one job: a run tells it.
    """
    fleet = shares.get(job.group, shares.get(REST))
    if fleet is None:
        return True
    most = room(fleet, job.kinds)
    if job.devices <= most:
        return True
    if most:
        told = f"job {job.name} asks for {job.devices}, and there are {most}."
        remainder.add(TOO_LARGE, job.sequence, told)
    else:
        told = f"job {job.name} needs {' or '.join(job.kinds)}."
        remainder.add(NO_KIND, job.sequence, told)
    return False
