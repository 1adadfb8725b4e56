"""Nearest miss: the plan that is nearest to fitting, and studies in which one more may fit."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import inf
from types import MappingProxyType
from typing import Any

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import Offer, divisible, part, whole
from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.legality import within
from foretrain.plan.plan import AS_MADE, Offload, Plan, Schedule, Sends
from foretrain.plan.study import Space, Study
from foretrain.search.exhaustive import leanest
from foretrain.step.memory import rooms
from foretrain.step.software import study_setting

MOST_GROWTH = 256
"""Times as many nodes as there are, up to which more are asked for."""

LISTED: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "reshard": (True, False),
        "recompute_layers": (0,),
        "offload_layers": (0,),
        "offload": tuple(Offload),
        "schedule": tuple(Schedule),
        "sends": tuple(Sends),
        "cut": (*AS_MADE, "balanced"),
        "split": (0,),
    }
)
"""Every choice of the keys that are free only where a study lists choices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestMiss:
    """The plan that needs least memory of the devices.

    Attributes:
        plan: the plan.
        memory: bytes that it needs on a device.
        room: bytes of a device that it may fill.
        limit: what says so, one of the reasons of `rooms`.
        cluster: where it would run.
        crowded: whether it asks the hosts for more than they have, as then every plan does.
    """

    plan: Plan
    memory: float
    room: float
    limit: str
    cluster: Cluster
    crowded: bool

    @property
    def fits(self) -> bool:
        """Whether there is room for it."""
        return not self.crowded and self.memory <= self.room

    @property
    def distance(self) -> tuple[bool, float]:
        """How far it is from fitting; full hosts are farthest."""
        return self.crowded, self.memory - self.room


@dataclass(frozen=True, slots=True, kw_only=True)
class Freed:
    """A study with one more key of [plan] free."""

    key: str
    study: Study


def clusters_of(study: Study) -> Iterator[Cluster]:
    """Everything that may be rented, the largest of each offer first."""
    for offer in study.choices:
        yield from (part(offer.cluster, nodes) for nodes in reversed(offer.nodes))


def nearest_plan(study: Study, coefficients: Coefficients) -> NearestMiss | None:
    """The plan of a study that is nearest to fitting, or fits; None if no plan is legal."""
    found = [_of_offer(study, offer, coefficients) for offer in within(study.choices, study.limit)]
    return min((each for each in found if each), key=lambda each: each.distance, default=None)


def freed(study: Study, *, but: Container[str] = ()) -> Iterator[Freed]:
    """The study with one of its fixed keys free, each in turn.

    Args:
        study: the question.
        but: keys that stay as they are.
    """
    for field in fields(Space):
        choices, listed = getattr(study.space, field.name), LISTED.get(field.name)
        if choices is None or field.name in but:
            continue
        free = None if listed is None else tuple(dict.fromkeys((*choices, *listed)))
        if free != choices and (field.name != "offload" or study.cluster.host):
            change: dict[str, Any] = {field.name: free}
            space = replace(study.space, **change)
            yield Freed(key=field.name, study=replace(study, space=space))


def enough_nodes(study: Study, cluster: Cluster, coefficients: Coefficients) -> NearestMiss | None:
    """A plan that fits on more nodes; None if none does.

    Nodes are doubled, up to as many as there may be, until some plan fits; then the distance to the
    last number that was too small is halved. Numbers that leave no legal plan count as too small.
    """
    if not divisible(cluster):
        return None
    few, best = cluster.nodes, None
    group = few // cluster.levels[-1].members
    most = (study.limit.devices or MOST_GROWTH * cluster.devices) // cluster.node_devices
    most = most // group * group
    while best is None and few < most:
        more = min(2 * few, most)
        best = _on(study, part(cluster, more), coefficients)
        few = few if best else more
    while best is not None and best.cluster.nodes - few > group:
        middle = (few + best.cluster.nodes) // (2 * group) * group
        found = _on(study, part(cluster, middle), coefficients)
        best, few = (found, few) if found else (best, middle)
    return best


def _on(study: Study, cluster: Cluster, coefficients: Coefficients) -> NearestMiss | None:
    """A plan that fits on all of a cluster."""
    found = _of_offer(study, whole(cluster), coefficients)
    return found if found is not None and found.fits else None


def _of_offer(study: Study, offer: Offer, coefficients: Coefficients) -> NearestMiss | None:
    """The plan that is nearest to fitting on some number of nodes of a cluster."""
    known = study_setting(study, offer.cluster, coefficients)
    found, crowded = leanest(known, study.space, devices=offer.devices), False
    if found is None and offer.cluster.host is not None:
        host = replace(offer.cluster.host, memory=inf)
        endless = study_setting(study, replace(offer.cluster, host=host), coefficients)
        found, crowded = leanest(endless, study.space, devices=offer.devices), True
    if found is None:
        return None
    allowed = rooms(known, study.limit)
    limit = min(allowed, key=lambda reason: allowed[reason])
    return NearestMiss(
        plan=found.plan,
        memory=found.memory,
        room=allowed[limit],
        limit=limit,
        cluster=offer.of(found.plan.devices),
        crowded=crowded,
    )
