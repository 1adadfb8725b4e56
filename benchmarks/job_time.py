"""Formulas of the job's time against direct simulation: failures and the slowest of many.

A training is played on the event kernel: it works, stands still for checkpoints that are stored
with or after that, fails at random, goes back and restarts. Its goodput must be that of the formula
within 1 %, and so must the expected maxima of `barriers` against the mean of maxima drawn.

    python benchmarks/job_time.py [--tenth [SEED]]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from statistics import fmean

from foretrain.distributions import Distribution, Exponential, Normal, Samples
from foretrain.events import Events
from foretrain.queueing.fork_join import barrier
from foretrain.statistics import mean_interval
from foretrain.step.interruptions import Interruption, daly, expected_seconds, young

SEED = 20261121
LIMIT = 0.01
STRETCHES = 100_000
DRAWS = 40_000
LAWS: dict[str, Distribution] = {
    "normal": Normal(mean=1.0, deviation=0.1),
    "exponential": Exponential(mean=1.0),
    "from samples": Samples(tuple(1.0 + 0.02 * (place % 7) ** 2 for place in range(50))),
}
CASES = {
    "16,384 devices that fail every 2.7 h": Interruption(
        rate=1 / 9800, pause=20.0, lag=0.0, restart=700.0
    ),
    "the same, stored in the background": Interruption(
        rate=1 / 9800, pause=2.0, lag=60.0, restart=700.0
    ),
    "slow storage, a failure an hour": Interruption(
        rate=1 / 3600, pause=300.0, lag=0.0, restart=600.0
    ),
    "slow storage, in the background": Interruption(
        rate=1 / 3600, pause=30.0, lag=300.0, restart=600.0
    ),
}


class Training:
    """A training that fails at random, played event by event.

    Attributes:
        done: stretches of work done, but for those that a failure undid.
        failures: failures so far.
    """

    def __init__(self, random: Random, work: float, between: Interruption) -> None:
        self.done = self.failures = 0
        self._random, self._work, self._between = random, work, between
        self._events, self._stored = Events(), 0
        self._next = self._storing = -1

    def play(self, seconds: float) -> None:
        """Let it run for so long."""
        self._train()
        self._await_failure()
        self._events.run(until=seconds)

    def _train(self) -> None:
        self._next = self._events.after(self._work + self._between.pause, self._save)

    def _save(self) -> None:
        self.done += 1
        number = self.done
        self._storing = self._events.after(self._between.lag, lambda: self._store(number))
        self._train()

    def _store(self, number: int) -> None:
        self._stored = number

    def _await_failure(self) -> None:
        self._events.after(self._random.expovariate(self._between.rate), self._fail)

    def _fail(self) -> None:
        self.failures += 1
        self._events.cancel(self._next)
        self._events.cancel(self._storing)
        self.done = self._stored
        self._next = self._events.after(self._between.restart, self._train)
        self._await_failure()


def goodputs(
    between: Interruption, work: float, *, stretches: int = STRETCHES
) -> tuple[float, float]:
    """Share of the time that counts: by the formula, and as it was played."""
    expected = expected_seconds(work, between)
    training = Training(Random(SEED), work, between)
    training.play(stretches * expected)
    return work / expected, training.done * work / (stretches * expected)


def played(chosen: Callable[[], bool]) -> float:
    """Print the chosen comparisons of trainings that fail; the largest difference."""
    worst = 0.0
    print(f"goodput: formula, simulation, difference (seed {SEED}, {STRETCHES:,} stretches)")
    for name, between in CASES.items():
        rules = {
            "Young": young(between.pause, rate=between.rate),
            "Daly": daly(between.pause, rate=between.rate),
        }
        for rule, work in rules.items():
            if work + between.pause < between.lag:
                continue  # a checkpoint would begin while the one before is being stored
            if not chosen():
                continue
            formula, simulated = goodputs(between, work)
            worst = max(worst, abs(formula / simulated - 1))
            print(
                f"{name:38} {rule:7} {work:7.0f} s {formula:.4f} {simulated:.4f} "
                f"{formula / simulated - 1:+.2%}"
            )
    return worst


def drawn(chosen: Callable[[], bool]) -> float:
    """Print the chosen comparisons of expected maxima; the largest difference."""
    worst, random = 0.0, Random(SEED)
    print(f"slowest of many: formula, mean of {DRAWS:,} drawn and its interval, difference")
    for count in (2, 8, 64, 512):
        for name, law in LAWS.items():
            if not chosen():
                continue
            formula = barrier(law, workers=count).mean
            maxima = [max(law.draw(random) for _ in range(count)) for _ in range(DRAWS)]
            low, high = mean_interval(maxima)
            worst = max(worst, abs(formula / fmean(maxima) - 1))
            print(
                f"{name:13} {count:5} {formula:.4f} {fmean(maxima):.4f} [{low:.4f}, {high:.4f}] "
                f"{formula / fmean(maxima) - 1:+.2%}"
            )
    return worst


def main(chosen: Callable[[], bool]) -> bool:
    """Print the comparisons; whether all keep the limit."""
    worst = max(played(chosen), drawn(chosen))
    print(f"largest difference {worst:.2%} (limit {LIMIT:.0%})")
    return worst <= LIMIT


if __name__ == "__main__":
    from tenth import chooser

    sys.exit(not main(chooser(sys.argv[1:])))
