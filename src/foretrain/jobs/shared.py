"""Dealt out: parts of a cluster for jobs, by policies that look at all of them, and for queues.

Shared dispatch: the policies that look at all jobs and say how many devices each gets.

Queues that deserve parts of a cluster: Volcano's proportion, and KAI's fair share.

A queue may start jobs as far as they leave it within what it deserves; the queue that has least of
it is first, and in it who came first. Nobody is stopped: reclaiming is off, as it is by default in
Volcano.

Source: volcano, pkg/scheduler/plugins/proportion/proportion.go; KAI-Scheduler, its queue order.

Water filling: how much of a cluster each queue deserves, by weight and by what it asks for.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, inf
from typing import NamedTuple

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job
from foretrain.measured.limit import QuotaQueue

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

    def __init__(
        self,
        policy: Policy,
        fleet: Fleet,
        *,
        period: float = 0.0,
        lasts: Callable[[], float] = lambda: inf,
    ) -> None:
        """Nobody is there.

        Args:
            policy: what each job gets.
            fleet: what they share.
            period: see above.
            lasts: seconds for which what the policy said last is so, even if nothing happens; asked
                where there are no rounds.
        """
        self.period = period
        self._policy = policy
        self._lasts = lasts
        self._change: int | None = None
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
        self._wake(simulation)

    def _wake(self, simulation: Simulation) -> None:
        """Be asked again when the grants change by themselves."""
        if self._change is not None:
            simulation.cancel(self._change)
        lasts = inf if self.period or not self._grants else self._lasts()
        self._change = simulation.at(simulation.now + lasts, _nothing) if lasts < inf else None

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


def _nothing() -> None:
    """Happens for the sake of the decision after it."""


Division = Callable[[Sequence[QuotaQueue], Mapping[str, float], float], Mapping[str, float]]
"""What each queue deserves, from what its jobs ask for and how many devices there are."""

NEAR = 1e-9
"""Devices by which what a queue deserves may miss a whole number."""


class DeservingDispatcher:
    """Starts jobs of queues within what these deserve, worked out anew at every decision."""

    def __init__(self, queues: Sequence[QuotaQueue], fleet: Fleet, *, divide: Division) -> None:
        """Nobody waits or runs.

        Args:
            queues: with weights; none for one queue.
            fleet: that they share.
            divide: what each deserves.
        """
        self._queues = queues or (QuotaQueue(name="", devices=float(fleet.devices)),)
        self._devices = float(fleet.devices)
        self._divide = divide
        self._lines: dict[str, list[tuple[int, Active]]] = {each.name: [] for each in self._queues}
        self._held = dict.fromkeys(self._lines, 0.0)

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after a failure."""
        insort(self._lines[self._name(active)], (active.rank, active))

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended."""
        self._held[self._name(active)] -= active.job.devices

    def decide(self, simulation: Simulation) -> None:
        """Start the first jobs of the queues that have least of what they deserve."""
        asked = {
            name: self._held[name] + sum(active.job.devices for _, active in line)
            for name, line in self._lines.items()
        }
        there = self._devices - sum(simulation.pool.down.values())
        deserved = self._divide(self._queues, asked, there)
        # A job that cannot start is passed, in its queue too: nothing is reserved.
        open_lines = {name: list(line) for name, line in self._lines.items() if line}
        while open_lines:
            name = min(open_lines, key=lambda each: (self._share(each, deserved), each))
            rank, active = open_lines[name].pop(0)
            count = active.job.devices
            within = self._held[name] + count <= deserved[name] + NEAR
            if within and simulation.start(active, count, active.job.kinds):
                self._lines[name].remove((rank, active))
                self._held[name] += count
            if not open_lines[name]:
                del open_lines[name]

    def _share(self, name: str, deserved: Mapping[str, float]) -> float:
        return self._held[name] / deserved[name] if deserved[name] else 0.0

    def _name(self, active: Active) -> str:
        group = active.job.group
        if len(self._lines) == 1 and "" in self._lines:
            return ""
        if group not in self._lines:
            raise InputError(
                f"job {active.job.name} was submitted to queue '{group}', which the site has not."
                f" Known: {', '.join(self._lines)}. Add it to site.queues."
            )
        return group


ENOUGH = 1e-9
"""Devices below which nothing is left to deal out."""


def proportion(
    queues: Sequence[QuotaQueue], asked: Mapping[str, float], devices: float
) -> Mapping[str, float]:
    """What each queue deserves of a cluster by Volcano's plug-in of that name.

    Args:
        queues: with weights.
        asked: devices that the jobs of each queue ask for, those that run too.
        devices: of the cluster.

    What remains is dealt by weight among queues that are not yet served, again and again; no queue
    gets more than it asks for, or than it may have. A job that is wider than what its queue
    deserves never starts, though the cluster be idle.

    Source: volcano, pkg/scheduler/plugins/proportion/proportion.go; re-implemented from the rules.
    """
    deserved = {each.name: 0.0 for each in queues}
    most = {each.name: min(each.most, devices, asked.get(each.name, 0.0)) for each in queues}
    unmet = [each for each in queues if most[each.name] > 0]
    remaining = devices
    while unmet and remaining > ENOUGH:
        weights = sum(each.weight for each in unmet)
        given = 0.0
        for each in unmet:
            before = deserved[each.name]
            part = remaining * each.weight / weights if weights else 0.0
            deserved[each.name] = min(before + part, most[each.name])
            given += deserved[each.name] - before
        remaining -= given
        unmet = [each for each in unmet if deserved[each.name] < most[each.name]]
        if given <= ENOUGH:
            break
    return deserved


def fair_share(
    queues: Sequence[QuotaQueue], asked: Mapping[str, float], devices: float, *, memory: float = 0.0
) -> Mapping[str, float]:
    """The fair share of each queue, in whole devices, by KAI's scheduler.

    Args:
        queues: with what they are promised, and weights.
        asked: devices that the jobs of each queue ask for, those that run too.
        devices: of the cluster.
        memory: how much past use counts (k): weights are n + k (n - use), n being the weight among
            those that are not served.

    First what is promised; the rest by weight, rounded down, again while somebody is served by it;
    what is then left goes one by one to the largest remainders.

    Source: KAI-Scheduler, pkg/scheduler/plugins/proportion/resource_division; re-implemented from
    the rules.
    """
    most = {each.name: min(asked.get(each.name, 0.0), each.most) for each in queues}
    share = {each.name: min(each.devices, most[each.name]) for each in queues}
    rest = devices - sum(share.values())
    while rest > 0:
        unmet = [each for each in queues if share[each.name] < most[each.name]]
        parts = _parts(unmet, rest, memory=memory)
        if not parts:
            break
        given = {name: min(floor(part), most[name] - share[name]) for name, part in parts.items()}
        for name, some in given.items():
            share[name] += some
        rest -= sum(given.values())
        if any(share[name] >= most[name] for name in parts) and rest > 0:
            continue
        # Nobody was served: the largest remainders get one each.
        for name in sorted(parts, key=lambda each: floor(parts[each]) - parts[each]):
            if rest >= 1 and share[name] < most[name]:
                share[name] += 1.0
                rest -= 1.0
        break
    return share


def _parts(queues: Sequence[QuotaQueue], rest: float, *, memory: float) -> Mapping[str, float]:
    """What is left, divided by weight and past use."""
    weights = sum(each.weight for each in queues)
    if not weights:
        return {}
    due = {}
    for each in queues:
        normal = each.weight / weights
        due[each.name] = max(0.0, normal + memory * (normal - each.past))
    total = sum(due.values())
    return {name: rest * each / total for name, each in due.items()} if total else {}
