"""Course: the order in which an ensemble trains, and when each member ends.

A *leg* lasts from the end of one member to that of the next; in between nothing changes. Whenever
a member has ended the devices may be dealt out again. That costs the seconds of a checkpoint, in
which nothing trains; to go on without those that ended costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from foretrain.ensemble.places import Places, moved
from foretrain.ensemble.terms import Deal, FleetTerms

SAME = 1e-12
"""Members whose ends differ by less than this share end together: rounding, not time."""


class State(NamedTuple):
    """A moment at which devices may be dealt out: the start, or the end of a member.

    Attributes:
        left: samples that each unfinished member still has to train on.
        running: devices of those that were training and have not ended.
        now: seconds from the start.
    """

    left: Mapping[int, float]
    running: Deal
    now: float


class Leg(NamedTuple):
    """Training from one end of a member to the next.

    Attributes:
        start: seconds from the start of the ensemble, after a checkpoint if there was one.
        end: when the next member ends.
        deal: devices of each member that trains.
        paces: samples per second of each of them.
        dealt: whether the devices were dealt out for this leg.
    """

    start: float
    end: float
    deal: Deal
    paces: Mapping[int, float]
    dealt: bool


Rule = Callable[[State], Deal]
"""Deals the devices out; gives the running deal back to leave everything as it is."""


def begin(terms: FleetTerms) -> State:
    """Nobody has trained yet."""
    return State(terms.work, {}, 0.0)


def in_step(terms: FleetTerms, state: State, deal: Deal) -> tuple[Leg, State]:
    """Train the members of a deal on one stream until the next of them ends."""
    dealt = deal != state.running
    start = state.now + terms.checkpoint * (dealt and state.now > 0)
    paces = dict.fromkeys(deal, terms.pace(deal))
    return train(state, paces, deal=deal, start=start, dealt=dealt)


def train(
    state: State, paces: Mapping[int, float], *, deal: Deal, start: float, dealt: bool
) -> tuple[Leg, State]:
    """Train members, each at a pace of its own, until the next of them ends."""
    left = dict(state.left)
    lasts = min(left[place] / pace for place, pace in paces.items())
    for place, pace in paces.items():
        if left[place] <= pace * lasts * (1 + SAME):
            del left[place]
        else:
            left[place] -= pace * lasts
    running = {place: count for place, count in deal.items() if place in left}
    leg = Leg(start, start + lasts, deal, paces, dealt)
    return leg, State(left, running, leg.end)


def legs(terms: FleetTerms, rule: Rule) -> Iterator[Leg]:
    """The legs of an ensemble whose members share one stream, until the last has ended.

    Args:
        terms: members and limits.
        rule: asked at the start and whenever a member has ended.
    """
    state = begin(terms)
    while state.left:
        leg, state = in_step(terms, state, rule(state))
        yield leg


@dataclass(frozen=True, slots=True, kw_only=True)
class Flotilla:
    """Members that train from one deal of the devices to the next.

    Attributes:
        start: seconds from the start of the ensemble.
        end: seconds, when the next flotilla is made or the last member has ended.
        devices: of each member at the start, by name; device d lies on node d // devices per node.
        ended: members that end in it, in that order; the others go on in later flotillas.
    """

    start: float
    end: float
    devices: Mapping[str, tuple[int, ...]]
    ended: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What a rule makes of an ensemble.

    Attributes:
        rule: name of what dealt the devices out.
        terms: members and limits.
        legs: from the start until the last member has ended.
    """

    rule: str
    terms: FleetTerms
    legs: tuple[Leg, ...]

    @property
    def seconds(self) -> float:
        """Until the last member has ended."""
        return self.legs[-1].end

    @property
    def ends(self) -> dict[str, float]:
        """Seconds at which each member ends, by name, in that order."""
        last = {place: leg.end for leg in self.legs for place in leg.deal}
        return {self._name(place): last[place] for place in sorted(last, key=last.__getitem__)}

    @property
    def checkpoints(self) -> float:
        """Seconds in which nothing trains."""
        return self.seconds - sum(leg.end - leg.start for leg in self.legs)

    @property
    def busy(self) -> float:
        """Share of the device time in which a device has a member."""
        used = sum((leg.end - leg.start) * sum(leg.deal.values()) for leg in self.legs)
        return used / (self.seconds * self.terms.devices)

    @property
    def flotillas(self) -> tuple[Flotilla, ...]:
        """Legs put together that follow one another without a new deal."""
        places = list(self._places())
        starts = [leg for leg, each in enumerate(self.legs) if each.dealt]
        parts = zip(starts, [*starts[1:], len(self.legs)], strict=True)
        return tuple(self._flotilla(self.legs[start:end], places[start]) for start, end in parts)

    def _places(self) -> Iterator[Places]:
        now = Places()
        for leg in self.legs:
            now = moved(now, leg.deal, self.terms.ensemble)
            yield now

    def _flotilla(self, part: tuple[Leg, ...], places: Places) -> Flotilla:
        first, last = part[0], part[-1]
        devices = {self._name(place): there for place, there in places.items()}
        inside = {name: end for name, end in self.ends.items() if first.start < end <= last.end}
        return Flotilla(start=first.start, end=last.end, devices=devices, ended=tuple(inside))

    def _name(self, place: int) -> str:
        return self.terms.ensemble.members[place].name
