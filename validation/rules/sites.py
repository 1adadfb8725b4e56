"""Sites that nobody knows: their rules drawn at random, and the log that each would leave.

What is drawn: nodes of one to eight devices in one or two partitions; no backfill, or slots for
some or all, at cycles of half a minute to five; weights of a multifactor priority, qualities of
service, accounts and users with shares; what a user may hold at once. Half of the sites without
backfill are run by `by_hand.multifactor`, which shares no code with the simulation that is to
infer them.

A wide draw goes on from there: other periods of the priorities, the classic fair share, windows,
resolutions, bounds on a user's jobs in a cycle, cycles whenever something happens, partitions that
share nodes with tiers and factors, limits of accounts and qualities, of devices and of jobs, and
priorities that the log prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random

from validation.rules import by_hand
from validation.rules.by_hand import Request, Shares, Weights

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.limits import Limits
from foretrain.jobs.nodes import NodePool, packed
from foretrain.jobs.run import run
from foretrain.jobs.simulation import Simulation
from foretrain.jobs.slurm import SlurmDispatcher
from foretrain.jobs.slurm_queue import Pending
from foretrain.measured.job import Job, Trace
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import (
    Association,
    BackfillRules,
    Partition,
    PriorityWeights,
    Qos,
    SiteRules,
)
from foretrain.throughput import rigid

DAY = datetime(2026, 3, 2, tzinfo=UTC)
HEAD = "JobID|User|Account|QOS|Partition|Submit|Start|ElapsedRaw|Timelimit|State|AllocTRES|Priority"
QUALITIES = {"normal": 0, "high": 10, "urgent": 100}


@dataclass(frozen=True, kw_only=True)
class HiddenSite:
    """A site: what it is, and who submits to it.

    Attributes:
        fleet: its nodes.
        rules: of Slurm.
        accounts: of each user.
        parts: devices of each partition.
        alone: whether `by_hand.multifactor` can run it.
        prints: whether its log tells nodes.
        prints_priorities: whether its log tells the priority with which each job started.
    """

    fleet: Fleet
    rules: SiteRules
    accounts: Mapping[str, str]
    parts: Mapping[str, int]
    alone: bool
    prints: bool
    prints_priorities: bool = False


def site(random: Random) -> HiddenSite:
    """A site's rules."""
    alone = random.random() < 0.3
    size = 1 if alone else random.choice((1, 4, 8))
    nodes = random.choice((8, 12, 16)) if size == 1 else random.choice((4, 6, 8))
    accounts = {name: random.randint(1, 5) for name in "pqrs"[: random.randint(2, 4)]}
    users = {f"u{each}": random.choice([*accounts]) for each in range(random.randint(4, 9))}
    parts, partitions = {"gpu": nodes * size}, (Partition(name="gpu"),)
    if not alone and random.random() < 0.4:
        small = random.randint(1, nodes // 3)
        partitions = (
            Partition(name="gpu", nodes=((0, nodes - small - 1),), factor=random.choice((1, 2))),
            Partition(name="debug", nodes=((nodes - small, nodes - 1),)),
        )
        parts = {"gpu": (nodes - small) * size, "debug": small * size}
    backfill = None
    if not alone and random.random() < 0.75:
        backfill = BackfillRules(
            interval=random.choice((30.0, 60.0, 300.0)),
            reserves=random.choice((0, 0, 1, 3)),
            depth=random.choice((10, 100, 500)),
        )
    limits = ()
    if not alone and random.random() < 0.3:
        most = max(min(size * 4, max(parts.values())), 8, nodes * size // 2)
        limits = (PartyLimit(each=Party.USER, devices=most),) if most < nodes * size else ()
    shares = [Association(name=name, shares=float(share)) for name, share in accounts.items()]
    shares += [
        Association(name=name, parent=account, shares=float(random.randint(1, 3)), is_user=True)
        for name, account in users.items()
    ]
    return HiddenSite(
        fleet=Fleet(nodes=(Nodes(count=nodes, devices=size),)),
        rules=SiteRules(
            partitions=partitions,
            qualities=tuple(Qos(name=name, priority=each) for name, each in QUALITIES.items()),
            associations=tuple(shares),
            priority=PriorityWeights(
                age=random.choice((0, 500, 1_000, 5_000)),
                fairshare=random.choice((0, 1_000, 10_000, 100_000)),
                size=random.choice((0, 0, 500, 2_000)),
                qos=random.choice((0, 1_000, 5_000)),
                longest_age=random.choice((6 * 3_600.0, 86_400.0, 7 * 86_400.0)),
                half_life=random.choice((3_600.0, 86_400.0, 604_800.0)),
                small_first=not alone and random.random() < 0.3,
            ),
            backfill=backfill,
            limits=limits,
        ),
        accounts=users,
        parts=parts,
        alone=alone,
        prints=random.random() < 0.5,
    )


def wider(random: Random, hidden: HiddenSite) -> HiddenSite:
    """The same site with more that is otherwise than usual.

    Args:
        random: what is drawn from.
        hidden: the site.
    """
    rules = hidden.rules
    weights = replace(rules.priority, period=random.choice((60.0, 300.0, 300.0, 600.0)))
    if hidden.alone:
        return replace(hidden, rules=replace(rules, priority=weights))
    weights = replace(
        weights,
        fair_tree=random.random() < 0.7,
        partition=random.choice((0.0, 1_000.0, 5_000.0)),
    )
    fills = rules.backfill and replace(
        rules.backfill,
        interval=random.choice((rules.backfill.interval, rules.backfill.interval, 1.0)),
        window=random.choice((86_400.0, 86_400.0, 7_200.0, 4 * 86_400.0)),
        resolution=random.choice((60.0, 60.0, 300.0, 600.0)),
        per_user=random.choice((0, 0, 0, 3, 10)),
    )
    rules = replace(rules, priority=weights, backfill=fills)
    hidden = replace(hidden, rules=rules, prints_priorities=random.random() < 0.2)
    if len(rules.partitions) == 1 and random.random() < 0.4:
        hidden = _overlapping(random, hidden)
    if not rules.limits and random.random() < 0.35:
        hidden = replace(hidden, rules=replace(hidden.rules, limits=(_limit(random, hidden),)))
    return hidden


def _overlapping(random: Random, hidden: HiddenSite) -> HiddenSite:
    """With a second partition on some of the same nodes, or on all of them."""
    [nodes] = hidden.fleet.nodes
    few = random.randint(2, nodes.count)
    first = nodes.count - few if random.random() < 0.5 else 0
    other = Partition(
        name=random.choice(("debug", "long")),
        nodes=((first, first + few - 1),),
        tier=random.choice((1, 1, 10)),
        factor=random.choice((1.0, 2.0, 10.0)),
    )
    rules = replace(hidden.rules, partitions=(*hidden.rules.partitions, other))
    return replace(hidden, rules=rules, parts={**hidden.parts, other.name: few * nodes.devices})


def _limit(random: Random, hidden: HiddenSite) -> PartyLimit:
    """A limit that any job keeps alone."""
    [nodes] = hidden.fleet.nodes
    largest = max(min(max(nodes.devices * 4, 8), hidden.fleet.devices), hidden.fleet.devices // 2)
    scopes = [
        PartyLimit(each=Party.USER, of=Party.QOS, named="normal"),
        PartyLimit(each=Party.ACCOUNT),
        PartyLimit(of=Party.QOS, named="high"),
        PartyLimit(each=Party.USER),
    ]
    scope = random.choice(scopes)
    if random.random() < 0.5:
        return replace(scope, jobs=float(random.choice((2, 4, 8))))
    return replace(scope, devices=float(largest))


def requests(random: Random, hidden: HiddenSite, count: int) -> list[tuple[Request, str]]:
    """Jobs that come for a while, about as many as the devices can do, and where they go."""
    size = hidden.fleet.nodes[0].devices
    weights = [random.random() + 0.2 for _ in hidden.accounts]
    found, work = [], 0
    for _ in range(count):
        [user] = random.choices([*hidden.accounts], weights)
        part = random.choice([*hidden.parts] if random.random() < 0.3 else ["gpu"])
        devices = hidden.parts[part]
        sizes = [n for n in (1, 1, 2, 4, 8, 16, 32) if n <= min(devices, max(size * 4, 8))]
        held = random.choice(sizes)
        limit = 60 * random.choice((10, 30, 60, 120, 240, random.randint(5, 300)))
        seconds = limit if random.random() < 0.1 else random.randint(60, limit)
        [qos] = random.choices([*QUALITIES], (6, 2, 1))
        found.append((Request(0, held, limit, seconds, user, QUALITIES[qos]), part))
        work += held * seconds
    span = int(work / hidden.fleet.devices / random.uniform(0.85, 1.3))
    times = sorted(random.randint(0, span) for _ in found)
    # The site's clock is not the log's: cycles and periods come at some moment of it.
    first = times[0] - random.randint(0, 600)
    return [
        (job._replace(arrival=at - first), part)
        for at, (job, part) in zip(times, found, strict=True)
    ]


def starts(hidden: HiddenSite, jobs: Sequence[tuple[Request, str]]) -> Sequence[float]:
    """When each job starts under the site's rules."""
    rules = hidden.rules
    if hidden.alone:
        named = [each for each in rules.associations if not each.is_user]
        users = [each for each in rules.associations if each.is_user]
        shares = Shares(
            {each.name: int(each.shares or 0) for each in named},
            {each.name: (each.parent, int(each.shares or 0)) for each in users},
        )
        told = rules.priority
        weights = Weights(
            age=int(told.age), fairshare=int(told.fairshare), size=int(told.size),
            qos=int(told.qos), longest=int(told.longest_age), half_life=int(told.half_life),
            period=int(told.period),
        )  # fmt: skip
        alone = [job for job, _ in jobs]
        return by_hand.multifactor(alone, hidden.fleet.devices, weights, shares=shares)[0]
    return run(trace(hidden, jobs), hidden.fleet, "slurm", conditions=conditions(rules)).begun


class _Noting(SlurmDispatcher):
    """Notes the priority with which each job starts, as Slurm keeps the last one."""

    def __init__(self, site: SiteRules, fleet: Fleet) -> None:
        super().__init__(site, fleet)
        self.priorities: dict[int, int] = {}

    def _start(self, pending: Pending, among: int, simulation: Simulation) -> bool:
        priority = -self._rules.place(pending, simulation.now)[1]
        started = super()._start(pending, among, simulation)
        if started:
            self.priorities[pending.active.rank] = priority
        return started


def priorities(hidden: HiddenSite, jobs: Sequence[tuple[Request, str]]) -> Sequence[int]:
    """With which priority each job starts under the site's rules."""
    told, pool = trace(hidden, jobs), NodePool(hidden.fleet, packed)
    noting = _Noting(hidden.rules, hidden.fleet)
    Simulation(told, pool, noting, limits=Limits(hidden.rules.limits)).run()
    return [noting.priorities[rank] for rank in range(len(told.jobs))]


def conditions(rules: SiteRules) -> Conditions:
    """Under which its jobs run."""
    return Conditions(site=rules)


NAMES = {value: name for name, value in QUALITIES.items()}


def trace(hidden: HiddenSite, jobs: Sequence[tuple[Request, str]]) -> Trace:
    """The jobs as our simulation takes them."""
    return Trace(
        name="hidden",
        jobs=tuple(
            Job(
                name=str(1000 + place),
                arrival=float(job.arrival),
                work=float(job.seconds),
                curve=rigid(job.devices),
                devices=job.devices,
                estimate=float(job.limit),
                user=job.user,
                account=hidden.accounts[job.user],
                qos=NAMES[job.qos],
                group=part,
                sequence=place,
            )
            for place, (job, part) in enumerate(jobs)
        ),
    )


def written(hidden: HiddenSite, jobs: Sequence[tuple[Request, str]], begun: Sequence[float]) -> str:
    """What `sacct --parsable2` would print."""

    def moment(seconds: float) -> str:
        return (DAY + timedelta(seconds=round(seconds))).strftime("%Y-%m-%dT%H:%M:%S")

    lines, size = [HEAD], hidden.fleet.nodes[0].devices
    known = priorities(hidden, jobs) if hidden.prints_priorities else [""] * len(jobs)
    for place, ((job, part), start) in enumerate(zip(jobs, begun, strict=True)):
        limit = str(timedelta(seconds=job.limit)).rjust(8, "0")
        nodes = f",node={-(-job.devices // size)}" if hidden.prints else ""
        lines.append(
            f"{1000 + place}|{job.user}|{hidden.accounts[job.user]}|{NAMES[job.qos]}|{part}"
            f"|{moment(job.arrival)}|{moment(start)}|{job.seconds}|{limit}|COMPLETED"
            f"|cpu={8 * job.devices},gres/gpu={job.devices}{nodes}|{known[place]}"
        )
    return "\n".join(lines) + "\n"
