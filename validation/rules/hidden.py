"""Logs of sites whose rules are hidden: written as Slurm writes them, read back, and replayed.

A site is drawn: weights of a multifactor priority, qualities of service, accounts and shares. A
scheduler written from the rules makes the course, and `sacct` would print the log. A study states
the same rules; each job must wait in our replay as long as in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from validation.rules import by_hand
from validation.rules.by_hand import Request, Shares, Weights

from foretrain.jobs.run import run
from foretrain.jobs.simulate import simulate
from foretrain.measured.job import Log
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
[site.backfill]
on = false
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
    study = read_queue_study(path)
    log = study.jobs
    assert isinstance(log, Log), "a study of a trace has a log"
    outcomes = run(log.trace, study.fleet, "slurm", conditions=study.conditions)
    ours = {job.name: at for job, at in zip(log.trace.jobs, outcomes.begun, strict=True)}
    for place, start in enumerate(begun):
        mine = ours[str(1000 + place)]
        if abs(mine - start) > 1e-6:
            return f"job {place} starts at {mine} instead of {start}, by {weights}"
    [replayed] = simulate(study).replays
    return "" if replayed.gap == 0.0 else f"the replay is {replayed.gap} off, by {weights}"
