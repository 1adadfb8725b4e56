"""Random traces under our policies and under schedulers written from the rules, job by job.

    python -m validation.rules              # 300 traces of each, drawn afresh; prints its seed
    python -m validation.rules --seed 4711  # the same again
    python -m validation.rules --traces 50

Every start and every end must be equal, and so must be waiting in logs of hidden sites that are
replayed by their rules. The exit status is 1 where one is not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from random import Random, SystemRandom

from validation.logs import by_hand as plain
from validation.parts.claims import Claim, table
from validation.rules import by_hand
from validation.rules.by_hand import Course, Request, Shares, Weights
from validation.rules.hidden import differs, differs_wide

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.fair_tree import UsageTree
from foretrain.jobs.run import run
from foretrain.measured.job import Job, Trace
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import Association, PriorityWeights, Qos, SiteRules
from foretrain.throughput import rigid

TRACES = 300
ROUNDING = 1e-6
SIZES = (1, 2, 3, 4, 6, 8, 12)
"""Devices that jobs ask for: divisors of the levels of LAS, so that it changes at whole seconds."""

USERS = {"u": ("A", 3), "v": ("A", 1), "w": ("B", 1), "x": ("B", 2), "y": ("C", 1)}
SHARES = Shares({"A": 2, "B": 1, "C": 1}, USERS)
RESTART = 7


def drawn(random: Random) -> tuple[list[Request], int]:
    """Jobs that come in bursts, many in one second, and the devices of their cluster."""
    devices = random.choice((2, 4, 8, 12))
    span = random.choice((1, 40, 400, 4_000))
    longest = random.choice((9, 200, 4_000))
    honest = random.random() < 0.3
    found = []
    for _ in range(random.randint(1, 40)):
        limit = random.randint(1, longest)
        seconds = limit if honest else random.randint(1, limit)
        size = random.choice([each for each in SIZES if each <= devices])
        user, qos = random.choice(list(USERS)), random.choice((0, 1, 5))
        found.append(Request(random.randint(0, span), size, limit, seconds, user, qos))
    return sorted(found, key=lambda job: job.arrival), devices


def ours(
    jobs: Sequence[Request], devices: int, policy: str, *, restart: int = 0,
    site: SiteRules | None = None,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """What our simulation says of the same jobs: when each began, and when each ended."""
    made = tuple(
        Job(
            name=f"{place:04}",
            arrival=float(job.arrival),
            work=float(job.limit if policy in LIMITED else job.seconds),
            ends_after=float(job.seconds),
            curve=rigid(job.devices),
            devices=job.devices,
            estimate=float(job.limit),
            restart=float(restart),
            user=job.user,
            account=USERS[job.user][0],
            qos=f"q{job.qos}",
            sequence=place,
        )
        for place, job in enumerate(jobs)
    )
    nodes = Fleet(nodes=(Nodes(count=devices, devices=1),))
    conditions = Conditions(site=site or SiteRules(), grace=inf)
    found = run(Trace(name="drawn", jobs=made), nodes, policy, conditions=conditions)
    return list(found.begun), list(found.ended)


LIMITED = {"easy", "conservative", "slurm"}
"""Policies that go by what users allow; to the others jobs are as long as they run."""


def of_slurm(random: Random, jobs: Sequence[Request], devices: int) -> tuple[Course, SiteRules]:
    """The course of a multifactor priority with random weights, and the same rules for us."""
    weights = Weights(
        age=random.choice((0, 1_000)),
        fairshare=random.choice((0, 1_000, 10_000)),
        size=random.choice((0, 100)),
        qos=random.choice((0, 2_000)),
        longest=random.choice((300, 5_000)),
        half_life=random.choice((600, 86_400)),
        period=random.choice((60, 300)),
    )
    site = SiteRules(
        priority=PriorityWeights(
            age=weights.age,
            fairshare=weights.fairshare,
            size=weights.size,
            qos=weights.qos,
            longest_age=weights.longest,
            half_life=weights.half_life,
            period=weights.period,
        ),
        qualities=tuple(Qos(name=f"q{each}", priority=each) for each in {job.qos for job in jobs}),
        associations=tuple(tree_of(SHARES, dict.fromkeys(USERS, 0.0))),
        backfill=None,
    )
    return by_hand.multifactor(jobs, devices, weights, shares=SHARES), site


def tree_of(shares: Shares, usage: Mapping[str, float]) -> Iterator[Association]:
    """The same tree for us."""
    for name, share in shares.accounts.items():
        yield Association(name=name, shares=float(share))
    for user, (account, share) in shares.users.items():
        yield Association(
            name=user, parent=account, shares=float(share), is_user=True, usage=usage[user]
        )


def apart(random: Random, name: str) -> str:
    """The first job of a random trace that is otherwise under a policy; empty where none is."""
    jobs, devices = drawn(random)
    tasks = [plain.Task(job.arrival, job.devices, job.seconds) for job in jobs]
    restart, site, policy = 0, None, name
    if name in plain.SCHEDULERS:
        course = plain.SCHEDULERS[name](tasks, devices)
    elif name.startswith("srtf"):
        restart, policy = (RESTART if name.endswith("restart") else 0), "srtf"
        course = by_hand.srtf(jobs, devices, restart)
    elif name == "slurm":
        course, site = of_slurm(random, jobs, devices)
    else:
        course = BACKFILLS[name](jobs, devices)
    found = ours(jobs, devices, policy, restart=restart, site=site)
    for place, job in enumerate(jobs):
        theirs, mine = [each[place] for each in course], [each[place] for each in found]
        if any(abs(a - b) > ROUNDING for a, b in zip(theirs, mine, strict=True)):
            return f"job {place} {tuple(job)} of {len(jobs)}: {mine} instead of {theirs}"
    return ""


BACKFILLS: Mapping[str, Callable[[Sequence[Request], int], Course]] = {
    "easy": by_hand.easy,
    "conservative": by_hand.conservative,
}
NAMES = (*plain.SCHEDULERS, "srtf", "srtf-restart", *BACKFILLS, "slurm")


def tree_apart(random: Random) -> str:
    """How a random fair tree is ranked otherwise; empty where it is not."""
    accounts = {name: random.randint(0, 3) for name in "ABC"[: random.randint(1, 3)]}
    users = {
        user: (random.choice([*accounts, ""]), random.randint(0, 3))
        for user in "uvwxyz"[: random.randint(1, 6)]
    }
    shares = Shares(accounts, users)
    usage = {user: float(random.choice((0, 0, 1, 2, 4, 8))) for user in users}
    theirs = by_hand.fair_tree(shares, usage)
    found = {
        key[1]: rank for key, rank in UsageTree(tuple(tree_of(shares, usage))).fair_tree().items()
    }
    return "" if found == theirs else f"{shares} with {usage}: {found} instead of {theirs}"


SITES = 20
"""Hidden sites whose logs are replayed."""


def claims(seed: int, traces: int) -> Iterator[Claim]:
    """Of each policy, how many traces are otherwise."""
    for name in (*NAMES, "fair tree"):
        wrong = []
        for place in range(traces):
            random = Random(f"{seed} {name} {place}")
            told = tree_apart(random) if name == "fair tree" else apart(random, name)
            wrong += [f"{name}, trace {place}: {told}"] if told else []
        print(*wrong[:2], sep="\n", end="\n" if wrong else "")
        yield Claim(
            name=f"{name}: traces of {traces} in which a start or an end differs",
            figure=float(len(wrong)),
            most=0.0,
            write="{:.0f}".format,
        )


def hidden(seed: int) -> Iterator[Claim]:
    """Of sites whose rules are hidden, how many wait in our replay as in their log."""
    with tempfile.TemporaryDirectory() as folder:
        for name, rule in (("", differs), ("with much that is unusual, ", differs_wide)):
            told = [rule(Random(f"{seed} {place}"), Path(folder)) for place in range(SITES)]
            print(*filter(None, told), sep="\n", end="\n" if any(told) else "")
            yield Claim(
                name=f"logs of {SITES} sites {name}replayed by their rules, in which every job"
                " waits as it did",
                figure=float(told.count("")),
                least=float(SITES),
                write="{:.0f}".format,
            )


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 where a job is otherwise."""
    parser = argparse.ArgumentParser(prog="python -m validation.rules")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--traces", type=int, default=TRACES)
    asked = parser.parse_args(arguments)
    print(f"seed {asked.seed}")
    found = [*claims(asked.seed, asked.traces), *hidden(asked.seed)]
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
