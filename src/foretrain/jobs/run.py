"""One run: a trace, a fleet and a policy, from the first arrival to the last end.

Where nodes fail, jobs lose their devices and the work since their last checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, expm1, fsum
from typing import TYPE_CHECKING

from foretrain.cluster.mixed import Fleet, NodeFailures
from foretrain.errors import InputError
from foretrain.jobs.active import Active, CountedPool, Limits, Pool
from foretrain.jobs.admission import Admission, Eligibility, partitioned, room
from foretrain.jobs.hazard import pace
from foretrain.jobs.nodes import NodePool, Place, packed, racks, spread
from foretrain.jobs.outages import Fragmentation, Outages, lose_node
from foretrain.jobs.outcomes import Observer, Outcomes, Watch
from foretrain.jobs.policies.policy import PolicyInputs
from foretrain.jobs.policies.table import named
from foretrain.jobs.rounds import only_kind
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.measured.job import End, Job, Trace
from foretrain.measured.queue_study import Conditions, Placement

if TYPE_CHECKING:
    from numpy.random import Generator

PLACES: Mapping[Placement, Place] = {
    Placement.PACKED: packed,
    Placement.SPREAD: spread,
    Placement.RACKS: racks,
}

ROUNDS = 1e7
"""Rounds from which on a simulation is refused: they would take ten minutes and more."""

LISTED = 10
"""Jobs that an error names."""


def run(
    trace: Trace,
    fleet: Fleet,
    policy: str,
    *,
    past: Trace | None = None,
    conditions: Conditions | None = None,
    watch: Watch | None = None,
    random: Generator | None = None,
) -> Outcomes:
    """What becomes of the jobs of a trace.

    Args:
        trace: the jobs.
        fleet: what they share; groups with a quota have their nodes to themselves.
        policy: a name of the table.
        past: jobs that ended before, from which a policy may learn; None for the trace's own.
        conditions: under which they run; None for any devices, and a decision at every event.
        watch: notes how it went.
        random: decides when nodes fail; needed where they do.

    Raises:
        InputError: where a job can never run.
    """
    asked = conditions or Conditions()
    _refuse(trace, fleet, policy, asked=asked)
    # What there is to learn from: how long those would take that still run is not known.
    past = past or trace
    over = tuple(job for job in past.jobs if job.end is not End.RUNNING)
    known = replace(past, jobs=over) if 0 < len(over) < len(past.jobs) else past

    pipeline = _Stages(policy=policy, past=known, asked=asked, watch=watch, random=random)
    return partitioned(trace, fleet, pipeline) if fleet.quota else pipeline(trace, fleet)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stages:
    """The stages of a scheduler, from a job's coming to its place on nodes.

    | stage | what it decides | where |
    |---|---|---|
    | capacity | which nodes are there | `Failures`, `outages.py` |
    | eligibility | what a job waits for before it stands in the queue | `admission.py` |
    | admission | how much work is let in | `admission.py` |
    | priority, selection | who is next, and who may pass | a policy's order or division |
    | reservation, backfill | who has a future start that others must not touch | `backfill.py` |
    | preemption | who is stopped for whom | a policy; `Simulation.stop` |
    | limits | who may not start, whatever a policy says | `active.py`; `Simulation.start` |
    | placement | on which nodes | `active.py`, `nodes.py` |

    A policy is the four in the middle. The others are the same under every policy.
    """

    policy: str
    past: Trace
    asked: Conditions
    watch: Watch | None
    random: Generator | None

    def __call__(self, trace: Trace, fleet: Fleet) -> Outcomes:
        """What becomes of the jobs of a trace."""
        check(trace, fleet)
        asked = self.asked
        observers: list[Observer] = [self.watch] if self.watch else []
        dispatcher = named(self.policy).make(
            PolicyInputs(fleet=fleet, past=self.past, period=asked.period, site=asked.site)
        )
        if asked.admit:
            dispatcher = Admission(dispatcher, fleet, most=asked.admit)
        pool, lies = self._pool(fleet)
        observers += [lies] if lies else []
        if asked.failures is not None:
            assert self.random is not None, "failures need a random generator"
            assert isinstance(pool, NodePool), "what fails is a node"
            dispatcher = Failures(dispatcher, pool, failing=asked.failures, random=self.random)
        if asked.outages:
            assert isinstance(pool, NodePool), "what is out is a node"
            dispatcher = Outages(dispatcher, pool, outages=asked.outages)
        eligibility = None
        if any(job.after or job.rung for job in trace.jobs):
            # The first whom a job meets: who is given up before it may start, nobody else has met.
            eligibility = Eligibility(dispatcher, trace)
            observers.append(eligibility)
            dispatcher = eligibility
        outcomes = Simulation(
            trace,
            pool,
            dispatcher,
            observers=observers,
            limits=Limits((*asked.limits, *asked.site.limits)),
            grace=asked.grace,
        ).run()
        outcomes.fragmentation = lies.stranded_share if lies else None
        outcomes.sweeps = eligibility.sweeps.held if eligibility else {}
        return outcomes

    def _pool(self, fleet: Fleet) -> tuple[Pool, Fragmentation | None]:
        """Devices, told apart by node where that matters, and who notes how badly they lie."""
        asked = self.asked
        anywhere = asked.placement is Placement.ANY and not (asked.failures or asked.outages)
        if anywhere and not named(self.policy).on_nodes:
            return CountedPool(fleet), None
        pool = NodePool(fleet, PLACES.get(asked.placement, packed))
        return pool, Fragmentation(pool)


def _refuse(trace: Trace, fleet: Fleet, policy: str, *, asked: Conditions) -> None:
    """Refuse what the policy cannot do, and what would hardly ever end."""
    wanted = named(policy)
    if wanted.one_kind:
        only_kind(fleet, policy)
    if wanted.fluid and (asked.placement is not Placement.ANY or asked.failures or asked.outages):
        raise InputError(f"{policy} divides devices as a fluid, which lies on no node: {FLUID}")
    if asked.outages and fleet.quota:
        raise InputError("outages count the nodes of a whole fleet; leave the quotas out.")
    if asked.failures is not None:
        refuse_endless(trace, fleet, asked.failures)
    if wanted.period:
        period = asked.period or wanted.period
        work = fsum(job.devices * job.ends_after / pace(job) for job in trace.jobs)
        rounds = (trace.jobs[-1].arrival + work / fleet.devices) / period
        if rounds > ROUNDS:
            raise InputError(
                f"the simulation would never end: its jobs take some {rounds:.2g} rounds of"
                f" {period:g} s. Take longer rounds, or a policy that decides at events."
            )


FLUID = 'leave placement "any" and failures out, or take another policy.'


def check(trace: Trace, fleet: Fleet) -> None:
    """Refuse jobs that the fleet can never hold, all at once."""
    largest = {kinds: room(fleet, kinds) for kinds in {job.kinds for job in trace.jobs}}
    too_large = [job for job in trace.jobs if job.devices > largest[job.kinds]]
    if too_large:
        names = ", ".join(f"{job.name} ({job.devices})" for job in too_large[:LISTED])
        more = f" and {len(too_large) - LISTED} more" if len(too_large) > LISTED else ""
        raise InputError(
            f"{trace.name}: {len(too_large)} jobs ask for more devices of one kind than the fleet"
            f" has ({max(largest.values())}): {names}{more}. Enlarge the fleet, or leave them out."
        )


MANY = 1e6
"""Failures from which on a simulation is refused: they would take more than a minute."""

LARGEST = 50.0
"""Of failures between two checkpoints: beyond it, their exponential would only overflow."""


def refuse_endless(trace: Trace, fleet: Fleet, failing: NodeFailures) -> None:
    """Refuse jobs that would hardly ever end.

    Raises:
        InputError: where the nodes of jobs fail too often between two of their checkpoints.
    """
    largest = max(each.devices for each in fleet.nodes)
    found = [(_expected(job, failing, largest), job) for job in trace.jobs]
    total = fsum(failures for failures, _ in found)
    if total > MANY:
        most, worst = max(found, key=lambda each: each[0])
        raise InputError(
            f"the simulation would never end: {total:.2g} failures of nodes are to be expected,"
            f" {most:.2g} of them in job {worst.name} ({worst.devices} devices). Write checkpoints"
            " more often, or let nodes fail less often."
        )


def _expected(job: Job, failing: NodeFailures, largest: int) -> float:
    """Failures that a job meets: until it gets from one checkpoint to the next, exp(x) - 1."""
    seconds = job.ends_after / pace(job)
    between = min(failing.checkpoint, seconds)
    each = ceil(job.devices / largest) * between / failing.between
    return expm1(min(each, LARGEST)) * seconds / between


class Failures:
    """Lets nodes fail under a dispatcher, from the first arrival to the last end.

    To the policy a job whose node fails leaves, and comes again with the work that it has saved.

    Attributes:
        count: failures so far.
        lost: device-seconds of work that had to be done again.
    """

    def __init__(
        self, dispatcher: Dispatcher, pool: NodePool, *, failing: NodeFailures, random: Generator
    ) -> None:
        self.count = 0
        self.lost = 0.0
        self._dispatcher = dispatcher
        self._pool = pool
        self._failing = failing
        self._random = random
        self._there: dict[int, Active] = {}
        self._events: dict[int, int] = {}
        self._down: set[int] = set()

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come; with the first one, nodes begin to fail."""
        if not self._there:
            for node in sorted(set(range(self._pool.count)) - self._down):
                self._expect(node, simulation)
        self._there[active.rank] = active
        self._dispatcher.arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended; while none is there, failures do not matter and are not drawn."""
        del self._there[active.rank]
        self._dispatcher.leave(active, simulation)
        if not self._there:
            for event in self._events.values():
                simulation.cancel(event)
            self._events.clear()

    def decide(self, simulation: Simulation) -> None:
        """Let the dispatcher decide."""
        self._dispatcher.decide(simulation)

    def _expect(self, node: int, simulation: Simulation) -> None:
        lasts = float(self._random.exponential(self._failing.between))
        self._events[node] = simulation.at(
            simulation.now + lasts, partial(self._fail, node, simulation)
        )

    def _fail(self, node: int, simulation: Simulation) -> None:
        """A node fails; so do the jobs on it."""
        del self._events[node]
        self._down.add(node)
        self.count += 1
        for active in tuple(self._there.values()):
            held = active.held
            if held is None or all(place != node for place, _ in held.places):
                continue
            self.lost += lose_node(
                active, self._dispatcher, simulation, checkpoint=self._failing.checkpoint
            )
        self._pool.close(node)
        simulation.at(
            simulation.now + self._failing.repair, partial(self._repair, node, simulation)
        )

    def _repair(self, node: int, simulation: Simulation) -> None:
        self._pool.open(node)
        self._down.remove(node)
        if self._there:
            self._expect(node, simulation)
