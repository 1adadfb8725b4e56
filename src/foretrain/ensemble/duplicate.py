"""Duplicate: every member on one device with an input pipeline of its own, the usual way."""

from __future__ import annotations

from collections.abc import Iterator

from foretrain.ensemble.course import Leg, begin, train
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
