"""One run: a trace, a fleet and a policy, from the first arrival to the last end."""

from __future__ import annotations

from foretrain.cluster.fleet import Fleet
from foretrain.errors import InputError
from foretrain.jobs.history import Watch
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.policies.table import Asked, named
from foretrain.jobs.pool import CountedPool, Pool
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Trace
from foretrain.measured.queue_study import Placement

LISTED = 10
"""Jobs that an error names."""


def run(
    trace: Trace,
    fleet: Fleet,
    policy: str,
    *,
    past: Trace | None = None,
    period: float = 0.0,
    placement: Placement = Placement.ANY,
    watch: Watch | None = None,
) -> Outcomes:
    """What becomes of the jobs of a trace.

    Args:
        trace: the jobs.
        fleet: what they share.
        policy: a name of the table.
        past: jobs that ended before, from which a policy may learn; None for the trace's own.
        period: seconds of a scheduling round; 0 to decide at every event.
        placement: of jobs on nodes.
        watch: notes how it went.

    Raises:
        InputError: where a job can never run.
    """
    check(trace, fleet)
    asked = Asked(fleet=fleet, past=past or trace, period=period)
    dispatcher = named(policy).make(asked)
    return Simulation(trace, pool(fleet, placement), dispatcher, watch=watch).run()


def check(trace: Trace, fleet: Fleet) -> None:
    """Refuse jobs that the fleet can never hold, all at once."""
    largest = {kinds: _room(fleet, kinds) for kinds in {job.kinds for job in trace.jobs}}
    too_large = [job for job in trace.jobs if job.devices > largest[job.kinds]]
    if too_large:
        names = ", ".join(f"{job.name} ({job.devices})" for job in too_large[:LISTED])
        more = f" and {len(too_large) - LISTED} more" if len(too_large) > LISTED else ""
        raise InputError(
            f"{trace.name}: {len(too_large)} jobs ask for more devices of one kind than the fleet"
            f" has ({max(largest.values())}): {names}{more}. Enlarge the fleet, or leave them out."
        )


def _room(fleet: Fleet, kinds: tuple[str, ...]) -> int:
    """The most devices of one kind."""
    return max(
        (each.count * each.devices for each in fleet.nodes if not kinds or each.kind in kinds),
        default=0,
    )


def pool(fleet: Fleet, placement: Placement) -> Pool:
    """The free devices of a fleet."""
    assert placement is Placement.ANY, placement
    return CountedPool(fleet)
