"""Tiny ensembles drawn at random, and the shortest course of each by brute force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from foretrain.ensemble.costs import Deal, FleetTerms
from foretrain.ensemble.course import SAME, CourseState, begin, in_step
from foretrain.measured.members import Ensemble, Member

RATES = (21.0, 176.0)
"""Samples per second of the slowest and the quickest network on one device. Source: guan2020."""

SAMPLES = 30607
"""Pictures of Caltech256, on which FLEET was measured."""


def drawn(seed: int) -> FleetTerms:
    """Two to five members on one to six devices, in nodes of one or two.

    Rates on one device are spread evenly in their logarithm; what each device does falls by a
    factor between 0.8 and 1 with each further one. Training lasts 5 to 15 epochs, a checkpoint up
    to a minute. Nothing limits the input.
    """
    random = np.random.default_rng(seed)
    per_node, nodes, count = (int(random.integers(*ends)) for ends in ((1, 3), (1, 4), (2, 6)))
    first = np.exp(random.uniform(*np.log(RATES), count))
    fall, epochs = random.uniform(0.8, 1.0, count), random.integers(5, 16, count)
    devices = np.arange(1, max(nodes, 2) * per_node + 1)
    members = tuple(
        Member(
            name=f"member {place}",
            batch=32,
            epochs=int(epochs[place]),
            rates=tuple((devices * first[place] * fall[place] ** (devices - 1)).tolist()),
        )
        for place in range(count)
    )
    ensemble = Ensemble(
        members=members, samples=SAMPLES, devices=nodes * per_node, devices_per_node=per_node
    )
    return FleetTerms(ensemble=ensemble, checkpoint=float(random.uniform(0.0, 60.0)))


def limited(seed: int) -> FleetTerms:
    """The same, but the host of a node prepares only 20 to 200 samples per second.

    Shared, the hosts of all nodes prepare for one stream.
    """
    case, random = drawn(seed), np.random.default_rng((seed, 1))
    host = float(np.exp(random.uniform(*np.log((20.0, 200.0)))))
    return replace(case, host=host, stream=host * case.ensemble.nodes)


def shortest(terms: FleetTerms) -> float:
    """Seconds of the shortest course in which members share one stream, by brute force.

    At the start and whenever a member has ended, every unfinished member is given every number of
    devices, none included, as long as there are so many; those that have some train in step until
    the next of them ends. A checkpoint is paid whenever those that were training do not all go on
    with what they have and nobody else. Every such course is looked at, except that one is given
    up once it is no better than another in the same state, or than another to its end even if all
    devices did their best from now on.
    """
    return _Search(terms=terms).run()


@dataclass(kw_only=True)
class _Search:
    terms: FleetTerms
    best: float = inf
    seen: dict[tuple[object, ...], float] = field(default_factory=dict)
    deals: dict[tuple[int, ...], list[Deal]] = field(default_factory=dict)

    def run(self) -> float:
        self._visit(begin(self.terms))
        return self.best

    def _visit(self, state: CourseState) -> None:
        if not state.left:
            self.best = min(self.best, state.now)
        elif state.now + _at_least(self.terms, state.left) < self.best * (1 - SAME):
            key = (tuple(state.left.items()), frozenset(state.running.items()))
            if state.now < self.seen.get(key, inf):
                self.seen[key] = state.now
                for deal in self._deals(tuple(state.left)):
                    self._visit(in_step(self.terms, state, deal)[1])

    def _deals(self, places: tuple[int, ...]) -> list[Deal]:
        """Every deal, those that do most work per second first."""
        if places not in self.deals:
            found = [deal for deal in _every(self.terms, places, self.terms.devices) if deal]
            self.deals[places] = sorted(found, key=self._work, reverse=True)
        return self.deals[places]

    def _work(self, deal: Deal) -> float:
        return self.terms.pace(deal) * sum(1 / self.terms.rates[place][0] for place in deal)


def _every(terms: FleetTerms, places: Sequence[int], free: int) -> Iterator[dict[int, int]]:
    if not places:
        yield {}
        return
    first, *rest = places
    for count in range(min(free, len(terms.rates[first])) + 1):
        for others in _every(terms, rest, free - count):
            yield {first: count, **others} if count else others


def _at_least(terms: FleetTerms, left: Mapping[int, float]) -> float:
    """Seconds that nothing undercuts: of the longest member, and of all devices at their best."""
    longest = max(
        samples / min(terms.stream, max(terms.rates[place])) for place, samples in left.items()
    )
    device_time = sum(
        samples * min(count / rate for count, rate in enumerate(terms.rates[place], start=1))
        for place, samples in left.items()
    )
    return max(longest, device_time / terms.devices)
