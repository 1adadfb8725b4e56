"""Fitting: the least memory that any plan of a space needs; no second is priced for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foretrain.cost.held import hold
from foretrain.cost.memory import heaviest_total, host_full
from foretrain.cost.setting import Setting
from foretrain.plan.enumeration import plan_tables
from foretrain.plan.plan import Plan
from foretrain.plan.space import Space
from foretrain.workload.graph import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Leanest:
    """The plan that needs least.

    Attributes:
        plan: the plan.
        memory: bytes that it needs on a device.
    """

    plan: Plan
    memory: float


def leanest(setting: Setting, space: Space, *, devices: Sequence[int]) -> Leanest | None:
    """The plan of a space that needs least memory on a device, first of equals.

    Args:
        setting: workload, cluster and coefficients.
        space: choices.
        devices: numbers of devices that a plan may use.

    Returns:
        None if no plan is legal. Plans that offload more than the hosts hold do not count.
    """
    workload, cluster = setting.workload, setting.cluster
    found: Leanest | None = None
    for plans in plan_tables(workload, cluster, lean(workload.model, space), devices=devices):
        if not len(plans):
            continue
        held = hold(setting, plans)
        memory = heaviest_total(setting, held)
        if any(space.offload):
            memory = np.where(host_full(setting, held), np.inf, memory)
        row = int(np.argmin(memory))
        if memory[row] < (found.memory if found else np.inf):
            found = Leanest(plan=plans.plan(row), memory=float(memory[row]))
    return found


def lean(model: Model, space: Space) -> Space:
    """A smaller space: for every legal plan it has one that needs no more memory.

    Fewer samples at once, no interleaving and more devices that share one copy need no more, and
    are legal where the other is. Balanced cuts move with the micro-batch, though; and chunks of
    different layers may add up to a leaner stage if they are interleaved.
    """
    alike = sum(layer.cuttable for layer in model.layers) == 1 and space.cut == ("even",)
    plain = alike and 1 in (space.interleaving or (1,))
    still = "balanced" not in space.cut
    return replace(
        space,
        micro_batch=_undivided(space.micro_batch or (1,)) if still else space.micro_batch,
        interleaving=(1,) if plain else space.interleaving,
        shard=(0,) if 0 in (space.shard or (0,)) else space.shard,
        sends=space.sends[:1],
        order=space.order and space.order[:1],
    )


def _undivided(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Micro-batches that no smaller one divides."""
    return tuple(
        size for size in sizes if not any(size % each == 0 for each in sizes if each < size)
    )
