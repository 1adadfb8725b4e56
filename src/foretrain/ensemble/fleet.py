"""FLEET: which members train together, on how many devices each, and whether that pays.

Flotillas are dealt out by FLEET's greedy rules, one pass of local search replaces deals by better
ones next to them, and the course is compared with members that share nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np

from foretrain.ensemble.costs import Deal, FleetTerms
from foretrain.ensemble.course import (
    Course,
    CourseState,
    Leg,
    Places,
    Rule,
    begin,
    in_step,
    legs,
    moved,
    train,
)

BUSY = 0.8
"""Share of the devices below which a flotilla ends. Source: guan2020."""


def flotilla(terms: FleetTerms, left: Collection[int], *, lead: int | None = None) -> Deal:
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


def filled(terms: FleetTerms, deal: Deal, waiting: Collection[int], *, target: float) -> Deal:
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


def levelled(terms: FleetTerms, deal: Deal) -> Deal:
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


def fleet_g(terms: FleetTerms) -> Rule:
    """A new flotilla as soon as too few devices are busy; its unfinished members wait for it too.

    Source: guan2020, FLEET-G.
    """

    def choose(state: CourseState) -> Deal:
        if sum(state.running.values()) >= BUSY * terms.devices:
            return state.running
        return flotilla(terms, state.left)

    return choose


def fleet_l(terms: FleetTerms) -> Rule:
    """Devices of a member that has ended go at once to members that keep up with the others.

    Source: guan2020, FLEET-L: GPUs are filled again as soon as a DNN ends.
    """

    def choose(state: CourseState) -> Deal:
        if not state.running:
            return flotilla(terms, state.left)
        waiting = set(state.left) - set(state.running)
        return filled(terms, state.running, waiting, target=terms.pace(state.running))

    return choose


MOST = 128
"""Neighbours of a deal that are played to the end: our choice; eight members have fewer than 40."""


def improved(terms: FleetTerms, rule: Rule) -> Iterator[Leg]:
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
        ends = []
        for deal in deals:
            _, later = in_step(terms, state, deal)
            while later.left:
                _, later = in_step(terms, later, rule(later))
            ends.append(later.now)
        leg, state = in_step(terms, state, deals[ends.index(min(ends))])
        yield leg


def neighbours(terms: FleetTerms, state: CourseState, deal: Deal) -> Iterator[Deal]:
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
    ends = [each for many in range(1, len(ranked) + 1) for each in (ranked[:many], ranked[-many:])]
    for together in (*_companies(list(deal), waiting), *ends):
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


def _promising(terms: FleetTerms, state: CourseState, deal: Deal) -> list[Deal]:
    """The neighbours in which devices do most; equal deals are listed once."""
    distinct = {frozenset(near.items()): near for near in neighbours(terms, state, deal)}

    def work(near: Deal) -> float:
        """Seconds of work on one device that are done in a second."""
        return terms.pace(near) * sum(1 / terms.rates[place][0] for place in near)

    return sorted(distinct.values(), key=work, reverse=True)[:MOST]


def duplicate(terms: FleetTerms) -> Iterator[Leg]:
    """The legs of an ensemble in which members share nothing but the hosts of their nodes.

    They start in the order of the ensemble, each on one device; the next one starts where one has
    ended. Nothing is saved and loaded again, so no checkpoint is paid.

    Source: pittman2018, the duplicate pipeline; guan2020, the baseline.
    """
    state, places = begin(terms), Places()
    while state.left:
        first = [place for place in state.left if place not in state.running]
        started = first[: terms.devices - len(state.running)]
        deal = {**state.running, **dict.fromkeys(started, 1)}
        places = moved(places, deal, terms.ensemble)
        # Those on one node share what its host prepares.
        nodes: dict[int, dict[int, float]] = {}
        for place, (device,) in places.items():
            node = nodes.setdefault(device // terms.ensemble.devices_per_node, {})
            node[place] = terms.rates[place][0]
        paces: dict[int, float] = {}
        for node in nodes.values():
            paces |= shared_out(node, terms.host)
        leg, state = train(state, paces, deal=deal, start=state.now, dealt=bool(started))
        yield leg


def shared_out(wanted: dict[int, float], supply: float) -> dict[int, float]:
    """What each gets of a supply: what it wants, or else as much as any other that wants more.

    Args:
        wanted: samples per second that each would take.
        supply: samples per second that there are in all.
    """
    got, left = dict[int, float](), supply
    for place in sorted(wanted, key=wanted.__getitem__):
        got[place] = min(wanted[place], left / (len(wanted) - len(got)))
        left -= got[place]
    return got


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCourses:
    """The courses that were compared.

    Attributes:
        fleet_g: all devices are dealt out at once, when too few are busy.
        fleet_l: devices of a member are dealt out as soon as it ends.
        improved: the shorter of the two after one pass of local search.
        duplicate: every member alone on one device, with input of its own.
    """

    fleet_g: Course
    fleet_l: Course
    improved: Course
    duplicate: Course

    @property
    def best(self) -> Course:
        """The shortest: never longer than the duplicate one, which loses a tie."""
        return min(self.improved, self.duplicate, key=lambda course: course.seconds)

    @property
    def reason(self) -> str:
        """A sentence that says what was chosen and by how much."""
        gain = self.duplicate.seconds / self.improved.seconds
        if gain >= 1:
            return f"Training together is {gain:.2f}x as quick as one device for each member."
        return (
            f"Training together does not pay: the members would wait for one another, and need "
            f"{1 / gain:.2f}x the time of one device for each member. Each trains alone."
        )


def fleet(terms: FleetTerms) -> FleetCourses:
    """The courses of an ensemble, under FLEET's rules and one device for each member.

    What is looked for is the course that ends first, among those in which one flotilla at a time
    trains in step on one stream, and devices are dealt out anew only when a member ends; and the
    one in which every member trains alone. FLEET's greedy rules give two of them, one pass of
    local search a third. No course is proven to be the shortest: the problem is strongly NP-hard.

    Args:
        terms: members and limits.

    Source: guan2020, for the greedy rules and the hardness; the local search is ours.
    """
    rules: dict[str, Rule] = {"FLEET-G": fleet_g(terms), "FLEET-L": fleet_l(terms)}
    greedy = {
        name: Course(rule=name, terms=terms, legs=tuple(legs(terms, rule)))
        for name, rule in rules.items()
    }
    first = min(greedy, key=lambda name: greedy[name].seconds)
    better = tuple(improved(terms, rules[first]))
    return FleetCourses(
        fleet_g=greedy["FLEET-G"],
        fleet_l=greedy["FLEET-L"],
        improved=Course(rule=f"{first}, improved", terms=terms, legs=better),
        duplicate=Course(rule="duplicate", terms=terms, legs=tuple(duplicate(terms))),
    )
