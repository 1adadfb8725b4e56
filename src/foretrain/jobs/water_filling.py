"""Water filling: how much of a cluster each queue deserves, by weight and by what it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor

from foretrain.measured.quota import QuotaQueue

ENOUGH = 1e-9
"""Devices below which nothing is left to deal out."""


def proportion(
    queues: Sequence[QuotaQueue], asked: Mapping[str, float], devices: float
) -> Mapping[str, float]:
    """What each queue deserves of a cluster by Volcano's plug-in of that name.

    Args:
        queues: with weights.
        asked: devices that the jobs of each queue ask for, those that run too.
        devices: of the cluster.

    What remains is dealt by weight among queues that are not yet served, again and again; no queue
    gets more than it asks for, or than it may have. A job that is wider than what its queue
    deserves never starts, though the cluster be idle.

    Source: volcano, pkg/scheduler/plugins/proportion/proportion.go; re-implemented from the rules.
    """
    deserved = {each.name: 0.0 for each in queues}
    most = {each.name: min(each.most, devices, asked.get(each.name, 0.0)) for each in queues}
    unmet = [each for each in queues if most[each.name] > 0]
    remaining = devices
    while unmet and remaining > ENOUGH:
        weights = sum(each.weight for each in unmet)
        given = 0.0
        for each in unmet:
            before = deserved[each.name]
            part = remaining * each.weight / weights if weights else 0.0
            deserved[each.name] = min(before + part, most[each.name])
            given += deserved[each.name] - before
        remaining -= given
        unmet = [each for each in unmet if deserved[each.name] < most[each.name]]
        if given <= ENOUGH:
            break
    return deserved


def fair_share(
    queues: Sequence[QuotaQueue], asked: Mapping[str, float], devices: float, *, memory: float = 0.0
) -> Mapping[str, float]:
    """The fair share of each queue, in whole devices, by KAI's scheduler.

    Args:
        queues: with what they are promised, and weights.
        asked: devices that the jobs of each queue ask for, those that run too.
        devices: of the cluster.
        memory: how much past use counts (k): weights are n + k (n - use), n being the weight among
            those that are not served.

    First what is promised; the rest by weight, rounded down, again while somebody is served by it;
    what is then left goes one by one to the largest remainders.

    Source: KAI-Scheduler, pkg/scheduler/plugins/proportion/resource_division; re-implemented from
    the rules.
    """
    most = {each.name: min(asked.get(each.name, 0.0), each.most) for each in queues}
    share = {each.name: min(each.devices, most[each.name]) for each in queues}
    rest = devices - sum(share.values())
    while rest > 0:
        unmet = [each for each in queues if share[each.name] < most[each.name]]
        parts = _parts(unmet, rest, memory=memory)
        if not parts:
            break
        given = {name: min(floor(part), most[name] - share[name]) for name, part in parts.items()}
        for name, some in given.items():
            share[name] += some
        rest -= sum(given.values())
        if any(share[name] >= most[name] for name in parts) and rest > 0:
            continue
        # Nobody was served: the largest remainders get one each.
        for name in sorted(parts, key=lambda each: floor(parts[each]) - parts[each]):
            if rest >= 1 and share[name] < most[name]:
                share[name] += 1.0
                rest -= 1.0
        break
    return share


def _parts(queues: Sequence[QuotaQueue], rest: float, *, memory: float) -> Mapping[str, float]:
    """What is left, divided by weight and past use."""
    weights = sum(each.weight for each in queues)
    if not weights:
        return {}
    due = {}
    for each in queues:
        normal = each.weight / weights
        due[each.name] = max(0.0, normal + memory * (normal - each.past))
    total = sum(due.values())
    return {name: rest * each / total for name, each in due.items()} if total else {}
