"""Flotillas: which members train together, on how many devices each, by FLEET's greedy rules.

Local search: one pass over the deals of a rule, each replaced by a better one next to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from heapq import heapify, heapreplace

import numpy as np

from foretrain.ensemble.course import Leg, Rule, State, begin, in_step
from foretrain.ensemble.terms import Deal, Terms

BUSY = 0.8
"""Share of the devices below which a flotilla ends. Source: guan2020."""


def flotilla(terms: Terms, left: Collection[int], *, lead: int | None = None) -> Deal:
    """The deal of a new flotilla.

    It starts with the quickest member on one device. As long as devices are free it takes in the
    member and the number of devices whose rate lies nearest to that of the first, within the
    tolerance; the earlier member of equally near ones, on fewer devices. What is left over goes
    to the slowest.

    Args:
        terms: members and limits.
        left: unfinished members.
        lead: the member to start with, None for the quickest.

    Source: guan2020, greedy flotilla creation.
    """
    if lead is None:
        lead = max(left, key=lambda place: (terms.rate(place, 1), -place))
    return filled(terms, {lead: 1}, set(left) - {lead}, target=terms.rate(lead, 1))


def filled(terms: Terms, deal: Deal, waiting: Collection[int], *, target: float) -> Deal:
    """A deal whose free devices were given to members of like rates, then to the slowest.

    Args:
        terms: members and limits.
        deal: members that have their devices already.
        waiting: members that have none.
        target: samples per second that those taken in should come near to.

    Source: guan2020, greedy flotilla creation.
    """
    full, free = dict(deal), terms.devices - sum(deal.values())
    order = sorted(waiting)
    gaps = np.abs(terms.table[order] - target)
    gaps[~(gaps <= terms.tolerance)] = np.inf
    nearest = np.minimum.accumulate(gaps, axis=1)  # by the devices that are free
    while order and free:
        row = int(np.argmin(nearest[:, free - 1]))
        if nearest[row, free - 1] == np.inf:
            break
        count = int(np.argmin(gaps[row, :free])) + 1
        full[order[row]], free = count, free - count
        nearest[row] = np.inf
    return levelled(terms, full)


def levelled(terms: Terms, deal: Deal) -> Deal:
    """A deal whose free devices went one by one to the slowest member.

    Devices that would not make the slowest quicker stay free.

    Source: guan2020, left-over GPUs.
    """
    full, free = dict(deal), terms.devices - sum(deal.values())
    slowest = [(terms.rate(place, count), place) for place, count in full.items()]
    heapify(slowest)
    while free:
        rate, place = slowest[0]
        quicker = terms.rate(place, full[place] + 1)
        if quicker <= rate:
            break
        full[place] += 1
        free -= 1
        heapreplace(slowest, (quicker, place))
    return full


def fleet_g(terms: Terms) -> Rule:
    """A new flotilla as soon as too few devices are busy; its unfinished members wait for it too.

    Source: guan2020, FLEET-G.
    """

    def choose(state: State) -> Deal:
        if sum(state.running.values()) >= BUSY * terms.devices:
            return state.running
        return flotilla(terms, state.left)

    return choose


def fleet_l(terms: Terms) -> Rule:
    """Devices of a member that has ended go at once to members that keep up with the others.

    Source: guan2020, FLEET-L: GPUs are filled again as soon as a DNN ends.
    """

    def choose(state: State) -> Deal:
        if not state.running:
            return flotilla(terms, state.left)
        waiting = set(state.left) - set(state.running)
        return filled(terms, state.running, waiting, target=terms.pace(state.running))

    return choose


MOST = 128
"""Neighbours of a deal that are played to the end: our choice; eight members have fewer than 40."""


def improved(terms: Terms, rule: Rule) -> Iterator[Leg]:
    """Legs that end no later than those of a rule.

    Deals are visited once, in the order of time. Each is compared with its neighbours, every one
    played to the end with the rule for all later deals; the earliest end wins, the rule in a tie.
    The rule's own deal is always among them, so the end only ever moves forward.

    Args:
        terms: members and limits.
        rule: equal states must give equal deals.
    """
    state = begin(terms)
    while state.left:
        own = rule(state)
        deals = [own, *_promising(terms, state, own)]
        ends = [_end(terms, state, deal, rule=rule) for deal in deals]
        leg, state = in_step(terms, state, deals[ends.index(min(ends))])
        yield leg


def neighbours(terms: Terms, state: State, deal: Deal) -> Iterator[Deal]:
    """Deals that differ from one by a single decision.

    Everybody goes on as before; another member leads the flotilla; one member leaves, joins or
    makes way for another; so many of the quickest or of the slowest train together. In the last
    two all devices are given one by one to the slowest.
    """
    if state.running:
        yield state.running
    for lead in state.left:
        yield flotilla(terms, state.left, lead=lead)
    waiting = [place for place in state.left if place not in deal]
    ranked = sorted(state.left, key=lambda place: (terms.rates[place][0], place))
    for together in (*_companies(list(deal), waiting), *_ends_of(ranked)):
        if len(together) <= terms.devices:
            yield levelled(terms, dict.fromkeys(together, 1))


def _companies(together: Sequence[int], waiting: Sequence[int]) -> Iterator[Sequence[int]]:
    yield together
    for new in waiting:
        yield [*together, new]
    for out in together:
        rest = [place for place in together if place != out]
        if rest:
            yield rest
        for new in waiting:
            yield [*rest, new]


def _ends_of(ranked: Sequence[int]) -> Iterator[Sequence[int]]:
    for many in range(1, len(ranked) + 1):
        yield ranked[:many]
        yield ranked[-many:]


def _promising(terms: Terms, state: State, deal: Deal) -> list[Deal]:
    """The neighbours in which devices do most; equal deals are listed once."""
    distinct = {frozenset(near.items()): near for near in neighbours(terms, state, deal)}

    def work(near: Deal) -> float:
        """Seconds of work on one device that are done in a second."""
        return terms.pace(near) * sum(1 / terms.rates[place][0] for place in near)

    return sorted(distinct.values(), key=work, reverse=True)[:MOST]


def _end(terms: Terms, state: State, deal: Deal, *, rule: Rule) -> float:
    _, state = in_step(terms, state, deal)
    while state.left:
        _, state = in_step(terms, state, rule(state))
    return state.now
