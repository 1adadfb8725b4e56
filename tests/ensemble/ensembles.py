"""Ensembles for the tests of flotillas, and the shortest course of a tiny one by brute force."""

from collections.abc import Iterator, Mapping

import numpy as np

from foretrain.ensemble.course import SAME, State, begin, in_step, legs
from foretrain.ensemble.flotilla import fleet_g
from foretrain.ensemble.terms import Terms
from foretrain.measured.members import Ensemble, Member


def terms(rates, *, epochs=None, samples=1000, devices=4, per_node=4, **limits):
    """Terms of members called a, b, c, ...; rates as tuples, or one number for perfect scaling."""
    count = max(devices, 2 * per_node)
    known = [
        rate if isinstance(rate, tuple) else tuple(rate * m for m in range(1, count + 1))
        for rate in rates
    ]
    members = tuple(
        Member(name=name, batch=10, epochs=each, rates=rate)
        for name, each, rate in zip("abcdefghijkl", epochs or [1] * len(known), known, strict=False)
    )
    ensemble = Ensemble(
        members=members, samples=samples, devices=devices, devices_per_node=per_node
    )
    return Terms(ensemble=ensemble, **limits)


def tiny(seed):
    """A random tiny case: 2 to 5 members on 1 to 6 devices, rates as FLEET's 21 to 176 samples/s.

    What each device does falls by up to a fifth with each further one; training lasts 5 to 15
    epochs of Caltech256's 30,607 samples, and a checkpoint up to a minute.
    """
    random = np.random.default_rng(seed)
    per_node, nodes = int(random.integers(1, 3)), int(random.integers(1, 4))
    count = int(random.integers(2, 6))
    first = np.exp(random.uniform(np.log(21), np.log(176), count))
    fall = random.uniform(0.8, 1.0, count)
    reach = np.arange(1, max(nodes, 2) * per_node + 1)
    return terms(
        [tuple(map(float, reach * r * q ** (reach - 1))) for r, q in zip(first, fall, strict=True)],
        epochs=[int(each) for each in random.integers(5, 16, count)],
        samples=30607,
        devices=nodes * per_node,
        per_node=per_node,
        checkpoint=float(random.uniform(0.0, 60.0)),
    )


def shortest(case: Terms) -> float:
    """Seconds of the shortest course in which members share one stream, by brute force.

    At the start and whenever a member has ended, every unfinished member is given every number of
    devices, none included; those chosen train in step until the next of them ends. A course is
    given up once what is left cannot end in time on all devices at their best.
    """
    best = [list(legs(case, fleet_g(case)))[-1].end]
    deals: dict[tuple[int, ...], list[dict[int, int]]] = {}

    def visit(state: State) -> None:
        if not state.left:
            best[0] = min(best[0], state.now)
            return
        if state.now + _at_least(case, state.left) >= best[0] * (1 - SAME):
            return
        key = tuple(state.left)
        if key not in deals:
            deals[key] = sorted(
                (deal for deal in _deals(case, key, case.devices) if deal),
                key=lambda deal: -case.pace(deal) * len(deal),
            )
        for deal in deals[key]:
            visit(in_step(case, state, deal)[1])

    visit(begin(case))
    return best[0]


def _deals(case: Terms, places: tuple[int, ...], free: int) -> Iterator[dict[int, int]]:
    if not places:
        yield {}
        return
    first, *rest = places
    for count in range(min(free, len(case.rates[first])) + 1):
        for others in _deals(case, tuple(rest), free - count):
            yield {first: count, **others} if count else others


def _at_least(case: Terms, left: Mapping[int, float]) -> float:
    """Seconds that nothing can undercut: the longest member's, and all device time over devices."""
    longest = max(
        samples / min(case.stream, max(case.rates[place])) for place, samples in left.items()
    )
    device_time = sum(
        samples * min(count / rate for count, rate in enumerate(case.rates[place], start=1))
        for place, samples in left.items()
    )
    return max(longest, device_time / case.devices)
