"""Usage over time: what running jobs add to it, and what decay takes away, period by period."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import floor, inf

from foretrain.jobs.fair_tree import Key, UsageTree, decay_of
from foretrain.measured.site import PriorityWeights


class _Account:
    """Of one user: billing units that are held, and what they have added since the last period."""

    __slots__ = ("accrued", "at", "epoch", "rate")

    def __init__(self) -> None:
        self.rate = self.accrued = self.at = 0.0
        self.epoch = 0


class Usage:
    """What users have used, kept for the end of the last period.

    Attributes:
        tree: of shares; its usage is that of the end of a period, the last one once `advance` was
            asked for.

    In each period usage grows by what was held in it and is then decayed. A user is looked at where
    one of its jobs starts or ends, or all of them where factors are wanted; periods in between are
    done at once.
    """

    def __init__(self, tree: UsageTree, weights: PriorityWeights) -> None:
        """Nobody holds anything at 0 s."""
        self.tree = tree
        self._weights = weights
        half_life, period = weights.half_life, weights.period
        self._kept = decay_of(half_life) ** period if half_life < inf else 1.0
        self._accounts: defaultdict[Key, _Account] = defaultdict(_Account)

    def change(self, key: Key, billing: float, now: float) -> None:
        """A job of a user starts, or stops where its billing is below 0.

        Args:
            key: of the user.
            billing: units that it holds from now on.
            now: seconds since the trace began.
        """
        account = self._accounts[key]
        self._advance(key, account, now)
        account.rate += billing

    def advance(self, now: float) -> None:
        """Time passes, for all users.

        Args:
            now: seconds since the trace began.
        """
        for key in self.tree.usage:
            self._advance(key, self._accounts[key], now)

    def factors(self) -> Mapping[Key, float]:
        """The fair-share factor of every user as of the last period."""
        weights = self._weights
        if weights.fair_tree:
            return self.tree.fair_tree()
        return self.tree.classic(damping=weights.damping)

    def _advance(self, key: Key, account: _Account, now: float) -> None:
        period, kept = self._weights.period, self._kept
        epochs = floor(now / period) - account.epoch
        if epochs:
            first = (account.epoch + 1) * period
            added = account.accrued + account.rate * (first - account.at)
            used = (self.tree.usage[key] + added) * kept
            if epochs > 1:
                powers = kept ** (epochs - 1)
                later = kept * (1.0 - powers) / (1.0 - kept) if kept < 1.0 else epochs - 1.0
                used = used * powers + account.rate * period * later
            self.tree.usage[key] = used
            account.accrued = 0.0
            account.epoch += epochs
            account.at = account.epoch * period
        account.accrued += account.rate * (now - account.at)
        account.at = now
