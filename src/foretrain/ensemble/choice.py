"""Choice: which course an ensemble is to take."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.ensemble.course import Course, Rule, legs
from foretrain.ensemble.duplicate import duplicate
from foretrain.ensemble.flotilla import fleet_g, fleet_l
from foretrain.ensemble.local_search import improved
from foretrain.ensemble.terms import Terms


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
