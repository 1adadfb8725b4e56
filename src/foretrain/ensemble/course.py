"""Course: the order in which an ensemble trains, and when each member ends.

A *leg* lasts from the end of one member to that of the next; in between nothing changes. Whenever
a member has ended the devices may be dealt out again. That costs the seconds of a checkpoint, in
which nothing trains; to go on without those that ended costs nothing.

Places: on which devices of which nodes the members of a deal lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, factorial, inf
from typing import NamedTuple

from foretrain.ensemble.costs import Deal, FleetTerms
from foretrain.measured.members import Ensemble

Places = dict[int, tuple[int, ...]]
"""Devices of each member; device d lies on node d // devices per node."""

PERMUTATIONS = 1024
"""Orders that are tried for members that fill no nodes. Source: guan2020, GPU placement."""


def moved(before: Places, deal: Deal, ensemble: Ensemble) -> Places:
    """Places for a deal; who has as many devices as before stays where it is.

    Args:
        before: places of the deal before it, empty at the start.
        deal: devices of each member.
        ensemble: whose devices they are.
    """
    still = {place: there for place, there in before.items() if deal.get(place) == len(there)}
    taken = {device for there in still.values() for device in there}
    free = [device for device in range(ensemble.devices) if device not in taken]
    new = {place: count for place, count in deal.items() if place not in still}
    return still | placement(new, free, devices_per_node=ensemble.devices_per_node)


def placement(deal: Deal, free: Sequence[int], *, devices_per_node: int) -> Places:
    """Devices for the members of a deal.

    First those whose devices fill nodes, then pairs that fill nodes together, as long as there are
    free ones; the others lie one after another in the order that spans the fewest nodes.

    Args:
        deal: devices of each member, no more than are free.
        free: devices that may be taken, ascending.
        devices_per_node: of each node.

    Source: guan2020, GPU placement.
    """
    nodes: dict[int, list[int]] = {}
    for device in free:
        nodes.setdefault(device // devices_per_node, []).append(device)
    whole = [node for node in nodes.values() if len(node) == devices_per_node]
    parts = [each for node in nodes.values() if len(node) < devices_per_node for each in node]
    found, rest = Places(), dict(deal)
    groups: Iterable[tuple[int, ...]] = (*((place,) for place in deal), *combinations(deal, 2))
    for group in groups:
        need, over = divmod(sum(deal[place] for place in group), devices_per_node)
        if not over and need <= len(whole) and all(place in rest for place in group):
            taken = [device for node in whole[:need] for device in node]
            whole = whole[need:]
            found |= _in_a_row(group, deal, taken)
            for place in group:
                del rest[place]
    left = sorted(parts + [device for node in whole for device in node])
    ideal = sum(ceil(count / devices_per_node) / count for count in rest.values())
    best, least = Places(), inf
    for order in orders(list(rest), PERMUTATIONS):
        places = _in_a_row(order, rest, left)
        if (now := spread(places, devices_per_node)) < least:
            best, least = places, now
        if least <= ideal:
            break
    return found | best


def spread(places: Places, devices_per_node: int) -> float:
    """Sum over members of the nodes on which one lies, over its devices.

    Source: guan2020, GPU placement.
    """
    return sum(
        len({device // devices_per_node for device in there}) / len(there)
        for there in places.values()
    )


def orders(items: Sequence[int], most: int) -> Iterator[list[int]]:
    """Orders of items, all of them or else `most` that lie evenly in the dictionary of all."""
    total = factorial(len(items))
    tried = min(total, most)
    for each in range(tried):
        # The order of a rank in the dictionary of all.
        rest, order, rank = list(items), list[int](), each * total // tried
        for size in range(len(items), 0, -1):
            pick, rank = divmod(rank, factorial(size - 1))
            order.append(rest.pop(pick))
        yield order


def _in_a_row(order: Iterable[int], deal: Deal, devices: Sequence[int]) -> Places:
    found, start = Places(), 0
    for place in order:
        found[place] = tuple(devices[start : start + deal[place]])
        start += deal[place]
    return found


SAME = 1e-12
"""Members whose ends differ by less than this share end together: rounding, not time."""


class CourseState(NamedTuple):
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


Rule = Callable[[CourseState], Deal]
"""Deals the devices out; gives the running deal back to leave everything as it is."""


def begin(terms: FleetTerms) -> CourseState:
    """Nobody has trained yet."""
    return CourseState(terms.work, {}, 0.0)


def in_step(terms: FleetTerms, state: CourseState, deal: Deal) -> tuple[Leg, CourseState]:
    """Train the members of a deal on one stream until the next of them ends."""
    dealt = deal != state.running
    start = state.now + terms.checkpoint * (dealt and state.now > 0)
    paces = dict.fromkeys(deal, terms.pace(deal))
    return train(state, paces, deal=deal, start=start, dealt=dealt)


def train(
    state: CourseState, paces: Mapping[int, float], *, deal: Deal, start: float, dealt: bool
) -> tuple[Leg, CourseState]:
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
    return leg, CourseState(left, running, leg.end)


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
        places, now = list[Places](), Places()
        for leg in self.legs:
            now = moved(now, leg.deal, self.terms.ensemble)
            places.append(now)
        starts = [leg for leg, each in enumerate(self.legs) if each.dealt]
        found = []
        for first, after in zip(starts, [*starts[1:], len(self.legs)], strict=True):
            start, end = self.legs[first].start, self.legs[after - 1].end
            devices = {self._name(place): there for place, there in places[first].items()}
            ended = tuple(name for name, at in self.ends.items() if start < at <= end)
            found.append(Flotilla(start=start, end=end, devices=devices, ended=ended))
        return tuple(found)

    def _name(self, place: int) -> str:
        return self.terms.ensemble.members[place].name
