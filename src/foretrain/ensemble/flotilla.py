"""Flotillas: which members train together, on how many devices each, by FLEET's greedy rules."""

from __future__ import annotations

from collections.abc import Collection
from heapq import heapify, heapreplace

import numpy as np

from foretrain.ensemble.course import Rule, State
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
