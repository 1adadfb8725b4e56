"""Local search: one pass over the deals of a rule, each replaced by a better one next to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foretrain.ensemble.course import Leg, Rule, State, begin, in_step
from foretrain.ensemble.flotilla import flotilla, levelled
from foretrain.ensemble.terms import Deal, Terms

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
