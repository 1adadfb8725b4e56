"""Sweeps: does it help a scheduler to know their rungs, and how near is it to the best?

    python -m validation.scheduling.sweeps               # 20 seeds of each mix, 400 small cases
    python -m validation.scheduling.sweeps 3             # fewer seeds, and as few of the cases

A mix is twelve kinds of sweeps, drawn for each seed from what is written below, which was settled
after figures of similar mixes had been seen. They come to 32 devices at load 0.9. Time to the
winner is from a sweep's submission to its last trial's end. Every policy sees the same sweeps;
those that are not aware may know how long a trial is until its next rung, or, by its time limit,
until the last one.

Small cases are held beside the best of all schedules that start and stop trials at whole units of
time. On one device the policy claims to be that; on several it does not, and its distance is told.
The exit status is 1 if a figure is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from heapq import heappop, heappush
from itertools import product
from math import fsum, inf
from statistics import fmean

from numpy.random import Generator, default_rng
from validation.parts.claims import Claim, table

from foretrain.cluster.mixed import fleet
from foretrain.jobs.run import run
from foretrain.jobs.summary import summary
from foretrain.jobs.sweeps import as_jobs, submitted
from foretrain.measured.job import Trace
from foretrain.measured.sweep import Bracket, EndingRule, Sweep, SweepKind, geometric, hyperband
from foretrain.statistics import paired

AWARE = "aware-sweeps"
UNAWARE = (
    "fifo", "sjf", "srtf", "srtf-estimated", "srtf-predicted", "las", "gittins", "aware",
    "aware-efficient", "easy",
)  # fmt: skip
"""All that have a chance: every other policy of the table is behind FIFO or EASY here."""

SEEDS = 20
DEVICES = 32
LOAD = 0.9
COUNT = 100
KINDS = 12
HOUR = 3_600.0
LONGEST = (1.0, 4.0, 16.0)
"""Hours that the winner of a sweep trains."""

RUNGS = {2: 6, 3: 4, 4: 3}
"""The most steps from the first rung to the last, by eta."""

WIDE = (1, 1, 2, 4)
"""Devices of a trial."""

MUST_GAIN = 0.15
SURE = 0.01
CASES = 20
"""Small cases for each seed that is asked."""

EXACT = 1e-9

Small = tuple[int, tuple[tuple[int, ...], ...]]
"""Arrival of a sweep, and for each rung the lengths of its trials, equal within a rung."""


def main(arguments: Sequence[str]) -> int:
    """Prints the table; 1 if a figure is missed."""
    found = list(claims(int(arguments[0]) if arguments else SEEDS))
    print("\n".join(table(found)))
    return 1 if any(claim.kept is False for claim in found) else 0


def claims(seeds: int = SEEDS) -> Iterator[Claim]:
    """Everything that is claimed.

    Args:
        seeds: of each mix.
    """
    for name, kinds in MIXES.items():
        yield from _gains(name, kinds, seeds)
    apart = [apart_of(small, 1) for small in drawn_cases(CASES * seeds)]
    yield Claim(
        name=f"one device: {len(apart)} small cases, farthest from the best of all schedules",
        figure=max(apart),
        most=EXACT,
        write="{:.1e}".format,
    )
    for devices in (2, 3):
        apart = [apart_of(small, devices) for small in drawn_cases(CASES * seeds // 4)]
        yield Claim(name=f"{devices} devices, no claim: mean above the best", figure=fmean(apart))


def halving_kinds(random: Generator) -> list[SweepKind]:
    """Kinds of successive halving: one to three times as many trials as one winner needs."""
    kinds = []
    for number in range(KINDS):
        eta, last, devices = _drawn(random)
        steps = int(random.integers(2, RUNGS[eta] + 1))
        rungs = geometric(last / eta**steps, last, eta=eta)
        bracket = Bracket(trials=int(random.integers(1, 4)) * eta**steps, rungs=rungs)
        sweep = Sweep(name=f"halving-{number}", brackets=(bracket,), eta=eta, devices=devices)
        kinds.append(SweepKind(sweep=sweep))
    return kinds


def hyperband_kinds(random: Generator) -> list[SweepKind]:
    """Kinds of Hyperband."""
    kinds = []
    for number in range(KINDS):
        eta, last, devices = _drawn(random)
        steps = int(random.integers(1, RUNGS[eta] + 1))
        brackets = hyperband(last / eta**steps, last, eta=eta)
        sweep = Sweep(
            name=f"hyperband-{number}",
            brackets=brackets,
            rule=EndingRule.HYPERBAND,
            eta=eta,
            devices=devices,
        )
        kinds.append(SweepKind(sweep=sweep))
    return kinds


MIXES: Mapping[str, Callable[[Generator], list[SweepKind]]] = {
    "successive halving": halving_kinds,
    "Hyperband": hyperband_kinds,
}


def _drawn(random: Generator) -> tuple[int, float, int]:
    """Eta, seconds of the winner and devices of a trial."""
    eta = int(random.choice(list(RUNGS)))
    return eta, HOUR * float(random.choice(LONGEST)), int(random.choice(WIDE))


def _gains(name: str, kinds: Callable[[Generator], list[SweepKind]], seeds: int) -> Iterator[Claim]:
    """The aware policy beside the best one that is not, and beside a bound."""
    means: dict[str, list[float]] = {policy: [] for policy in (AWARE, *UNAWARE)}
    bounds = []
    space = fleet(DEVICES)
    for seed in range(seeds):
        random = default_rng(seed)
        trace = submitted(kinds(random), count=COUNT, load=LOAD, devices=DEVICES, random=random)
        bounds.append(bound(trace, DEVICES))
        for policy, found in means.items():
            found.append(summary(run(trace, space, policy), space).mean)
    best = min(UNAWARE, key=lambda policy: fmean(means[policy]))
    print(f"{name}: mean hours to the winner, {seeds} seeds")
    for policy, found in sorted(means.items(), key=lambda each: fmean(each[1])):
        print(f"  {policy:18}{fmean(found) / HOUR:10.2f}")
    yield Claim(
        name=f"{name}: time to the winner below that of {best}, the best unaware policy",
        figure=1.0 - fmean(means[AWARE]) / fmean(means[best]),
        least=MUST_GAIN,
    )
    sure = paired(means[AWARE], means[best]).chance if seeds > 1 else 1.0
    yield Claim(
        name=f"{name}: chance of that if there were no difference",
        figure=sure,
        most=SURE,
        write="{:.1g}".format,
    )
    yield Claim(
        name=f"{name}: above a bound that no policy can beat",
        figure=fmean(means[AWARE]) / fmean(bounds) - 1.0,
    )


def bound(trace: Trace, devices: int) -> float:
    """A mean time to the winner, seconds, that no policy beats.

    The largest of three.

    - Each sweep alone on all devices: at least its longest trial, and its work spread over all.
    - Sweeps as jobs of one device that is as fast as all together, shortest remaining work first,
      of which no policy has a lower mean (schrage1966).
    - On that device, shortest whole work first: no policy has a lower mean of the moments at which
      half of a sweep's work is done, on average over its work (goemans2002). Rungs follow one
      another, so that the end comes later than that moment by what `_lag` says.
    """
    rungs = {job.rung.sweep.name: (job.arrival, job.rung.sweep) for job in trace.jobs if job.rung}
    alone = [
        max(sweep.demand / devices, *(bracket.rungs[-1] for bracket in sweep.brackets))
        for _, sweep in rungs.values()
    ]
    waiting = sorted((arrival, sweep.demand / devices) for arrival, sweep in rungs.values())
    middle = _mean_busy(waiting) + fsum(_lag(sweep, devices) for _, sweep in rungs.values())
    return max(fmean(alone), _shortest_first(waiting) / len(waiting), middle / len(waiting))


def _lag(sweep: Sweep, devices: int) -> float:
    """Seconds by which a sweep's winner comes after the mean moment of its work, at least.

    After the work of a rung come the rungs behind it, each as long as a trial or as its work spread
    over all devices; the work of the rung itself comes half of that before its end, on average.
    """
    total = 0.0
    for bracket in sweep.brackets:
        behind = 0.0
        counts = sweep.expected(bracket) if sweep.waits else (0.0,) * len(bracket.rungs)
        for count, length in zip(reversed(counts), reversed(bracket.lengths), strict=True):
            work = count * length * sweep.devices
            lasts = max(length, work / devices)
            total += work * (behind + 0.5 * lasts)
            behind += lasts
    return total / sweep.demand


def _mean_busy(jobs: Sequence[tuple[float, float]]) -> float:
    """The least sum of mean moments of work, from arrival, on one server: shortest work first."""
    now, total, there = 0.0, 0.0, list[tuple[float, float, float]]()
    for (arrival, work), upcoming in zip(
        jobs, [*(arrival for arrival, _ in jobs[1:]), inf], strict=True
    ):
        now = max(now, arrival)
        heappush(there, (work, arrival, work))
        while there and now < upcoming:
            whole, came, left = heappop(there)
            served = min(left, upcoming - now)
            total += served / whole * (now + 0.5 * served - came)
            now += served
            if served < left:
                heappush(there, (whole, came, left - served))
    return total


def _shortest_first(jobs: Sequence[tuple[float, float]]) -> float:
    """The sum of responses on one server, by the shortest remaining time."""
    now, total, there = 0.0, 0.0, list[tuple[float, float]]()
    for (arrival, work), upcoming in zip(
        jobs, [*(arrival for arrival, _ in jobs[1:]), inf], strict=True
    ):
        now = max(now, arrival)
        heappush(there, (work, arrival))
        while there and now < upcoming:
            left, came = heappop(there)
            if now + left <= upcoming:
                now += left
                total += now - came
            else:
                heappush(there, (left - (upcoming - now), came))
                now = upcoming
    return total


def drawn_cases(count: int, seed: int = 0) -> Iterator[tuple[Small, ...]]:
    """Two or three sweeps of two or three rungs, of whole units of time."""
    random = default_rng(seed)
    for _ in range(count):
        found = []
        for _ in range(int(random.integers(2, 4))):
            trials = int(random.integers(2, 5))
            rungs = []
            while trials:
                rungs.append((int(random.integers(1, 3)),) * trials)
                trials //= 2
            found.append((int(random.integers(0, 6)), tuple(rungs)))
        yield tuple(sorted(found))


def apart_of(sweeps: Sequence[Small], devices: int) -> float:
    """The share by which the policy's sum of times to winners is above the best schedule's."""
    jobs = []
    for number, (arrival, rungs) in enumerate(sweeps):
        at = [sum(each[0] for each in rungs[: place + 1]) for place in range(len(rungs))]
        bracket = Bracket(trials=len(rungs[0]), rungs=tuple(map(float, at)))
        sweep = Sweep(name=f"s{number}", brackets=(bracket,), eta=2.0)
        losses = [[[float(trial)] * len(rungs) for trial in range(len(rungs[0]))]]
        jobs += as_jobs(sweep, arrival=float(arrival), losses=losses)
    outcomes = run(Trace(name="small", jobs=tuple(jobs)), fleet(devices), AWARE)
    ends: dict[str, float] = {}
    for job, end in zip(outcomes.trace.jobs, outcomes.ended, strict=True):
        assert job.rung
        ends[job.rung.sweep.name] = max(end, ends.get(job.rung.sweep.name, 0.0))
    total = sum(ends[f"s{number}"] - arrival for number, (arrival, _) in enumerate(sweeps))
    return total / least_total(tuple(sweeps), devices) - 1.0


def least_total(sweeps: tuple[Small, ...], devices: int) -> int:
    """The least sum of times to winners over all schedules that change at whole units of time."""

    @cache
    def after(now: int, states: tuple[tuple[int, ...], ...]) -> int:
        # Of each sweep what is left of its trials at the open rung, and how many rungs are to come.
        there = [each for each, state in enumerate(states) if state[1:]]
        if not there:
            return 0
        came = [each for each in there if sweeps[each][0] <= now]
        choices = [list(range(min(devices, len(states[each]) - 1) + 1)) for each in came]
        best = None
        for numbers in product(*choices):
            if sum(numbers) > devices or (came and not sum(numbers)):
                continue
            following = list(states)
            for each, number in zip(came, numbers, strict=True):
                following[each] = _served(sweeps[each][1], states[each], number)
            found = after(now + 1, tuple(following))
            best = found if best is None else min(best, found)
        assert best is not None
        return len(came) + best

    return after(0, tuple((0, *rungs[0]) for _, rungs in sweeps))


def _served(
    rungs: tuple[tuple[int, ...], ...], state: tuple[int, ...], number: int
) -> tuple[int, ...]:
    """A sweep after one unit of time in which its trials with most left were served."""
    place, left = state[0], sorted(state[1:], reverse=True)
    rest = [work - (spot < number) for spot, work in enumerate(left)]
    rest = sorted(work for work in rest if work)
    if rest:
        return (place, *rest)
    return (place + 1, *rungs[place + 1]) if place + 1 < len(rungs) else (place,)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
