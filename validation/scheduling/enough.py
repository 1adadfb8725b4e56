"""How many nodes are enough: does the stated interval hold what a long simulation finds?

    python -m validation.scheduling.enough             # 20 sites, drawn afresh; prints the seed
    python -m validation.scheduling.enough 20 4711     # the same again

A site is a fleet, a load, a policy and a target, all drawn at random, with jobs like those of
Philly. Its question is answered as `simulate` answers it, from a run that it makes as long as it
needs. The truth is the fewest nodes that keep the target in a run of `LONG` jobs, other ones: it
lies in the interval if its last number of nodes keeps the target there, and one node fewer than its
first does not. The exit status is 1 if less than nine tenths of the intervals hold it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random, SystemRandom
from statistics import fmean

from numpy.random import default_rng
from validation.parts.claims import Claim, table

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.capacity import LATE, capacity
from foretrain.jobs.generator import generate
from foretrain.jobs.mix import PHILLY
from foretrain.jobs.run import run
from foretrain.jobs.summary import summary
from foretrain.measured.job import Trace
from foretrain.measured.queue_study import Drawn, QueueStudy, Target, TargetQuantity

SITES = 20
LONG = 400_000
INSIDE = "inside"
SEED_OF_TRUTH = 9_999_991
SETTLED = 0.1
HELD = 0.9
POLICIES = ("fifo", "srtf", "las", "easy", "sjf")
MINUTES = (10.0, 30.0, 60.0, 240.0)
"""Targets of waiting."""

HOURS = (6.0, 12.0, 24.0)
"""Targets of a mean response."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was said of a site, and what is so.

    Attributes:
        study: the question.
        nodes: that are said to be enough.
        least: of the interval.
        most: likewise; None for no end.
        verdict: of the long run: "inside", that the truth is "fewer" or "more", or "not
            told" where there is no interval.
    """

    study: QueueStudy
    nodes: int | None
    least: int | None
    most: int | None
    verdict: str


def main(arguments: Sequence[str]) -> int:
    """Prints every site; 1 if too few intervals hold."""
    count = int(arguments[0]) if arguments else SITES
    seed = int(arguments[1]) if len(arguments) > 1 else SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    found = list(claims(count, seed))
    print("\n".join(table(found)))
    return 1 if any(claim.kept is False for claim in found) else 0


def claims(count: int, seed: int) -> Iterator[Claim]:
    """Whether intervals hold, and how wide they are.

    Args:
        count: of sites.
        seed: of chance.
    """
    found = []
    for study in sites(Random(seed), count):
        each = answered(study)
        found.append(each)
        asked = study.target
        print(
            f"  {study.fleet.devices:3} devices, load {study.loads[0]:.2f}, {study.policies[0]:5}"
            f" {asked.quantity.value:12}{asked.seconds:8.0f} s: {each.nodes}"
            f" ({each.least} to {each.most}): {each.verdict}",
            flush=True,
        )
    held = sum(each.verdict == INSIDE for each in found) / len(found)
    yield Claim(
        name=f"{count} sites: intervals that hold the fewest nodes", figure=held, least=HELD
    )
    wide = [(each.most - each.least) / each.nodes for each in found if each.most and each.nodes]
    yield Claim(name="nodes between its ends over the answer, mean", figure=fmean(wide))


def sites(random: Random, count: int) -> Iterator[QueueStudy]:
    """Questions."""
    for _ in range(count):
        devices, nodes = random.choice((4, 8)), random.randint(4, 16)
        quantity = random.choice(
            (TargetQuantity.P95_WAITING, TargetQuantity.P95_WAITING, TargetQuantity.WAITING,
             TargetQuantity.MEAN)
        )  # fmt: skip
        seconds = (
            3_600.0 * random.choice(HOURS)
            if quantity is TargetQuantity.MEAN
            else 60.0 * random.choice(MINUTES)
        )
        yield QueueStudy(
            fleet=Fleet(nodes=(Nodes(count=nodes, devices=devices),)),
            jobs=Drawn(jobs=random.choice((1_000, 2_000, 4_000))),
            policies=(random.choice(POLICIES),),
            loads=(random.uniform(0.5, 0.95),),
            target=Target(quantity=quantity, seconds=seconds, most=4 * nodes),
        )


def answered(study: QueueStudy) -> Answer:
    """What `simulate` says, and what a long run finds."""
    found = capacity(study, (), tell=lambda _what, _done, _all: None)
    assert found is not None
    [enough] = found.policies
    trace = generate(
        PHILLY,
        default_rng(SEED_OF_TRUTH),
        count=LONG,
        load=study.loads[0],
        devices=study.fleet.devices,
    )
    verdict = INSIDE
    if not enough.sure:
        verdict = "not told"
    elif enough.most is not None and not keeps(study, trace, enough.most):
        verdict = "more"
    elif enough.least is None or (enough.least > 1 and keeps(study, trace, enough.least - 1)):
        verdict = "fewer"
    return Answer(
        study=study, nodes=enough.nodes, least=enough.least, most=enough.most, verdict=verdict
    )


def keeps(study: QueueStudy, trace: Trace, nodes: int) -> bool:
    """Whether a run keeps the target."""
    fleet = replace(study.fleet, nodes=(replace(study.fleet.nodes[0], count=nodes),))
    largest = max(job.devices for job in trace.jobs)
    if largest > fleet.devices:
        return False
    found = summary(run(trace, fleet, study.policies[0]), fleet, warm_up=SETTLED)
    asked = study.target
    if asked.quantity is TargetQuantity.MEAN:
        return fmean(found.responses) <= asked.seconds
    if asked.quantity is TargetQuantity.WAITING:
        return fmean(found.waiting) <= asked.seconds
    late = sum(each > asked.seconds for each in found.waiting) / len(found.waiting)
    return late <= LATE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
