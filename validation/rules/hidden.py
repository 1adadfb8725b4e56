"""Logs of sites whose rules are hidden: written as Slurm writes them, read back, and replayed.

A site is drawn: weights of a multifactor priority, qualities of service, accounts and shares. A
scheduler written from the rules makes the course, and `sacct` would print the log. A study states
the same rules; each job must wait in our replay as long as in the log.

A wide draw has backfill, partitions that share nodes, tiers, limits and the classic fair share too,
and `slurm_by_hand` makes its course.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from random import Random

from validation.rules import by_hand, sites
from validation.rules.by_hand import Request, Shares, Weights
from validation.rules.sites import NAMES, QUALITIES, HiddenSite
from validation.rules.slurm_by_hand import Fill, Most, Part, Rules, Slurm

from foretrain.jobs.run import run
from foretrain.jobs.simulate import simulate
from foretrain.measured.job import Log
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.site import BackfillRules
from foretrain.study.queue_study import read_queue_study

DAY = datetime(2026, 3, 2, tzinfo=UTC)
HEAD = "JobID|User|Account|QOS|Partition|Submit|Start|ElapsedRaw|Timelimit|State|AllocTRES"
ACCOUNTS = {"physics": 3, "vision": 2, "speech": 1}


def site(random: Random) -> tuple[Weights, Shares]:
    """A site's weights and shares."""
    weights = Weights(
        age=random.choice((0, 500, 1_000)),
        fairshare=random.choice((0, 1_000, 10_000)),
        size=random.choice((0, 100, 1_000)),
        qos=random.choice((0, 500, 2_000)),
        longest=random.choice((3_600, 86_400)),
        half_life=random.choice((3_600, 604_800)),
        period=300,
    )
    users = {f"u{place}": (random.choice([*ACCOUNTS]), random.randint(1, 3)) for place in range(6)}
    return weights, Shares(ACCOUNTS, users)


def requests(random: Random, shares: Shares, devices: int) -> list[Request]:
    """Jobs that come for a few hours, more than the devices can do."""
    found = []
    for _ in range(120):
        limit = 60 * random.randint(5, 120)
        size = random.choice([each for each in (1, 2, 4, 8) if each <= devices])
        seconds = random.randint(60, limit)
        user, qos = random.choice([*shares.users]), random.choice((0, 10, 100))
        found.append(Request(random.randint(0, 30_000), size, limit, seconds, user, qos))
    return sorted(found, key=lambda job: job.arrival)


