"""One run: a trace, a fleet and a policy, from the first arrival to the last end.

Where nodes fail, jobs lose their devices and the work since their last checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, expm1, fsum, inf
from typing import TYPE_CHECKING, NamedTuple

from foretrain.cluster.mixed import REST, Autoscaling, Fleet, NodeFailures
from foretrain.errors import InputError
from foretrain.jobs.active import (
    CountedPool,
    Pool,
)
from foretrain.jobs.admission import (
    Admission,
    Eligibility,
    Opening,
    Partitions,
    home,
    is_home,
    members,
)
from foretrain.jobs.limits import LIMITED, OF_SITE, UNLICENSED, Limits, unlicensed
from foretrain.jobs.mix import pace
from foretrain.jobs.nodes import NodePool, Place, packed, racks, spread
from foretrain.jobs.outages import Autoscaler, Failures, Outages
from foretrain.jobs.outcomes import (
    Fragmentation,
    Observer,
    OfSome,
    Outcomes,
    Watch,
    stranded_share,
)
from foretrain.jobs.policies.policy import PolicyInputs
from foretrain.jobs.policies.table import named
from foretrain.jobs.quotas import QuotaTree
from foretrain.jobs.rounds import only_kind
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.jobs.slurm_horizon import SwitchTree, progress_of
from foretrain.jobs.why import WaitingNotes
from foretrain.measured.job import OPEN_ENDS, Job, Trace
from foretrain.measured.limit import PartyLimit
from foretrain.measured.queue_study import Conditions, Placement
from foretrain.measured.site import SiteRules, node_set

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
    why: WaitingNotes | None = None,
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
        why: notes why a job waits.

    Raises:
        InputError: where a job can never run.
    """
    asked = conditions or Conditions()
    _refuse(trace, fleet, policy, asked=asked)
    # What there is to learn from: how long those would take that still run is not known.
    past = past or trace
    over = tuple(job for job in past.jobs if job.end not in OPEN_ENDS)
    known = replace(past, jobs=over) if 0 < len(over) < len(past.jobs) else past

    stages = _Stages(policy=policy, past=known, asked=asked, watch=watch, random=random, why=why)
    return stages.outcomes(trace, fleet)


