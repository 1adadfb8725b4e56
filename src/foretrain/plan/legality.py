"""Legality: what keeps a plan, or every plan of a space, from running at all, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from math import prod
from typing import Any

from foretrain.cluster.cluster import Cluster
from foretrain.plan.plan import Plan
from foretrain.plan.rules import RULES, Fixed, nearest_divisors
from foretrain.plan.space import Space
from foretrain.plan.study import Limit, Objective
from foretrain.workload.workload import Precision, Workload


def problems(workload: Workload, cluster: Cluster, plan: Plan) -> list[str]:
    """Why a plan cannot run, one sentence per reason that names its key; empty if it can.

    Whether it fits in memory is not asked here.
    """
    known = Fixed(**{field.name: getattr(plan, field.name) for field in fields(Fixed)})
    return [
        *precision_problems(workload, cluster),
        *_devices(cluster, known),
        *_host(cluster, known),
        *_judged(workload, known),
    ]


def device_problems(cluster: Cluster, space: Space) -> list[str]:
    """Why no plan of a space suits the number of devices, as far as its fixed fields tell."""
    fixed = _fixed(space)
    return [*_devices(cluster, fixed), *_host(cluster, fixed)]


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
    workload: Workload, cluster: Cluster, *, objective: Objective, limit: Limit
) -> list[str]:
    """Why an objective or a limit cannot be computed from what the question says."""
    found = []
    dollars = 'cost needs cluster.price, such as "2.5 USD/h" for one device.'
    if cluster.price is None and objective is Objective.COST:
        found.append(f"search.objective: {dollars}")
    if cluster.price is None and limit.cost is not None:
        found.append(f"search.limit.cost: {dollars}")
    if cluster.node_power is None and objective is Objective.ENERGY:
        found.append('search.objective: energy needs cluster.node_power, such as "6.5 kW".')
    found += [
        f"search.limit.{name}: needs workload.amount: how much to train."
        for name in ("cost", "deadline")
        if getattr(limit, name) is not None and workload.samples is None
    ]
    if limit.devices is not None and limit.devices < cluster.devices:
        found.append(
            f"search.limit.devices: {limit.devices} is below the cluster's {cluster.devices} "
            "devices, all of which a plan uses. Lower cluster.nodes."
        )
    return found


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
            if all(new):
                shown = ", ".join(map(str, choices))
                why = new[0][0].partition(": ")[2]
                yield f"plan.{field.name}: none of {shown} can run. {why}"


def _judged(workload: Workload, plan: Fixed) -> list[str]:
    return [text for rule in RULES for text in rule(workload, plan)]


def _devices(cluster: Cluster, plan: Fixed) -> Iterator[str]:
    """The degrees use every device once."""
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
    if len(known) == len(degrees) and used != cluster.devices:
        yield f"{keys}: {shown} is {used} devices; the cluster has {cluster.devices}."
    elif cluster.devices % used:
        product = f"{shown} = {used}" if len(known) > 1 else shown
        yield (
            f"{keys}: {product} does not divide the cluster's {cluster.devices} devices."
            f"{nearest_divisors(used, cluster.devices)}"
        )


def _host(cluster: Cluster, plan: Fixed) -> Iterator[str]:
    """What is offloaded has somewhere to go."""
    if plan.offload and cluster.host is None:
        yield (
            f"plan.offload: {plan.offload.name.lower()} needs a host: describe [cluster.host]: "
            "cores, memory, memory_bandwidth, device_bandwidth."
        )
