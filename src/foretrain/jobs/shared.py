"""Shared dispatch: the policies that look at all jobs and say how many devices each gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import NamedTuple

from foretrain.cluster.fleet import Fleet
from foretrain.jobs.active import Active
from foretrain.jobs.simulation import Simulation

ROUNDING = 1e-9
"""Share of a round by which floats may miss its boundary."""


class Grant(NamedTuple):
    """What a job gets.

    Attributes:
        devices: how many.
        kinds: of which kinds; empty for any.
    """

    devices: float
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """What a policy sees.

    Attributes:
        now: seconds since the trace began.
        jobs: all that have come and not ended, the first to come first.
        fleet: what they share.
    """

    now: float
    jobs: Sequence[Active]
    fleet: Fleet


Policy = Callable[[State], Mapping[int, Grant]]
"""What each job gets, by its rank; a job that is not named gets nothing."""


class SharedDispatcher:
    """Gives each job what a policy says, at every event or in rounds.

    Attributes:
        period: seconds from one decision to the next, counted from the beginning of the trace;
            0 to decide whenever a job comes or ends.

    A job whose grant does not change goes on; another is interrupted and started again. Jobs start
    in the order in which the policy names them; one whose devices cannot be had waits.
    """

    def __init__(self, policy: Policy, fleet: Fleet, *, period: float = 0.0) -> None:
        self.period = period
        self._policy = policy
        self._fleet = fleet
        self._there: dict[int, Active] = {}
        self._grants: Mapping[int, Grant] = {}
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
        state = State(simulation.now, tuple(self._there.values()), self._fleet)
        grants = self._policy(state)
        changed = [rank for rank in self._there if self._grants.get(rank) != grants.get(rank)]
        for rank in changed:
            if self._there[rank].held is not None:
                simulation.stop(self._there[rank])
        for rank, grant in grants.items():
            if self._there[rank].held is None:
                simulation.start(self._there[rank], grant.devices, grant.kinds)
        self._grants = grants

    def _due(self, simulation: Simulation) -> bool:
        """Whether a round begins now; if not, ask to be woken when the next one does."""
        if not self._there:
            return False
        now = simulation.now
        turn = floor(now / self.period + ROUNDING)
        begins = abs(now - turn * self.period) <= ROUNDING * self.period
        upcoming = (turn + 1) * self.period
        if self._next < upcoming:
            self._next = upcoming
            simulation.at(upcoming, _nothing)
        return begins


def _nothing() -> None:
    """A round begins; the decision follows by itself."""
