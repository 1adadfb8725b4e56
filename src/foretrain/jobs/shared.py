"""Shared dispatch: the policies that look at all jobs and say how many devices each gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor
from typing import NamedTuple

from foretrain.cluster.mixed import Fleet
from foretrain.jobs.active import Active
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job

ROUNDING = 1e-9
"""Share of a round by which floats may miss its boundary."""


class Allocation(NamedTuple):
    """What a job gets.

    Attributes:
        devices: how many.
        kinds: of which kinds; empty for any.
    """

    devices: float
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What a policy sees.

    Attributes:
        now: seconds since the trace began.
        jobs: those that have come, have not ended and may be given devices, the first to come
            first.
        fleet: what they share.
        taken: devices of it that cannot be given to anybody now, by kind.
    """

    now: float
    jobs: Sequence[Active]
    fleet: Fleet
    taken: Mapping[str, float] = field(default_factory=dict)

    @property
    def devices(self) -> float:
        """All devices that can be given."""
        return self.fleet.devices - sum(self.taken.values())

    def room(self, kind: str) -> float:
        """Devices of a kind that can be given."""
        nodes = next(each for each in self.fleet.nodes if each.kind == kind)
        return nodes.count * nodes.devices - self.taken.get(kind, 0)

    def can_hold(self, job: Job, devices: int) -> bool:
        """Whether there are so many devices of some kind that a job can use."""
        return any(
            self.room(each.kind) >= devices
            for each in self.fleet.nodes
            if not job.kinds or each.kind in job.kinds
        )


def state_of(
    there: Iterable[Active], fleet: Fleet, simulation: Simulation, *, fewest: Callable[[Job], int]
) -> ClusterState:
    """What a policy may deal out: left out is what it could not have its way with.

    That are nodes that are down; jobs that must not be interrupted, with the devices that they
    hold; jobs for which what remains is too little; and jobs that a limit keeps from running beside
    those that came before them.

    Args:
        there: jobs that have come and not ended, the first to come first.
        fleet: what they share.
        simulation: asked for the time and the nodes that are down.
        fewest: devices below which a job cannot run.
    """
    jobs = tuple(simulation.limits.together(tuple(there)))
    still = [each for each in jobs if each.held is not None and not each.job.preemptible]
    down = simulation.pool.down
    if not still and not down:
        return ClusterState(simulation.now, jobs, fleet)
    taken = dict[str, float](down)
    for active in still:
        if active.held is not None:
            taken[active.held.kind] = taken.get(active.held.kind, 0) + active.held.devices
    state = ClusterState(simulation.now, (), fleet, taken)
    may = (each for each in jobs if each.held is None or each.job.preemptible)
    able = tuple(each for each in may if state.can_hold(each.job, fewest(each.job)))
    return replace(state, jobs=able)


Policy = Callable[[ClusterState], Mapping[int, Allocation]]
"""What each job gets, by its rank; a job that is not named gets nothing."""


class SharedDispatcher:
    """Gives each job what a policy says, at every event or in rounds.

    Attributes:
        period: seconds from one decision to the next, counted from the beginning of the trace;
            0 to decide whenever a job comes or ends.

    A job whose grant does not change goes on; another is interrupted and started again, unless it
    must not be interrupted. Jobs start in the order in which the policy names them; one whose
    devices cannot be had waits.
    """

    def __init__(self, policy: Policy, fleet: Fleet, *, period: float = 0.0) -> None:
        self.period = period
        self._policy = policy
        self._fleet = fleet
        self._there: dict[int, Active] = {}
        self._grants: Mapping[int, Allocation] = {}
        self._next = -1.0

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after a failure."""
        self._there[active.rank] = active
        if active.begun is not None:
            self._there = dict(sorted(self._there.items()))

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended."""
        del self._there[active.rank]

    def decide(self, simulation: Simulation) -> None:
        """Ask the policy and do as it says, unless the round is not over."""
        if self.period and not self._due(simulation):
            return
        state = state_of(
            self._there.values(),
            self._fleet,
            simulation,
            fewest=lambda job: job.curve.counts[0],
        )
        grants = self._policy(state) if state.jobs else {}
        for rank, active in self._there.items():
            changed = self._grants.get(rank) != grants.get(rank)
            if changed and active.held is not None and active.job.preemptible:
                simulation.stop(active)
        for rank, grant in grants.items():
            if self._there[rank].held is None:
                simulation.start(self._there[rank], grant.devices, grant.kinds)
        self._grants = grants

    def _due(self, simulation: Simulation) -> bool:
        """Whether a round begins now; if not, ask to be woken when the next one does."""
        if not self._there:
            return False
        turn = floor(simulation.now / self.period + ROUNDING)
        upcoming = (turn + 1) * self.period
        if self._next < upcoming:
            self._next = upcoming
            simulation.wake(upcoming)
        return abs(simulation.now - turn * self.period) <= ROUNDING * self.period