def written(jobs: Sequence[Request], begun: Sequence[int], shares: Shares) -> str:
    """What `sacct --parsable2` would print."""

    def moment(seconds: int) -> str:
        return (DAY + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")

    lines = [HEAD]
    for place, (job, start) in enumerate(zip(jobs, begun, strict=True)):
        limit = str(timedelta(seconds=job.limit)).rjust(8, "0")
        lines.append(
            f"{1000 + place}|{job.user}|{shares.users[job.user][0]}|q{job.qos}|gpu"
            f"|{moment(job.arrival)}|{moment(start)}|{job.seconds}|{limit}|COMPLETED"
            f"|cpu={8 * job.devices},gres/gpu={job.devices}"
        )
    return "\n".join(lines) + "\n"


def stated(weights: Weights, shares: Shares, devices: int) -> str:
    """The study that states the rules."""
    text = f"""
[fleet]
nodes = {devices}
devices = 1
[jobs]
trace = "sacct.txt"
policy = "slurm"
[simulation]
policies = ["slurm"]
[site]
kill = false
[site.priority]
age = {weights.age}
fairshare = {weights.fairshare}
size = {weights.size}
qos = {weights.qos}
longest_age = "{weights.longest} s"
half_life = "{weights.half_life} s"
period = "{weights.period} s"
[[site.partitions]]
name = "gpu"
[site.backfill]
on = false
"""
    for priority in (0, 10, 100):
        text += f'[[site.qos]]\nname = "q{priority}"\npriority = {priority}\n'
    for name, share in shares.accounts.items():
        text += f'[[site.accounts]]\nname = "{name}"\nshares = {share}\n'
    for name, (account, share) in shares.users.items():
        text += f'[[site.users]]\nname = "{name}"\naccount = "{account}"\nshares = {share}\n'
    return text


def differs(random: Random, folder: Path) -> str:
    """The first job of a hidden site's log that waits otherwise in a replay; empty without one."""
    devices = random.choice((8, 12, 16))
    weights, shares = site(random)
    jobs = requests(random, shares, devices)
    # A log begins at its first job: so do the periods of the replay.
    first = jobs[0].arrival
    jobs = [job._replace(arrival=job.arrival - first) for job in jobs]
    begun, _ = by_hand.multifactor(jobs, devices, weights, shares=shares)
    (folder / "sacct.txt").write_text(written(jobs, begun, shares))
    path = folder / "site.toml"
    path.write_text(stated(weights, shares, devices))
    return otherwise(path, begun, str(weights))


def differs_wide(random: Random, folder: Path) -> str:
    """The same of a site with much that is unusual, on nodes of one device."""
    while True:
        hidden = sites.wider(random, sites.site(random))
        if hidden.fleet.nodes[0].devices == 1:
            break
    jobs = sites.requests(random, hidden, random.randint(60, 140))
    first = jobs[0][0].arrival
    jobs = [(job._replace(arrival=job.arrival - first), part) for job, part in jobs]
    weights, rules = by_rules(hidden)
    alone, where = [job for job, _ in jobs], [part for _, part in jobs]
    begun, _ = Slurm(jobs=alone, where=where, weights=weights, rules=rules).course()
    quiet = replace(hidden, prints_priorities=False)
    (folder / "sacct.txt").write_text(sites.written(quiet, jobs, begun))
    path = folder / "site.toml"
    text = stated(weights, rules.shares, rules.nodes)
    path.write_text(text[: text.index("[[site.partitions]]")] + stated_wide(hidden))
    return otherwise(path, begun, f"{hidden.rules}")


def by_rules(hidden: HiddenSite) -> tuple[Weights, Rules]:
    """A site's rules as `Slurm` takes them."""
    rules, told = hidden.rules, hidden.rules.priority
    count, fills = hidden.fleet.nodes[0].count, hidden.rules.backfill
    named = {each.name: int(each.shares or 0) for each in rules.associations if not each.is_user}
    users = {
        each.name: (each.parent, int(each.shares or 0))
        for each in rules.associations
        if each.is_user
    }
    weights = Weights(
        age=int(told.age), fairshare=int(told.fairshare), size=int(told.size), qos=int(told.qos),
        longest=int(told.longest_age), half_life=int(told.half_life), period=int(told.period),
    )  # fmt: skip
    parts = {
        part.name: Part(
            [node for a, b in part.nodes or ((0, count - 1),) for node in range(a, b + 1)],
            part.tier,
            part.factor,
        )
        for part in rules.partitions
    }
    return weights, Rules(
        nodes=count, parts=parts, shares=Shares(named, users), partition=told.partition,
        small_first=told.small_first, tree=told.fair_tree, most_qos=max(QUALITIES.values()),
        fill=fills and _fill(fills), depth=rules.depth,
        limits=[_most(hidden, limit) for limit in rules.limits],
    )  # fmt: skip


def _fill(rules: BackfillRules) -> Fill:
    times = (int(each) for each in (rules.interval, rules.window, rules.resolution))
    return Fill(*times, rules.depth, rules.reserves, rules.per_user)


def _most(hidden: HiddenSite, limit: PartyLimit) -> Most:
    def field(job: Request, party: Party) -> str:
        account = hidden.accounts[job.user]
        return {"user": job.user, "account": account, "qos": NAMES[job.qos]}.get(party, "")

    def of(job: Request) -> str | None:
        bound = not limit.of or field(job, limit.of) == limit.named
        return field(job, limit.each) if bound else None

    return Most(of, limit.devices, limit.jobs)


def stated_wide(hidden: HiddenSite) -> str:
    """What a study states beside weights, after them."""
    rules, text = hidden.rules, ""
    weights, fills = rules.priority, rules.backfill
    text += f"partition = {weights.partition}\nfair_tree = {str(weights.fair_tree).lower()}\n"
    text += f"small_first = {str(weights.small_first).lower()}\n"
    for part in rules.partitions:
        nodes = ", ".join(f"{a}-{b}" for a, b in part.nodes)
        text += f'[[site.partitions]]\nname = "{part.name}"\ntier = {part.tier}\n'
        text += f"factor = {part.factor}\n" + (f'nodes = "{nodes}"\n' if nodes else "")
    for name, priority in QUALITIES.items():
        text += f'[[site.qos]]\nname = "{name}"\npriority = {priority}\n'
    for each in rules.associations:
        text += f"[[site.{'users' if each.is_user else 'accounts'}]]\n"
        text += f'name = "{each.name}"\nshares = {each.shares}\n'
        text += f'account = "{each.parent}"\n' if each.is_user else ""
    for limit in rules.limits:
        text += "[[site.limits]]\n" + (f'each = "{limit.each}"\n' if limit.each else "")
        text += f'of = "{limit.of}"\nnamed = "{limit.named}"\n' if limit.of else ""
        for key in ("devices", "jobs"):
            most = getattr(limit, key)
            text += f"{key} = {most:.0f}\n" if most < inf else ""
    if not fills:
        return text + "[site.backfill]\non = false\n"
    return text + (
        f'[site.backfill]\non = true\ninterval = "{fills.interval} s"\n'
        f'window = "{fills.window} s"\nresolution = "{fills.resolution} s"\n'
        f"depth = {fills.depth}\nreserves = {fills.reserves}\nper_user = {fills.per_user}\n"
    )


def otherwise(path: Path, begun: Sequence[int], rules: str) -> str:
    """The first job that a study's replay starts otherwise than its log; empty without one."""
    study = read_queue_study(path)
    log = study.jobs
    assert isinstance(log, Log), "a study of a trace has a log"
    outcomes = run(log.trace, study.fleet, "slurm", conditions=study.conditions)
    ours = {job.name: at for job, at in zip(log.trace.jobs, outcomes.begun, strict=True)}
    for place, start in enumerate(begun):
        mine = ours[str(1000 + place)]
        if abs(mine - start) > 1e-6:
            return f"job {place} starts at {mine} instead of {start}, by {rules}"
    [replayed] = simulate(study).replays
    return "" if replayed.gap == 0.0 else f"the replay is {replayed.gap} off, by {rules}"
