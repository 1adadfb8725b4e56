"""The plans that are counted by hand: every policy alone, and every pair that is a plan."""

from functools import cache
from itertools import combinations

import pytest
from tests.by_hand import meters
from tests.by_hand.networks import network
from tests.step.strategies.policies import PICTURED, POLICIES, REFUSED, combined

from foretrain.plan.plan import Offload, Plan, Recompute

OURS = {
    **{name: fields for name, fields in POLICIES.items() if name not in PICTURED},
    "recomputation of some layers": {"recompute": Recompute.FULL, "recompute_layers": 1},
    "offloaded activations of some layers": {
        "offload": Offload.ACTIVATIONS,
        "offload_layers": 1,
    },
}
ROUTED = ("experts", "tensor experts")
DEEP = ("interleaved", "uneven cut")
"""Policies that need experts, and those that need four layers instead of two."""

CASES = {
    names: Plan(**fields)
    for names in [(), *((name,) for name in OURS), *combinations(OURS, 2)]
    if names not in REFUSED
    if names[::-1] not in REFUSED
    if (fields := combined(*names, policies=OURS)) is not None
}


def network_of(names):
    """Layers and experts of the network on which some policies are counted."""
    return {
        "layers": 4 if any(name in DEEP for name in names) else 2,
        "routed": any(name in ROUTED for name in names),
    }


@cache
def tables():
    """Cases that are priced as one table: workload, their names, their plans."""
    found = {}
    for names, plan in CASES.items():
        key = (*network_of(names).items(), plan.devices)
        found.setdefault(key, []).append(names)
    return [
        (network(**dict(key[:2])), several, [CASES[names] for names in several])
        for key, several in found.items()
    ]


@cache
def readings():
    """What every case takes, by stage."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        meters.with_whole_products(patch)
        for workload, several, plans in tables():
            found.update(zip(several, meters.read(workload, plans), strict=True))
        routed = meters.read(network(routed=True), [Plan()])
    return found | {("one device", "routed"): routed[0]}


@cache
def steps():
    """Bytes on the wire of every case's step, by part."""
    return {
        names: parts
        for workload, several, plans in tables()
        for names, parts in zip(several, meters.parts("wire", workload, plans), strict=True)
    }
