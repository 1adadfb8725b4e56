"""Rounds: jobs are promised shares of time, and each round runs those furthest behind theirs.

A division says what share of its time each job should have on each kind of device. At the start
of a round every job and kind has a priority: the promised share over the share of the kind's time
that the job has received. Kinds are dealt out one after another, as the fleet lists them: down that
order whole gangs are placed while devices last. A job that runs on as before goes on at once,
another starts anew, and the seconds of its start count as none that it received. A job works in
whole units (steps) and a round is over when the last of its jobs has done its own, or has ended;
what ends earlier leaves its devices idle until then. Divisions are renewed when jobs have come or
left, but seldom.

Source: narayanan2020, section 5, and gavel; what they leave open is told in docs/decisions/032.

What a division of time sees of a job: how quickly it goes on each kind, and what is left.

Both are counted in steps of the present phase: who divides time does not know that a batch will
grow, and sees a job's steps become larger when it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, inf
from operator import itemgetter
from typing import NamedTuple

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active, Progress, believed
from foretrain.jobs.shared import ClusterState, state_of
from foretrain.jobs.simulation import Simulation
from foretrain.throughput import (
    Phased,
    current,
)


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


Shares = Mapping[int, Mapping[str, float]]
"""Of each job, by rank, the share of its time on each kind of device, from 0 to 1."""

Division = Callable[[ClusterState], Shares]
"""A policy that divides time; a job that it does not name has no share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How rounds are dealt out.

    Attributes:
        period: seconds of a round, at most.
        renewal: seconds that a division lasts at least; one that is made at time 0 lasts a round.
        spare: whether jobs without a share run on devices that are left over.
        waived: seconds; a job that without a start ends so long before its round pays for none, nor
            does any in the first round. Infinite where all pay.

    Source: gavel, scheduler/scheduler.py: rounds of 360 s, 1,920 s between divisions at least.
    """

    period: float = 360.0
    renewal: float = 1920.0
    spare: bool = True
    waived: float = inf

    def __post_init__(self) -> None:
        if not self.period > 0:
            raise InputError(f"Rules.period must be above 0 s, got {self.period}.")
        if not self.renewal >= 0:
            raise InputError(f"Rules.renewal must be at least 0 s, got {self.renewal}.")


class Lease(NamedTuple):
    """What a job does in a round.

    Attributes:
        goal: units of work done at which it pauses.
        begins: when it goes on with work.
        ends: when it pauses.
    """

    goal: float
    begins: float
    ends: float


class Account:
    """What a job got of each kind: seconds since the division, and what it was owed before."""

    __slots__ = ("owed", "received")

    def __init__(self, kinds: tuple[str, ...], period: float) -> None:
        self.received = dict.fromkeys(kinds, period / 2.0)
        self.owed = dict.fromkeys(kinds, 0.0)


class RoundsDispatcher:
    """Runs in each round the jobs that are furthest behind the shares of a division."""

    def __init__(
        self, divide: Division, fleet: Fleet, *, rules: Rules, progress: Progress = believed
    ) -> None:
        self._divide = divide
        self._fleet = fleet
        self._rules = rules
        self._progress = progress
        self._kinds = tuple(each.kind for each in fleet.nodes)
        self._there: dict[int, Active] = {}
        self._accounts: dict[int, Account] = {}
        self._leases: dict[int, Lease] = {}
        self._shares: Shares = {}
        self._divided = self._over = 0.0
        self._stale = True
        self._first: float | None = None
        self._down: Mapping[str, int] | None = None

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after a failure."""
        self._there[active.rank] = active
        if active.begun is not None:
            self._there = dict(sorted(self._there.items()))
        self._accounts[active.rank] = Account(self._kinds, self._rules.period)
        self._stale = True

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended."""
        del self._there[active.rank], self._accounts[active.rank]
        self._leases.pop(active.rank, None)
        self._stale = True

    def decide(self, simulation: Simulation) -> None:
        """Begin a round, unless one is not over."""
        now = simulation.now
        if not self._there or now < self._over:
            return
        # The last round is over: who ran pauses, and its time is put to its account.
        for rank, lease in self._leases.items():
            self._pause(self._there[rank], lease, simulation)
        self._leases = {}
        down, before = simulation.pool.down, self._down
        self._down, self._stale = down, self._stale or down is not before
        if self._stale and (not self._divided or now >= self._divided + self._rules.renewal):
            self._renew(simulation)
        self._first = now if self._first is None else self._first
        for active, kind in self._ordered():
            free = active.held is None
            begins = free and self._start(active, kind, simulation)
            if begins and active.job.preemptible:  # others run on until they end
                self._lease(active, simulation)
        if self._leases:
            self._over = max(lease.ends for lease in self._leases.values())
            simulation.wake(self._over)
        elif self._stale:
            simulation.wake(self._divided + self._rules.renewal)

    def _pause(self, active: Active, lease: Lease, simulation: Simulation) -> None:
        if active.held is not None:
            received = self._accounts[active.rank].received
            received[active.held.kind] += lease.ends - lease.begins
            simulation.stop(active, done=lease.goal)

    def _renew(self, simulation: Simulation) -> None:
        """Divide anew; what was promised and not received is remembered to break ties."""
        now = simulation.now
        elapsed, half = now - self._divided, self._rules.period / 2.0
        for rank, account in self._accounts.items():
            shares = self._shares.get(rank, {})
            for kind in self._kinds:
                promised = shares.get(kind, 0.0) * elapsed
                account.owed[kind] += promised - (account.received[kind] - half)
                account.received[kind] = half
        state = state_of(
            self._there.values(), self._fleet, simulation, fewest=lambda job: job.devices
        )
        self._shares = self._divide(state) if state.jobs else {}
        self._divided, self._stale = now, False

    def _ordered(self) -> list[tuple[Active, str]]:
        """Jobs that may run in this round on a kind, the first to run first.

        Who finds no room runs not, whatever its share: nodes may be down, or devices lie apart.
        """
        ordered = []
        for kind in self._kinds:
            places = []
            total = sum(account.received[kind] for account in self._accounts.values())
            for rank, active in self._there.items():
                if active.job.kinds and kind not in active.job.kinds:
                    continue
                account, share = self._accounts[rank], self._shares.get(rank, {}).get(kind, 0.0)
                priority = share / (account.received[kind] / total)
                if priority > 0.0 or self._rules.spare:
                    places.append((priority, account.owed[kind], share, active))
            places.sort(key=itemgetter(0, 1, 2), reverse=True)
            ordered += [(active, kind) for _, _, _, active in places]
        return ordered

    def _start(self, active: Active, kind: str, simulation: Simulation) -> bool:
        """Start a job on a kind of device, for nothing where the rules say so."""
        begins = simulation.start(active, active.job.devices, (kind,))
        if begins and self._waives(active, simulation):
            simulation.waive(active)
        return begins

    def _waives(self, active: Active, simulation: Simulation) -> bool:
        """Whether a start that would cost something is for nothing."""
        now, left = simulation.now, active.job.ends_after - active.done
        if self._rules.waived == inf or active.since <= now:
            return False
        return now == self._first or left / active.rate <= self._rules.period - self._rules.waived

    def _lease(self, active: Active, simulation: Simulation) -> None:
        """Let a job work for a round, or until it changes: then it pauses and starts anew.

        A start takes its part of the whole steps of a round; the round does not become longer.
        """
        assert active.held is not None, "who started holds devices"
        late, rate = active.since - simulation.now, active.rate / _step(active)
        steps = max(1, floor(rate * self._rules.period))
        round_ends = simulation.now + steps / rate
        if late > 0.0:
            steps = max(1, floor(steps - rate * late))
        turn = min(self._progress(active, active.held).until, active.job.ends_after)
        goal = min(active.done + steps * _step(active), turn)
        ends = active.since + (goal - active.done) / active.rate
        if goal < turn:
            ends = max(ends, round_ends)
        lease = Lease(goal, active.since, ends)
        self._leases[active.rank] = lease
        if goal == turn < active.job.ends_after:
            simulation.at(lease.ends, partial(self._pause, active, lease, simulation))
