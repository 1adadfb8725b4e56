"""Legality: what keeps a plan, or every plan of a space, from running at all, in words.

What may be rented under a limit: devices and power of a plan are those of its nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from math import prod
from typing import Any, Final

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import Offer, offers_of, part
from foretrain.plan.plan import AS_MADE, Plan
from foretrain.plan.rules import RULES, Fixed, nearest_divisors
from foretrain.plan.study import Limit, Objective, Space, Study
from foretrain.units import WATTS
from foretrain.workload.workload import Precision, Workload


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


NEEDS: Final = {
    "cost": {"price": '"2.5 USD/h" for one device'},
    "energy": {"node_power": '"6.5 kW"'},
    "power": {"node_power": '"6.5 kW"'},
}
"""What objectives and limits need of a cluster, with an example of it."""

MOST_LISTED: Final = 6
"""Numbers of devices that a message lists one by one."""


def problems(workload: Workload, cluster: Cluster, plan: Plan) -> list[str]:
    """Why a plan cannot run, one sentence per reason that names its key; empty if it can.

    Whether it fits in memory is not asked here.
    """
    known = Fixed(**{field.name: getattr(plan, field.name) for field in fields(Fixed)})
    return [
        *precision_problems(workload, cluster),
        *_devices((cluster.devices,), known),
        *_host((cluster,), known),
        *_judged(workload, known),
    ]


def kind_problems(study: Study) -> list[str]:
    """Why a question about one kind of devices cannot be asked of a study of two."""
    if study.mixed is None:
        return []
    return [
        "cluster.groups: two kinds of devices are for 'foretrain search' alone. Write one cluster "
        "with name and nodes."
    ]


def device_problems(offers: Sequence[Offer], space: Space) -> list[str]:
    """Why no plan of a space suits any number of devices, as far as its fixed fields tell."""
    fixed = _fixed(space)
    counts = sorted({devices for offer in offers for devices in offer.devices})
    return [*_devices(counts, fixed), *_host([offer.cluster for offer in offers], fixed)]


def workload_problems(workload: Workload, space: Space) -> list[str]:
    """Why no plan of a space can divide the workload, as far as one field after the other tells."""
    fixed = _fixed(space)
    return [*_judged(workload, fixed), *_hopeless(workload, space, fixed)]


def precision_problems(workload: Workload, cluster: Cluster) -> list[str]:
    """Why the cluster's device cannot compute in the workload's precision; empty if it can."""
    peak = cluster.device.peak
    if getattr(peak, workload.precision.peak) is not None:
        return []
    known = [each for each in Precision if getattr(peak, each.peak) is not None]
    return [
        f"workload.precision: {cluster.device.name} does not compute in {workload.precision}. "
        f"It knows {', '.join(known)}."
    ]


def search_problems(
    workload: Workload, offers: Sequence[Offer], *, objective: Objective, limit: Limit
) -> list[str]:
    """Why an objective or a limit cannot be computed from what the question says of each offer."""
    limited = [field.name for field in fields(limit) if getattr(limit, field.name) is not None]
    asked = {"search.objective": objective.value, **{f"search.limit.{n}": n for n in limited}}
    clusters = [offer.cluster for offer in offers]
    found = [
        f"{key}: {what} needs cluster.{needed}, such as {example}.{_lacking(clusters, needed)}"
        for key, what in asked.items()
        for needed, example in NEEDS.get(what, {}).items()
        if any(getattr(cluster, needed) is None for cluster in clusters)
    ]
    found += nothing_to_minimise(clusters, objective)
    found += [
        f"search.limit.{name}: needs workload.amount: how much to train."
        for name in ("cost", "deadline")
        if name in limited and workload.samples is None
    ]
    return [*found, *limit_problems(offers, limit)]


def nothing_to_minimise(clusters: Sequence[Cluster], objective: Objective) -> list[str]:
    """Why an objective cannot rank plans: on some cluster all of them come to 0."""
    return [
        f"search.objective: {objective.value} is nothing where cluster.{needed} is 0, which no plan"
        f" betters. State one, such as {example}, or minimise time."
        for needed, example in NEEDS.get(objective.value, {}).items()
        if any(getattr(cluster, needed) == 0 for cluster in clusters)
    ]


def _lacking(clusters: Sequence[Cluster], needed: str) -> str:
    """Which clusters lack something, where others are to choose from."""
    without = {cluster.name for cluster in clusters if getattr(cluster, needed) is None}
    if {cluster.name for cluster in clusters} == without and len(without) == 1:
        return ""
    return f" {', '.join(sorted(without))} {'has' if len(without) == 1 else 'have'} none."


def _fixed(space: Space) -> Fixed:
    """The fields of a space with a single choice."""
    choices: dict[str, tuple[Any, ...]] = {
        field.name: getattr(space, field.name) or () for field in fields(Fixed)
    }
    return Fixed(**{name: choice[0] for name, choice in choices.items() if len(choice) == 1})


def _hopeless(workload: Workload, space: Space, fixed: Fixed) -> Iterator[str]:
    """Fields with several choices none of which goes with the fixed fields."""
    known = _judged(workload, fixed)
    for field in fields(Fixed):
        choices = getattr(space, field.name) or ()
        if len(choices) > 1:
            found = [_judged(workload, replace(fixed, **{field.name: each})) for each in choices]
            new = [[text for text in texts if text not in known] for texts in found]
            if all(new) and field.name == "cut" and {*choices} <= {*AS_MADE}:
                # Nobody asked for these cuts: what the even one lacks is what there is to change.
                yield new[0][0]
            elif all(new):
                shown = ", ".join(map(str, choices))
                why = new[0][0].partition(": ")[2]
                yield f"plan.{field.name}: none of {shown} can run. {why}"


def _judged(workload: Workload, plan: Fixed) -> list[str]:
    return [text for rule in RULES for text in rule(workload, plan)]


def _devices(counts: Sequence[int], plan: Fixed) -> Iterator[str]:
    """The degrees use every device of some number once."""
    degrees = {
        "data": plan.data,
        "tensor": plan.tensor,
        "context": plan.context,
        "pipeline": plan.pipeline,
    }
    if plan.context == 1:
        del degrees["context"]
    known = {name: degree for name, degree in degrees.items() if degree is not None}
    used = prod(known.values())
    keys = " x ".join(f"plan.{name}" for name in known)
    shown = " x ".join(map(str, known.values()))
    if len(known) == len(degrees) and used not in counts:
        yield f"{keys}: {shown} is {used} devices; the cluster has {either(counts)}."
    elif all(count % used for count in counts):
        product = f"{shown} = {used}" if len(known) > 1 else shown
        near = nearest_divisors(used, counts[0]) if len(counts) == 1 else ""
        yield f"{keys}: {product} does not divide the cluster's {either(counts)} devices.{near}"


def either(counts: Sequence[int]) -> str:
    """Numbers to choose among, ascending; of many the ends."""
    if len(counts) > MOST_LISTED:
        return f"{counts[0]} to {counts[-1]} (one of {len(counts)} numbers)"
    *others, last = map(str, counts)
    return f"{', '.join(others)} or {last}" if others else last


def _host(clusters: Sequence[Cluster], plan: Fixed) -> Iterator[str]:
    """What is offloaded has somewhere to go."""
    if plan.offload and any(cluster.host is None for cluster in clusters):
        yield (
            f"plan.offload: {plan.offload.name.lower()} needs a host: describe [cluster.host]: "
            "cores, memory, memory_bandwidth, device_bandwidth."
            f"{_lacking(clusters, 'host')}"
        )