class _Part(NamedTuple):
    """The nodes that some jobs share, and who deals them out.

    Attributes:
        dispatcher: the stages up to the policy.
        policy: the last of them.
        pool: the nodes.
        lies: notes how badly they lie; None where nodes do not matter.
        scaler: lets nodes come and leave; None where they stay.
    """

    dispatcher: Dispatcher
    policy: Dispatcher
    pool: Pool
    lies: Fragmentation | None
    scaler: Autoscaler | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stages:
    """The stages of a scheduler, from a job's coming to its place on nodes.

    | stage | what it decides | where |
    |---|---|---|
    | capacity | which nodes are there | `Failures`, `outages.py` |
    | opening | what a log begins with: who runs, and who waits | `admission.py` |
    | eligibility | what a job waits for before it stands in the queue | `admission.py` |
    | admission | how much work is let in | `admission.py` |
    | priority, selection | who is next, and who may pass | a policy's order or division |
    | reservation, backfill | who has a future start that others must not touch | `backfill.py` |
    | preemption | who is stopped for whom | a policy; `Simulation.stop` |
    | partitions | who has which nodes, where groups have quotas | `admission.py` |
    | limits | who may not start, whatever a policy says | `limits.py`; `Simulation.start` |
    | placement | on which nodes | `active.py`, `nodes.py` |

    A policy is the four in the middle. The others are the same under every policy.
    """

    policy: str
    past: Trace
    asked: Conditions
    watch: Watch | None
    random: Generator | None
    why: WaitingNotes | None

    def outcomes(self, trace: Trace, fleet: Fleet) -> Outcomes:
        """What becomes of the jobs of a trace."""
        asked, of_group = self.asked, self._parts(trace, fleet)
        first = next(iter(of_group.values()))
        quotas = Partitions(
            {group: (each.dispatcher, each.pool) for group, each in of_group.items()}
        )
        dispatcher: Dispatcher = quotas if fleet.quota else first.dispatcher
        observers = self._observers(of_group, several=bool(fleet.quota))
        if first.scaler:
            first.scaler.begin(trace)
        if asked.outages:
            assert isinstance(first.pool, NodePool), "what is out is a node"
            dispatcher = Outages(dispatcher, first.pool, outages=asked.outages)
        eligibility = None
        if any(job.after or job.rung for job in trace.jobs):
            # The first whom a job meets: who is given up before it may start, nobody else has met.
            eligibility = Eligibility(dispatcher, trace)
            observers.append(eligibility)
            dispatcher = eligibility
        if trace.opened or any(job.eligible is not None for job in trace.jobs):
            dispatcher = Opening(dispatcher, trace)
        if self.why is not None:
            asks = next((job for job in trace.jobs if job.name == self.why.job), trace.jobs[0])
            dispatcher = self.why.over(
                dispatcher, of_group[home(asks, of_group)].policy, eligibility
            )
        outcomes = Simulation(
            trace,
            first.pool,
            dispatcher,
            observers=observers,
            limits=Limits(asked.all_limits),
            grace=asked.grace,
            progress=progress_of(asked.site, fleet),
            homes=quotas if fleet.quota else None,
        ).run()
        outcomes.fragmentation = stranded_share([each.lies for each in of_group.values()])
        outcomes.rented = first.scaler.rented(outcomes) if first.scaler else None
        outcomes.sweeps = eligibility.sweeps.held if eligibility else {}
        return outcomes

    def _observers(self, of_group: Mapping[str, _Part], *, several: bool) -> list[Observer]:
        """Who is told of all jobs, and of those of each partition."""
        observers: list[Observer] = [self.watch] if self.watch else []
        return observers + [
            OfSome(each.lies, partial(is_home, of_group, group)) if several else each.lies
            for group, each in of_group.items()
            if each.lies
        ]

    def _parts(self, trace: Trace, fleet: Fleet) -> Mapping[str, _Part]:
        """The partitions that have jobs; all jobs are in one where groups have no quotas."""
        shares = fleet.parts
        jobs = members(trace, shares) if fleet.quota else {REST: trace}
        for group, mine in jobs.items():
            of_site = site_room(self.asked.site, shares[group], {self.policy})
            check(mine, shares[group], self.asked.all_limits, of_site=of_site)
        return {group: self._part(shares[group]) for group in jobs}

    def _part(self, fleet: Fleet) -> _Part:
        """The stages of one partition, on its own nodes."""
        asked = self.asked
        policy: Dispatcher = named(self.policy).make(
            PolicyInputs(fleet=fleet, past=self.past, period=asked.period, site=asked.site)
        )
        dispatcher, (pool, lies), scaler = policy, self._pool(fleet), None
        if asked.scaling:
            assert isinstance(pool, NodePool), "what comes is a node"
            scaler = Autoscaler(dispatcher, pool, scaling=asked.scaling, random=self.random)
            dispatcher = scaler
        if asked.admit:
            dispatcher = Admission(dispatcher, fleet, most=asked.admit)
        if asked.failures is not None:
            assert self.random is not None, "failures need a random generator"
            assert isinstance(pool, NodePool), "what fails is a node"
            dispatcher = Failures(dispatcher, pool, failing=asked.failures, random=self.random)
        return _Part(dispatcher, policy, pool, lies, scaler)

    def _pool(self, fleet: Fleet) -> tuple[Pool, Fragmentation | None]:
        """Devices, told apart by node where that matters, and who notes how badly they lie."""
        asked = self.asked
        if not asked.on_nodes and not named(self.policy).on_nodes:
            return CountedPool(fleet), None
        pool = NodePool(fleet, PLACES.get(asked.placement, packed))
        return pool, Fragmentation(pool)


def _refuse(trace: Trace, fleet: Fleet, policy: str, *, asked: Conditions) -> None:
    """Refuse what the policy cannot do, and what would hardly ever end."""
    wanted = named(policy)
    if wanted.one_kind:
        only_kind(fleet, policy)
    if wanted.fluid and asked.on_nodes:
        raise InputError(f"{policy} divides devices as a fluid, which lies on no node: {FLUID}")
    if (asked.outages or asked.scaling or asked.site.switches) and fleet.quota:
        raise InputError(
            "outages, scaling and switches are of the nodes of a whole fleet; leave the quotas out."
        )
    if asked.failures is not None:
        refuse_endless(trace, fleet, asked.failures)
    period = asked.period or wanted.period
    if asked.scaling:
        _refuse_scaling(asked.scaling, fleet, policy=policy, period=period)
    if wanted.period:
        work = fsum(job.devices * job.ends_after / pace(job) for job in trace.jobs)
        rounds = (trace.jobs[-1].arrival + work / fleet.devices) / period
        if rounds > ROUNDS:
            raise InputError(
                f"the simulation would never end: its jobs take some {rounds:.2g} rounds of"
                f" {period:g} s. Take longer rounds, or a policy that decides at events."
            )


