"""Failures: what they cost, and how often to write checkpoints because of them.

Failures strike at a constant rate, during restarts too; each throws training back to the last
checkpoint that is stored. With them, a stretch of training between two checkpoints is expected to
take the time of `expected_seconds`, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, inf, sqrt

LARGEST_EXPONENT = 700.0
"""Failures per attempt above which no float holds the expected time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """What interrupts training: checkpoints and failures.

    Attributes:
        rate: failures per second of the whole job.
        pause: seconds that training stands still for a checkpoint.
        lag: seconds until it is stored after that; training goes on meanwhile.
        restart: seconds from a failure to the next step.
    """

    rate: float
    pause: float
    lag: float
    restart: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Expected seconds of one stretch of training and the checkpoint that ends it.

    Attributes:
        work: training that counts.
        checkpoint: standing still for the checkpoint.
        lost: work and checkpoints done in vain.
        restarts: from failures to next steps, restarts that fail themselves included.
        failures: how many are expected.
    """

    work: float
    checkpoint: float
    lost: float
    restarts: float
    failures: float

    @property
    def total(self) -> float:
        """Their sum, in seconds."""
        return self.work + self.checkpoint + self.lost + self.restarts


def young(pause: float, *, rate: float) -> float:
    """Seconds of work between checkpoints, to first order.

    Source: young1974, the closing formula: the root of 2 x pause x mean time between failures.
    """
    return sqrt(2.0 * pause / rate)


def daly(pause: float, *, rate: float) -> float:
    """Seconds of work between checkpoints that make the expected time least.

    Args:
        pause: seconds of one checkpoint.
        rate: failures per second, above 0.

    Source: daly2006, equation 37.
    """
    if pause * rate >= 2.0:
        return 1.0 / rate
    half = pause * rate / 2.0
    return young(pause, rate=rate) * (1.0 + sqrt(half) / 3.0 + half / 9.0) - pause


def optimal(between: Interruption) -> float:
    """Daly's interval, but no shorter than the storing of one checkpoint takes.

    Without failures none is needed, and the interval has no end.
    """
    if between.rate == 0.0:
        return inf
    return max(daly(between.pause, rate=between.rate), between.lag - between.pause)


def expected_seconds(work: float, between: Interruption) -> float:
    """Expected seconds of a stretch of work and the checkpoint that ends it.

    Args:
        work: seconds of training.
        between: checkpoints and failures; the lag is at most the stretch.

    A failure throws training back to the last stored checkpoint, so that a restart is followed by
    the lag once more: with it in the place of a longer restart, daly2006's formula stays exact.

    Source: daly2006, equation 20.
    """
    stretch, rate = work + between.pause, between.rate
    again = rate * (between.restart + between.lag)
    if again + rate * stretch > LARGEST_EXPONENT:
        return inf
    return stretch if rate == 0.0 else exp(again) * expm1(rate * stretch) / rate


def stretch(work: float, between: Interruption) -> Stretch:
    """What a stretch of work is expected to take, in parts.

    Failures come at their rate all the time, and a restart lasts until it is done or fails itself:
    of all time, 1 - exp(-rate x restart) goes into restarts.
    """
    total = expected_seconds(work, between)
    if total == inf:
        return Stretch(work=work, checkpoint=between.pause, lost=inf, restarts=inf, failures=inf)
    restarts = -expm1(-between.rate * between.restart) * total
    lost = total - (work + between.pause) - restarts
    return Stretch(
        work=work,
        checkpoint=between.pause,
        lost=max(lost, 0.0),  # where failures are rare, the difference may be but rounding
        restarts=restarts,
        failures=between.rate * total,
    )
