"""Usage over time: what running jobs add to it, and what decay takes away, period by period."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import floor, inf

from foretrain.jobs.fair_tree import Key, UsageTree, decay_of
from foretrain.measured.site import PriorityWeights


class Usage:
    """What users have used, kept for the end of the last period.

    Attributes:
        tree: of shares; its usage is that of the end of the last period.

    In each period usage grows by what was held in it and is then decayed; periods in which nothing
    starts or ends are done at once.
    """

    def __init__(self, tree: UsageTree, weights: PriorityWeights) -> None:
        """Nobody holds anything at 0 s."""
        self.tree = tree
        self._weights = weights
        half_life, period = weights.half_life, weights.period
        self._kept = decay_of(half_life) ** period if half_life < inf else 1.0
        self._rates: defaultdict[Key, float] = defaultdict(float)
        self._accrued: defaultdict[Key, float] = defaultdict(float)
        self._at = 0.0
        self._epoch = 0

    def change(self, key: Key, billing: float, now: float) -> None:
        """A job of a user starts, or stops where its billing is below 0.

        Args:
            key: of the user.
            billing: units that it holds from now on.
            now: seconds since the trace began.
        """
        self.advance(now)
        self._rates[key] += billing

    def advance(self, now: float) -> None:
        """Time passes.

        Args:
            now: seconds since the trace began.
        """
        period, kept = self._weights.period, self._kept
        epochs = floor(now / period) - self._epoch
        if epochs:
            first = (self._epoch + 1) * period
            self._accrue(first - self._at)
            usage, powers = self.tree.usage, kept ** (epochs - 1)
            later = kept * (1.0 - powers) / (1.0 - kept) if kept < 1.0 else epochs - 1.0
            for key in usage:
                usage[key] = (usage[key] + self._accrued.pop(key, 0.0)) * kept
                if epochs > 1:
                    usage[key] = usage[key] * powers + self._rates[key] * period * later
            self._epoch += epochs
            self._at = self._epoch * period
        self._accrue(now - self._at)
        self._at = now

    def factors(self) -> Mapping[Key, float]:
        """The fair-share factor of every user as of the last period."""
        weights = self._weights
        if weights.fair_tree:
            return self.tree.fair_tree()
        return self.tree.classic(damping=weights.damping)

    def _accrue(self, seconds: float) -> None:
        if seconds > 0:
            for key, rate in self._rates.items():
                if rate:
                    self._accrued[key] += rate * seconds
