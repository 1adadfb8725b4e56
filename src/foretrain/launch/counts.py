"""Counts: what a plan and devices are together, as far as facts say."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from foretrain.trainers.flags import Fact, Facts

Found = Mapping[str, Fact] | None
"""Keys that follow; None where they cannot."""


def number(facts: Facts, key: str, default: int = 1) -> int:
    """A count; the default where nobody gives it, or gives something else."""
    value = facts.get(key, default)
    return value if isinstance(value, int) else default


def devices_of(facts: Facts) -> int | None:
    """Devices that take part; None where nobody says."""
    if "cluster.devices" in facts:
        return number(facts, "cluster.devices")
    if {"cluster.nodes", "cluster.node_devices"} <= {*facts}:
        return number(facts, "cluster.nodes") * number(facts, "cluster.node_devices")
    return None


def exactly(whole: int, part: int) -> int | None:
    """A whole divided into so many parts; None where it cannot be."""
    return whole // part if part > 0 and whole % part == 0 else None


def degrees(facts: Facts, *names: str) -> int:
    """The product of some counts of a plan."""
    return prod(number(facts, f"plan.{name}") for name in names)


def replicas_of(facts: Facts) -> int | None:
    """Degree of the data axis: as it is given, or what the other axes leave of the devices."""
    if "plan.data" in facts:
        return number(facts, "plan.data")
    devices = devices_of(facts)
    return (
        None
        if devices is None
        else exactly(devices, degrees(facts, "tensor", "context", "pipeline"))
    )
