"""What may be rented under a limit: devices and power of a plan are those of its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import Offer, offers_of, part
from foretrain.plan.study import Limit
from foretrain.units import WATTS


def within(offers: Sequence[Offer], limit: Limit) -> tuple[Offer, ...]:
    """The offers with the numbers of nodes that keep the limits on devices and power.

    An offer of which no number does is left out; one without power figures keeps no limit on power.
    """
    if limit.devices is None and limit.power is None:
        return tuple(offers)
    # The clusters that an offer stands for, the largest first.
    return offers_of(
        cluster
        for offer in offers
        for cluster in (part(offer.cluster, nodes) for nodes in reversed(offer.nodes))
        if _keeps(cluster, limit)
    )


def limit_problems(offers: Sequence[Offer], limit: Limit) -> Iterator[str]:
    """Why limits on devices and power leave nothing to rent, each with its key; silent if not.

    An offer without power figures leaves a limit on power undecided.
    """
    least = [part(offer.cluster, offer.nodes[0]) for offer in offers]
    fewest = min(least, key=lambda cluster: cluster.devices)
    weakest = min(least, key=lambda cluster: cluster.draw or 0.0)
    said = []
    if limit.devices is not None and limit.devices < fewest.devices:
        said.append(
            f"search.limit.devices: {limit.devices:,} is too few: the smallest choice, "
            f"{_named(fewest)}, has {fewest.devices:,} devices, all of which a plan uses."
        )
    if limit.power is not None and weakest.draw is not None and limit.power < weakest.draw:
        said.append(
            f"search.limit.power: {WATTS.write(limit.power)} is too little: the smallest choice, "
            f"{_named(weakest)}, draws {WATTS.write(weakest.draw)} at full load."
        )
    if not said and weakest.draw is not None and not within(offers, limit):
        said.append("search.limit: devices and power together leave nothing to rent.")
    yield from (f"{text} Lower cluster.nodes." for text in said)


def _keeps(cluster: Cluster, limit: Limit) -> bool:
    devices = limit.devices is None or cluster.devices <= limit.devices
    power = limit.power is None or (cluster.draw is not None and cluster.draw <= limit.power)
    return devices and power


def _named(cluster: Cluster) -> str:
    return f"{cluster.nodes:,} node{'s' * (cluster.nodes > 1)} of {cluster.name}"
