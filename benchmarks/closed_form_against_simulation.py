"""The closed form of a step against its event simulation, on random plans.

    python benchmarks/closed_form_against_simulation.py            # minutes
    python benchmarks/closed_form_against_simulation.py --tenth    # a random tenth of them

What is drawn is broader than what real clusters give: 1 to 64 stages of one to eight chunks, up to
256 forward passes of chunks on each (or one group of micro-batches, where that is more), backward
passes of one to four forward passes, sends of up to a chunk's forward pass (most below 0.3 of it),
gradient reductions of up to four backward passes in 1 to 40 buckets, whatever the chunks. Stages of
equal time and sends that do not block must agree within 1 %; the other kinds show how far the
formula reaches. The other schedules take the same plans with one chunk per stage, and gradients of
weights of 0.2 to 0.5 of a backward pass. Another seed can draw worse: the docs tell what seven of
them gave for 1F1B.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from foretrain.plan.plan import Schedule, Sends
from foretrain.step.simulated_step import simulate
from foretrain.step.timeline import StageTimes, StepTimes, closed_form

PLANS = 500
PLANS_OF_OTHER_KINDS = 150
SEED = 20261121
LIMIT = 0.01
PASSES = 256

Draw = Callable[[Random], StepTimes]


def compare(times: StepTimes) -> tuple[float, float]:
    """Seconds of a step by the closed form and by the event simulation."""
    return closed_form(times), simulate(times).seconds


def equal_stages(random: Random) -> StepTimes:
    """A plan whose stages all take the same time and compute while they send."""
    stages = random.choice([1, 2, 4, 8, 16, 32, 64, random.randint(1, 64)])
    interleaving = random.choice([1, 1, 1, 2, 3, 4, 8]) if stages > 1 else 1
    forward = 10 ** random.uniform(-3, 0)
    stage = _stage(random, forward)
    return StepTimes(
        stages=(stage,) * stages,
        micro_batches=_micro_batches(random, stages, interleaving),
        interleaving=interleaving,
        send=_sends(random) * forward / interleaving,
        sends=Sends.OVERLAPPED,
        overlap=random.choice([0.0, 1.0, random.random()]),
    )


def equal_chunks(random: Random) -> StepTimes:
    """The same where every chunk holds as many buckets, as chunks of equal layers do."""
    times = equal_stages(random)
    stage = times.stages[0]
    even = replace(stage, buckets=stage.buckets * times.interleaving)
    return replace(times, stages=(even,) * len(times.stages))


def heavy_ends(random: Random) -> StepTimes:
    """The same with a first and a last stage of 0.9 to 1.2 of the time of the others."""
    times = equal_stages(random)
    first, *inner = times.stages
    ends = [_scaled(first, random.uniform(0.9, 1.2)) for _ in range(2)]
    stages = (ends[0], *inner[:-1], ends[1]) if inner else (ends[0],)
    return replace(times, stages=stages)


def uneven_stages(random: Random) -> StepTimes:
    """The same with every stage between 0.8 and 1.2 of the mean."""
    times = equal_stages(random)
    stages = tuple(_scaled(stage, random.uniform(0.8, 1.2)) for stage in times.stages)
    return replace(times, stages=stages)


def blocking_sends(random: Random) -> StepTimes:
    """Equal stages that stand still while they send."""
    return replace(equal_stages(random), sends=Sends.BLOCKING)


def blocking_sends_and_heavy_ends(random: Random) -> StepTimes:
    """Both at once."""
    return replace(heavy_ends(random), sends=Sends.BLOCKING)


def slow_links(random: Random) -> StepTimes:
    """Equal stages, and sends of one to three forward passes of a chunk."""
    times = equal_stages(random)
    chunk = times.stages[0].forward / times.interleaving
    return replace(times, send=chunk * random.uniform(1, 3))


KINDS: tuple[Draw, ...] = (
    equal_stages,
    equal_chunks,
    heavy_ends,
    uneven_stages,
    blocking_sends,
    blocking_sends_and_heavy_ends,
    slow_links,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distances:
    """How far the closed form lies from the simulation.

    Attributes:
        signed: closed form / simulation - 1 of each plan, sorted by size without the sign.
    """

    signed: tuple[float, ...]

    @property
    def largest(self) -> float:
        """The largest distance, without its sign."""
        return abs(self.signed[-1])

    def __str__(self) -> str:
        shares = [
            abs(self.signed[int(share * (len(self.signed) - 1))]) for share in (0.5, 0.9, 0.99)
        ]
        median, p90, p99 = (f"{share:8.3%}" for share in shares)
        worst = f"{min(self.signed):+8.3%} {max(self.signed):+8.3%}"
        return f"{median} {p90} {p99} {self.largest:8.3%} {worst}"


def with_schedule(random: Random, schedule: Schedule, draw: Draw) -> StepTimes:
    """The same by another schedule, which does not interleave."""
    times = draw(random)
    share = random.uniform(0.2, 0.5)
    stages = tuple(replace(stage, weights=share * stage.backward) for stage in times.stages)
    return replace(times, stages=stages, interleaving=1, schedule=schedule)


def distances(draw: Draw, plans: int, *, chosen: Callable[[], bool]) -> Distances:
    """Draw plans and compare both resolutions of those that are chosen."""
    random = Random(SEED)
    drawn = [draw(random) for _ in range(plans)]
    pairs = [compare(times) for times in drawn if chosen()] or [compare(drawn[0])]
    return Distances(signed=tuple(sorted((a / b - 1 for a, b in pairs), key=abs)))


def _stage(random: Random, forward: float) -> StageTimes:
    backward = forward * random.choice([2.0, 3.0, random.uniform(1, 4)])
    return StageTimes(
        forward=forward,
        backward=backward,
        gradients=backward * random.uniform(0, 4),
        buckets=random.randint(1, 40),
        update=backward * random.random(),
        parameters=backward * random.uniform(0, 2),
    )


def _micro_batches(random: Random, stages: int, interleaving: int) -> int:
    most = PASSES // interleaving
    if interleaving == 1:
        return round(most ** random.random())
    return stages * random.randint(1, max(1, most // stages))


def _sends(random: Random) -> float:
    return random.choice([0.0, *[random.uniform(0, 0.3)] * 7, *[random.uniform(0.3, 1)] * 2])


def _scaled(stage: StageTimes, factor: float) -> StageTimes:
    return replace(stage, forward=stage.forward * factor, backward=stage.backward * factor)


def largest(schedule: Schedule, chosen: Callable[[], bool]) -> float:
    """Print the distribution of every kind; the largest distance of equal stages."""
    name = schedule.name.lower().replace("_", " ")
    print(
        f"{name:32} {'median':>8} {'p90':>8} {'p99':>8} {'largest':>8} {'lowest':>8} {'highest':>8}"
    )
    found = {}
    for kind in KINDS:
        plain = schedule is Schedule.ONE_F_ONE_B
        draw = kind if plain else partial(with_schedule, schedule=schedule, draw=kind)
        plans = PLANS if plain and kind is equal_stages else PLANS_OF_OTHER_KINDS
        found[kind] = distances(draw, plans, chosen=chosen)
        print(f"  {kind.__name__.replace('_', ' '):30} {found[kind]}")
    return found[equal_stages].largest


def main(chosen: Callable[[], bool]) -> bool:
    """Print every schedule; whether equal stages keep the limit."""
    print(f"closed form / simulation - 1, random plans of seed {SEED}")
    worst = max(largest(schedule, chosen) for schedule in Schedule)
    print(f"equal stages: largest difference {worst:.1e} (limit {LIMIT:.0%})")
    return worst <= LIMIT


if __name__ == "__main__":
    from tenth import chooser

    sys.exit(not main(chooser(sys.argv[1:])))
