"""Duplicate: every member on one device with an input pipeline of its own, the usual way.

Choice: which course an ensemble is to take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foretrain.ensemble.course import Course, Leg, Rule, begin, legs, train
from foretrain.ensemble.flotilla import fleet_g, fleet_l, improved
from foretrain.ensemble.places import Places, moved
from foretrain.ensemble.terms import Terms


def duplicate(terms: Terms) -> Iterator[Leg]:
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
        leg, state = train(
            state, _paces(terms, places), deal=deal, start=state.now, dealt=bool(started)
        )
        yield leg


def _paces(terms: Terms, places: Places) -> dict[int, float]:
    """Samples per second of all that train; those on one node share what its host prepares."""
    nodes: dict[int, dict[int, float]] = {}
    for place, (device,) in places.items():
        node = nodes.setdefault(device // terms.ensemble.devices_per_node, {})
        node[place] = terms.rates[place][0]
    return {
        place: pace
        for node in nodes.values()
        for place, pace in shared_out(node, terms.host).items()
    }


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
class Choice:
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


def choice(terms: Terms) -> Choice:
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
    return Choice(
        fleet_g=greedy["FLEET-G"],
        fleet_l=greedy["FLEET-L"],
        improved=Course(rule=f"{first}, improved", terms=terms, legs=better),
        duplicate=Course(rule="duplicate", terms=terms, legs=tuple(duplicate(terms))),
    )
