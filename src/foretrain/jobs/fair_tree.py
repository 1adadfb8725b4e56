"""Fair shares: who has used less than its part of the cluster, down a tree of accounts.

Usage is billing units times seconds, of which old ones count less. The fair tree ranks users; the
classic rule takes an exponential of usage over share.

Source: slurm, src/plugins/priority/multifactor/fair_tree.c and priority_multifactor.c, as told in
its documentation; re-implemented from the rules.

Multifactor priority: a weighted sum of what a job is and how long it has waited.

Source: slurm, src/plugins/priority/multifactor/priority_multifactor.c and its documentation;
re-implemented from the rules.

Usage over time: what running jobs add to it, and what decay takes away, period by period.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import floor, inf
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from foretrain.measured.site import Association, BillingRule, PriorityWeights

Number = TypeVar("Number", float, NDArray[np.float64])

LARGEST = 2**32 - 1
"""Priorities are 32 bits."""


class PriorityFactors(NamedTuple):
    """What a job's priority is made of, each from 0 to 1.

    Attributes:
        age: waiting over the longest that counts.
        fairshare: of its user.
        size: share of the cluster that it asks for, or that it leaves.
        partition: factor over the largest of all partitions.
        qos: priority over the largest of all qualities of service.
        devices: share of its partition's devices that it asks for.
    """

    age: float = 0.0
    fairshare: float = 0.0
    size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    devices: float = 0.0


def priority(factors: PriorityFactors, weights: PriorityWeights, *, nice: float = 0.0) -> int:
    """The priority of a job, the larger the sooner.

    Args:
        factors: of the job.
        weights: of the site.
        nice: what its user takes off.
    """
    return min(LARGEST, int(max(1.0, weigh(factors, weights, nice=nice))))


def weigh(
    factors: tuple[Number, Number, Number, Number, Number, Number],
    weights: PriorityWeights,
    *,
    nice: Number,
) -> Number:
    """The weighted sum of which a priority is the whole part: of a job, or of many at once.

    Args:
        factors: those of `PriorityFactors`, of the job or a column for each.
        weights: of the site.
        nice: what its user takes off.
    """
    age, fairshare, size, partition, qos, devices = factors
    return (
        weights.age * age
        + weights.fairshare * fairshare
        + weights.size * size
        + weights.partition * partition
        + weights.qos * qos
        + weights.devices * devices
        - nice
    )


def size_factor(nodes: float, cores: float, *, small_first: bool = False) -> float:
    """The factor of a job's size.

    Args:
        nodes: that it asks for, over those of the cluster.
        cores: likewise.
        small_first: whether small jobs are favoured.
    """
    share = (nodes + cores) / 2.0
    return 1.0 - share if small_first else share


DEVICES = "gres/"
"""How the names of devices begin among what a job holds."""


def billing(
    held: Mapping[str, float], weights: Mapping[str, float], rule: BillingRule = BillingRule.SUM
) -> float:
    """Billing units of a job: its cores where nothing has a weight.

    Args:
        held: how much of each resource, such as `cpu`, `mem` and `gres/gpu`.
        weights: units of one of each.
        rule: how they are put together.
    """
    if not weights:
        return held.get("cpu", 0.0)
    weighed = {name: weights.get(name, 0.0) * amount for name, amount in held.items()}
    devices = [units for name, units in weighed.items() if name.startswith(DEVICES)]
    others = [units for name, units in weighed.items() if not name.startswith(DEVICES)]
    if rule is BillingRule.SUM:
        return sum(weighed.values())
    if rule is BillingRule.MAX_TRES:
        return max(weighed.values(), default=0.0)
    return sum(devices) + max(others, default=0.0)


Key = tuple[str, str]
"""Account and user."""


class UsageTree:
    """Accounts and users with their shares, and what users have used.

    Attributes:
        usage: decayed, of each user under its account.
    """

    def __init__(self, associations: Sequence[Association]) -> None:
        """Everybody with the usage that it begins with."""
        self._shares: dict[str, float] = {}
        self._parents: dict[str, str] = {}
        self._users: dict[Key, float | None] = {}
        self.usage: dict[Key, float] = {}
        self._below: dict[str, tuple[list[Key], list[str], float]] = {}
        for each in associations:
            if each.is_user:
                self._users[each.parent, each.name] = each.shares
                self.usage[each.parent, each.name] = each.usage
            else:
                self._shares[each.name] = 1.0 if each.shares is None else each.shares
                self._parents[each.name] = each.parent

    def add(self, account: str, user: str) -> Key:
        """A user under an account, each with one share where nobody has named it.

        Args:
            account: of a job.
            user: of a job.
        """
        if account and account not in self._shares:
            self._shares[account], self._parents[account] = 1.0, ""
            self._below.clear()
        key = (account, user)
        if key not in self._users:
            self._users[key], self.usage[key] = 1.0, 0.0
            self._below.clear()
        return key

    def totals(self) -> Mapping[str, float]:
        """Usage of each account with all below it; of the root under the empty name."""
        found = dict.fromkeys(("", *self._shares), 0.0)
        for (account, _), used in self.usage.items():
            above = account
            while above:
                found[above] += used
                above = self._parents[above]
            found[""] += used
        return found

    def fair_tree(self) -> Mapping[Key, float]:
        """The fair-share factor of every user: its rank over the number of users.

        Depth first, siblings by share over usage among them, the largest first; of equal ones
        users go before accounts, and equal accounts are one. Equal users share the first's rank,
        and a user that is equal to an account has that of the account's best user.
        """
        totals = self.totals()
        ranked: list[list[Key]] = []
        self._rank([""], totals, ranked)
        count, place, found = len(self._users), len(self._users), dict[Key, float]()
        for equals in ranked:
            for key in equals:
                found[key] = place / count
            place -= len(equals)
        return found

    def _rank(
        self, accounts: Sequence[str], totals: Mapping[str, float], ranked: list[list[Key]]
    ) -> None:
        """Users below some accounts that are equal, the one that is due most first."""
        levels: dict[float, tuple[list[Key], list[str]]] = {}
        for account in accounts:
            users, below, shares = self._children(account)
            for key in users:
                level = level_fs(self._users[key], shares, used=self.usage[key], of=totals[account])
                levels.setdefault(level, ([], []))[0].append(key)
            for name in below:
                level = level_fs(self._shares[name], shares, used=totals[name], of=totals[account])
                levels.setdefault(level, ([], []))[1].append(name)
        for level in sorted(levels, reverse=True):
            equal_users, equal_accounts = levels[level]
            inner: list[list[Key]] = []
            if equal_accounts:
                self._rank(equal_accounts, totals, inner)
            if equal_users and inner:
                inner[0] = [*equal_users, *inner[0]]
            elif equal_users:
                inner = [equal_users]
            ranked += inner

    def classic(self, *, damping: float = 1.0) -> Mapping[Key, float]:
        """The classic factor of every user: 2 to the power of minus usage over share.

        Args:
            damping: divides the exponent.

        Usage counts with that of those above: an account that has used much takes its users with
        it, by their shares among their siblings.
        """
        totals = self.totals()
        whole = totals[""] or 1.0
        found = {}
        for key, own in self._users.items():
            path = [key[0]]
            while path[-1]:
                path.append(self._parents[path[-1]])
            share, used = 1.0, 0.0
            for depth, name in enumerate(reversed(path[:-1])):
                part = self._shares[name] / self._siblings(self._parents[name])
                here = totals[name] / whole
                used = here if not depth else here + (used - here) * part
                share *= part
            mine, part = self.usage[key] / whole, (own or 0.0) / self._siblings(key[0])
            used = mine + (used - mine) * part if len(path) > 1 else mine
            share *= part
            found[key] = float(2.0 ** (-used / share / damping)) if share else 0.0
        return found

    def _siblings(self, account: str) -> float:
        """Shares of all right below an account."""
        return self._children(account)[2]

    def _children(self, account: str) -> tuple[list[Key], list[str], float]:
        """Users and accounts right below an account, and their shares together."""
        known = self._below.get(account)
        if known is None:
            users = [key for key in self._users if key[0] == account]
            below = [name for name, parent in self._parents.items() if parent == account]
            shares = sum(self._users[key] or 0.0 for key in users)
            known = (users, below, shares + sum(self._shares[name] for name in below))
            self._below[account] = known
        return known


def level_fs(share: float | None, shares: float, *, used: float, of: float) -> float:
    """Share over usage among siblings: infinite for who has used nothing, 0 for who has no share.

    Args:
        share: of one; None for a user that shares as its account does, which is never behind.
        shares: of all siblings.
        used: by it.
        of: by its parent.
    """
    if share is None:
        return inf
    if not share:
        return 0.0
    return (share / shares) / (used / of) if used else inf


def decay_of(half_life: float) -> float:
    """What is left of usage after a second, as Slurm has it: a line in place of a power.

    Args:
        half_life: seconds.
    """
    return 1.0 - 0.693 / half_life


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
