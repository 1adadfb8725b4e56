"""Fair-share factors of a log's users, for any shares: what is not linear in a priority."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from foretrain.jobs.fair_tree import decay_of
from foretrain.jobs.start_orders import Flags, Numbers, Places, Started
from foretrain.measured.site import Association

SHARES: Final = (
    1 / 10, 1 / 8, 1 / 6, 1 / 5, 1 / 4, 1 / 3, 2 / 5, 1 / 2, 3 / 5, 2 / 3, 3 / 4, 4 / 5, 1.0,
    5 / 4, 4 / 3, 3 / 2, 5 / 3, 2.0, 5 / 2, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0,
)  # fmt: skip
"""Shares that are tried, for only their ratios among siblings matter: all of whole numbers up to 5
and some further ones."""


class SharePoint(NamedTuple):
    """What is not linear in a priority.

    Attributes:
        accounts: shares of each account, by its place in `SHARES`.
        users: of each user, likewise.
        half_life: seconds in which usage is halved.
        longest: seconds after which a job grows no older.
        classic: whether factors are the classic exponential, and not ranks in a fair tree.
    """

    accounts: tuple[int, ...]
    users: tuple[int, ...]
    half_life: float
    longest: float
    classic: bool = False

    def associations(self, jobs: Started) -> Iterator[Association]:
        """Accounts and users with their shares, of siblings the smallest 1.

        Args:
            jobs: whose users they are.
        """
        accounts = sorted({account for account, _ in jobs.users})
        least = min(SHARES[place] for place in self.accounts)
        for name, place in zip(accounts, self.accounts, strict=True):
            if name:
                yield Association(name=name, shares=SHARES[place] / least)
        for (account, user), place in zip(jobs.users, self.users, strict=True):
            siblings = zip(jobs.users, self.users, strict=True)
            least = min(SHARES[each] for (other, _), each in siblings if other == account)
            share = SHARES[place] / least
            yield Association(name=user, parent=account, shares=share, is_user=True)

    def moved(self, place: int, by: int, beside: Sequence[int]) -> SharePoint:
        """The same with a larger or a smaller share of an account, or of a user after all accounts.

        Args:
            place: of it.
            by: so many shares that are tried further on.
            beside: places of all that share with it: the first has a share of 1 before, for only
                so are some ratios among those that are tried. Nobody where shares stay as told.
        """
        places, count = np.array([*self.accounts, *self.users]), len(self.accounts)
        if beside:
            rows, told = list(beside), np.log(SHARES)
            apart = told[places[rows]] - told[places[beside[0]]]
            places[rows] = np.abs(apart[:, None] - told).argmin(axis=1)
        places[place] = min(max(places[place] + by, 0), len(SHARES) - 1)
        found = places.tolist()
        return self._replace(accounts=tuple(found[:count]), users=tuple(found[count:]))


def siblings(jobs: Started, place: int) -> list[int]:
    """Places of all who share with an account, or with a user after all accounts.

    Args:
        jobs: whose users they are.
        place: of it among the shares of a point.
    """
    count = len({account for account, _ in jobs.users})
    if place < count:
        return [*range(count)]
    own = jobs.users[place - count][0]
    return [count + each for each, (account, _) in enumerate(jobs.users) if account == own]


class UserRanks:
    """Fair-share factors of a log's users at some moments, for any shares."""

    def __init__(self, jobs: Started, period: float, when: Numbers) -> None:
        """Device time of each user in each period, up to the last that is asked for.

        Args:
            jobs: that started.
            period: seconds after which usage is worked out again.
            when: moments at which factors are wanted. [moment]
        """
        self._period = period
        accounts = sorted({account for account, _ in jobs.users})
        self._account = np.array([accounts.index(account) for account, _ in jobs.users])
        self._member = np.equal.outer(self._account, np.arange(len(accounts))).astype(float)
        epochs = np.floor(when / period).astype(int)
        self._epochs, self._row = np.unique(epochs, return_inverse=True)
        edges = np.arange(int(self._epochs.max(initial=0)) + 1, dtype=np.float64) * period
        users = range(len(jobs.users))
        held = [_held_until(edges, jobs, jobs.user == user) for user in users]
        self._held = np.diff(np.column_stack(held), axis=0)
        self._known: dict[float, Numbers] = {}

    def of(self, users: Sequence[Places], point: SharePoint) -> list[Numbers]:
        """The factors of some users at each moment.

        Args:
            users: of each moment, one after the other. [moment]
            point: shares and half-life.
        """
        factors = self._factors(point)
        return [factors[self._row, user] for user in users]

    def _usage(self, half_life: float) -> Numbers:
        """Decayed usage of each user. [epoch, user]"""
        if half_life not in self._known:
            kept = decay_of(half_life) ** self._period
            so_far = np.zeros_like(self._held, shape=(len(self._held) + 1, self._held.shape[1]))
            for epoch, held in enumerate(self._held):
                so_far[epoch + 1] = (so_far[epoch] + held) * kept
            self._known[half_life] = so_far[self._epochs]
        return self._known[half_life]

    def _factors(self, point: SharePoint) -> Numbers:
        """Of each user in a tree of two levels. [epoch, user]"""
        used = self._usage(point.half_life)
        shares, own = (np.array(SHARES)[list(each)] for each in (point.accounts, point.users))
        factors = self._classic if point.classic else self._ranked
        return factors(used, shares, own)

    def _classic(self, used: Numbers, shares: Numbers, own: Numbers) -> Numbers:
        """2 to the power of minus usage over share, usage being that of the account too."""
        by_account = used @ self._member
        whole = by_account.sum(axis=1, keepdims=True)
        whole[whole == 0.0] = 1.0
        mine, above = used / whole, (by_account / whole)[:, self._account]
        part, top = own / (own @ self._member)[self._account], (shares / shares.sum())
        share = part * top[self._account]
        found: Numbers = np.exp2(-(mine + (above - mine) * part) / share)
        return found

    def _ranked(self, used: Numbers, shares: Numbers, own: Numbers) -> Numbers:
        """A user's rank in a fair tree, over the number of users."""
        by_account = used @ self._member
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            top = shares / shares.sum() / (by_account / by_account.sum(axis=1, keepdims=True))
            below = own / (own @ self._member)[self._account]
            below = below / (used / by_account[:, self._account])
        # Who has used nothing is never behind.
        top = np.where(by_account > 0, top, np.inf)[:, self._account]
        below = np.where(used > 0, below, np.inf)
        order = np.lexsort((-below, -top), axis=1)
        ordered = [np.take_along_axis(each, order, axis=1) for each in (top, below)]
        count = used.shape[1]
        ahead = np.tile(np.arange(count), (len(used), 1))
        for each in range(1, count):
            same = [level[:, each] == level[:, each - 1] for level in ordered]
            equal = np.logical_and(*same)
            ahead[equal, each] = ahead[equal, each - 1]
        ranks = np.empty_like(ahead)
        np.put_along_axis(ranks, order, ahead, axis=1)
        found: Numbers = (count - ranks) / count
        return found


def _held_until(edges: Numbers, jobs: Started, mine: Flags) -> Numbers:
    """Device time that some jobs have held until some moments."""

    def passed(since: Numbers) -> Numbers:
        order = np.argsort(since)
        ascending, weights = since[order], jobs.devices[mine][order]
        place = np.searchsorted(ascending, edges, side="right")
        held = np.concatenate([[0.0], np.cumsum(weights)])[place]
        moments = np.concatenate([[0.0], np.cumsum(weights * ascending)])[place]
        found: Numbers = held * edges - moments
        return found

    return passed(jobs.begun[mine]) - passed(jobs.ended[mine])
