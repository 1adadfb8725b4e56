"""Rent: what may be rented for a training, and what of it a plan takes, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import Offer, rented
from foretrain.plan.study import Study
from foretrain.show.words import count, written
from foretrain.step.result import Ranked
from foretrain.units import BYTES, DOLLARS

MOST_NAMED: Final = 4
"""Clusters, and numbers of nodes, that are listed one by one."""


def home(study: Study, entry: Ranked) -> Study:
    """The study on the cluster of one of its plans."""
    return replace(study, cluster=rented(study.choices, entry.cluster, entry.nodes), offers=())


def nodes(cluster: Cluster) -> str:
    """The nodes of a cluster: "64 nodes of dgx-h100"."""
    return f"{count(cluster.nodes, 'node')} of {cluster.name}"


def devices(cluster: Cluster) -> str:
    """The devices of a cluster and the memory of each."""
    memory = written(BYTES, cluster.device.memory)
    return f"{cluster.devices:,} x {cluster.device.name}, {memory} each"


def rate(cluster: Cluster) -> str:
    """What a cluster costs by the hour; empty without a price."""
    if cluster.price is None:
        return ""
    return f"{written(DOLLARS, 3600 * cluster.price * cluster.devices)}/h"


def choice(offers: Sequence[Offer]) -> str:
    """What may be rented: "8, 16 or 32 nodes of dgx-h100; 4 to 64 nodes of dgx-a100"."""
    names = list(dict.fromkeys(offer.cluster.name for offer in offers))
    if len(names) > MOST_NAMED:
        first = ", ".join(names[:MOST_NAMED])
        return f"{_numbers(offers)} nodes of {first} or {len(names) - MOST_NAMED} other clusters"
    return "; ".join(
        f"{_numbers([offer for offer in offers if offer.cluster.name == name])} nodes of {name}"
        for name in names
    )


def _numbers(offers: Sequence[Offer]) -> str:
    """Numbers of nodes: each of a few, of many the ends."""
    numbers = sorted({nodes for offer in offers for nodes in offer.nodes})
    if len(numbers) > MOST_NAMED:
        return f"{numbers[0]:,} to {numbers[-1]:,}"
    *others, last = (f"{nodes:,}" for nodes in numbers)
    return f"{', '.join(others)} or {last}" if others else last