def _refuse_scaling(scaling: Autoscaling, fleet: Fleet, *, policy: str, period: float) -> None:
    """Refuse more nodes than there are, and nodes that would leave before anybody decides."""
    fewest = min(fleet.nodes, key=lambda each: each.count)
    if scaling.least > fewest.count:
        whose = f" of {fewest.kind}" if fewest.kind else ""
        raise InputError(
            f"simulation.scaling.least is {scaling.least}, and the fleet has {fewest.count} nodes"
            f"{whose} at most. Keep fewer, or give the fleet more."
        )
    if period >= max(scaling.idle, scaling.after_add):
        raise InputError(
            f"scaling lets nodes go that are idle for less than a round of {policy} ({period:g} s):"
            " they would leave before it decides. Make scaling.idle longer than that."
        )


FLUID = 'leave placement "any" and failures out, or take another policy.'


def site_room(
    site: SiteRules, fleet: Fleet, policies: Collection[str | None]
) -> Callable[[Job], float]:
    """The most devices that the rules of a site ever give a job, of one kind.

    Args:
        site: with partitions, which Slurm keeps to, and queues, which Kueue does.
        fleet: that it shares.
        policies: names of those under which jobs run.

    Where a job names no partition or queue that there is, a run of it says so.
    """
    rules: list[Callable[[Job], float]] = []
    if "slurm" in policies and site.partitions:
        pool = NodePool(fleet, packed)
        nodes = {each.name: node_set(each.nodes, pool.count) for each in site.partitions}
        first = site.partitions[0].name
        rules.append(lambda job: pool.most(job.kinds, nodes.get(job.group or first, -1)))
    if "slurm" in policies and site.switches:
        there = NodePool(fleet, packed)
        tops = SwitchTree(site.switches, there.count).tops
        rules.append(lambda job: max(there.most(job.kinds, top) for top in tops))
    if "kueue" in policies and site.queues:
        tree = QuotaTree(site.queues, site.cohorts)
        rules.append(lambda job: most_of_queue(tree, job))
    return lambda job: min((rule(job) for rule in rules), default=inf)


def most_of_queue(tree: QuotaTree, job: Job) -> float:
    """The most devices of one flavor that the queue of a job may use."""
    node = tree.queues.get(job.group)
    return max(map(node.most, node.quota)) if node else inf


def check(
    trace: Trace,
    fleet: Fleet,
    limits: Sequence[PartyLimit] = (),
    *,
    of_site: Callable[[Job], float] = lambda _: inf,
) -> None:
    """Refuse jobs that the fleet, a limit or the rules of a site never let start, all at once."""
    largest = {kinds: fleet.most(kinds) for kinds in {job.kinds for job in trace.jobs}}
    too_large = [job for job in trace.jobs if job.devices > largest[job.kinds]]
    if too_large:
        raise InputError(
            f"{trace.name}: {len(too_large)} jobs ask for more devices of one kind than the fleet"
            f" has ({max(largest.values())}): {_listed(too_large)}. Enlarge the fleet, or leave"
            " them out."
        )
    wide = [job for job in trace.jobs if job.devices > of_site(job)]
    if wide:
        raise InputError(
            f"{trace.name}: {len(wide)} jobs {OF_SITE}: {_listed(wide)}. Submit them elsewhere,"
            " enlarge it, or leave them out."
        )
    lacking = [job for job in trace.jobs if job.licenses and unlicensed(job, limits)]
    if lacking:
        names = sorted({name for job in lacking for name in unlicensed(job, limits)})
        raise InputError(
            f"{trace.name}: {len(lacking)} jobs {UNLICENSED}: {', '.join(names)}. Add them to"
            " site.licenses, or leave the jobs out."
        )
    nobody = Limits(limits)
    kept = [job for job in trace.jobs if not nobody.open(nobody.lane(job), job.devices)]
    if kept:
        raise InputError(
            f"{trace.name}: {len(kept)} jobs {LIMITED}:"
            f" {_listed(kept)}. Raise the limit, or leave them out."
        )


def _listed(jobs: Sequence[Job]) -> str:
    """The first jobs, and how many more."""
    names = ", ".join(f"{job.name} ({job.devices})" for job in jobs[:LISTED])
    return f"{names} and {len(jobs) - LISTED} more" if len(jobs) > LISTED else names


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
