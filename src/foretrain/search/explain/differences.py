"""Differences: what is minimised of two plans, part by part.

Reasons: what of a plan makes a part of its step or of its memory as large as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from foretrain.cluster.cluster import Cluster
from foretrain.plan.plan import (
    AXES,
    Offload,
    Plan,
    Schedule,
    Sharding,
)
from foretrain.plan.study import Objective
from foretrain.plan.table import inner_members
from foretrain.search.result import Difference
from foretrain.step.result import Estimate, Parts
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload


def spent(objective: Objective, estimate: Estimate) -> float:
    """What is minimised: seconds, dollars or joules of a step, or bytes of a device."""
    values = {
        Objective.TIME: estimate.step_time,
        Objective.COST: estimate.cost_per_step,
        Objective.ENERGY: estimate.energy_per_step,
        Objective.MEMORY: estimate.memory.total,
    }
    found = values[objective]
    assert found is not None, "a search without a price or power was not refused"
    return found


def differences(
    objective: Objective, here: tuple[Site, Estimate], best: tuple[Site, Estimate]
) -> tuple[Difference, ...]:
    """The parts in which two plans differ, the largest difference first.

    What they add up to is the difference of what the two spend.
    """
    mine, theirs = _parts(objective, here[1]), _parts(objective, best[1])
    says = OF_MEMORY if objective is Objective.MEMORY else OF_TIME
    found = [
        Difference(
            part=part,
            here=mine[part],
            best=theirs[part],
            why=reason(says.get(part), here[0], best[0]),
        )
        for part in mine
        if mine[part] != theirs[part]
    ]
    return tuple(sorted(found, key=lambda each: -abs(each.more)))


def _parts(objective: Objective, estimate: Estimate) -> dict[str, float]:
    """What is minimised, by part: money and energy run with time."""
    if objective is Objective.MEMORY:
        return {name: getattr(estimate.memory, name) for name in OF_MEMORY}
    rate = spent(objective, estimate) / estimate.step_time
    return {field.name: rate * getattr(estimate.parts, field.name) for field in fields(Parts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A plan where it runs.

    Attributes:
        plan: the plan.
        cluster: with as many devices as it uses.
        workload: what it runs.
    """

    plan: Plan
    cluster: Cluster
    workload: Workload

    @property
    def micro_batches(self) -> int:
        """Passes of a micro-batch through one replica."""
        return round(self.workload.micro_batches(self.plan.data, self.plan.micro_batch))


def reason(says: Callable[[Site], str] | None, here: Site, best: Site) -> str:
    """In what two plans differ that matters for a part; empty where that is not known."""
    if says is None:
        return ""
    mine, theirs = says(here), says(best)
    return "" if mine == theirs else f"{mine}; the best: {theirs}"


def _over(site: Site, axis: str) -> str:
    """The level that the members of an axis must cross to meet, in words."""
    plan, levels = site.plan, site.cluster.levels
    degrees = tuple(getattr(plan, name) for name in AXES)
    members = tuple(level.members for level in levels)
    inside = inner_members(plan.order, degrees, members)[AXES.index(axis)]
    level = levels[next(place for place, many in enumerate(inside) if many == inside[-1])]
    return f"over the {level.name}'s {level.link.technology}"


def _compute(site: Site) -> str:
    """What the slowest device computes at a time."""
    stages = site.plan.pipeline
    slowest = [f"the slowest of {stages} stages"] * (stages > 1)
    return ", ".join([*_pieces(site), *slowest])


def _pieces(site: Site) -> list[str]:
    """How large the pieces are that a device computes."""
    plan = site.plan
    shared = [
        f"{word} {degree}"
        for word, degree in (("tensor", plan.tensor), ("context", plan.context))
        if degree > 1
    ]
    idle = plan.tensor == 1 or plan.sequence_parallel or plan.grid
    tokens = [] if idle else ["no sequence parallelism"]
    kernel = ["plain attention"] * (plan.attention is Attention.PLAIN)
    return [_samples(site), *shared, *tokens, *kernel]


def _samples(site: Site) -> str:
    many = site.plan.micro_batch
    return f"{many} sample{'s' * (many > 1)} at a time"


def _recompute(site: Site) -> str:
    plan = site.plan
    layers = f" of {plan.recompute_layers} layers" if plan.recompute_layers else ""
    return f"recompute {plan.recompute.name.lower()}{layers}"


def _tensor(site: Site) -> str:
    if site.plan.tensor == 1:
        return "no tensor axis"
    tokens = " with sequence parallelism" * site.plan.sequence_parallel
    return f"tensor {site.plan.tensor}{tokens} {_over(site, 'tensor')}"


def _context(site: Site) -> str:
    if site.plan.context == 1:
        return "no context axis"
    how = site.plan.exchange.name.lower().replace("_", "-")
    return f"context {site.plan.context}, {how} {_over(site, 'context')}"


def _halo(site: Site) -> str:
    if not site.plan.grid:
        return "no grid"
    return f"grid {' x '.join(map(str, site.plan.grid))} {_over(site, 'context')}"


def _expert(site: Site) -> str:
    split = f", {site.plan.expert_tensor} to each" if site.plan.expert_tensor > 1 else ""
    return f"experts over {site.plan.expert}{split}"


def _bubble(site: Site) -> str:
    plan, many = site.plan, site.micro_batches
    if plan.pipeline == 1:
        return "no pipeline"
    kind = "" if plan.schedule is Schedule.ONE_F_ONE_B else f", {plan.schedule.label}"
    chunks = f" of {plan.interleaving} chunks" if plan.interleaving > 1 else ""
    batches = "micro-batch" if many == 1 else "micro-batches"
    return f"{many} {batches} for {plan.pipeline} stages{chunks}{kind}"


def _sends(site: Site) -> str:
    if site.plan.pipeline == 1:
        return "no pipeline"
    return f"{_bubble(site)}, {site.plan.sends.name.lower()} {_over(site, 'pipeline')}"


def _replicas(site: Site) -> str:
    plan = site.plan
    if plan.data * plan.context == 1:
        return "one replica"
    axis = "data" if plan.data > 1 else "context"
    return f"{plan.data * plan.context} replicas {_over(site, axis)}, {_divided(site)}"


def _divided(site: Site) -> str:
    """What the replicas divide, and among how many."""
    plan = site.plan
    if plan.sharding is Sharding.NONE or plan.data * plan.context == 1:
        return "nothing sharded"
    among = plan.shard or plan.data * plan.context
    return f"{plan.sharding.name.lower()} sharded among {among}"


def _state(site: Site) -> str:
    """How many ways the parameters are cut."""
    plan = site.plan
    degrees = (("tensor", plan.tensor), ("pipeline", plan.pipeline), ("expert", plan.expert))
    cut = " x ".join(f"{name} {degree}" for name, degree in degrees if degree > 1)
    return f"{cut or 'the whole model on a device'}, {_divided(site)}{_moved(site)}"


def _activations(site: Site) -> str:
    parts = [*_pieces(site), _recompute(site)]
    if site.plan.pipeline > 1:
        parts.append(_bubble(site))
    return ", ".join(parts) + _moved(site)


def _moved(site: Site) -> str:
    return "" if site.plan.offload is Offload.NONE else f", {_offload(site)}"


def _offload(site: Site) -> str:
    kind = site.plan.offload
    return "nothing offloaded" if kind is Offload.NONE else f"offload {kind.name.lower()}"


OF_TIME: Mapping[str, Callable[[Site], str]] = MappingProxyType(
    {
        "forward": _compute,
        "backward": _compute,
        "recompute": _recompute,
        "tensor": _tensor,
        "context": _context,
        "expert": _expert,
        "halo": _halo,
        "pipeline": _sends,
        "bubble": _bubble,
        "gradients": _replicas,
        "parameters": _replicas,
        "update": _divided,
        "offload": _offload,
    }
)
"""What matters for each part of a step."""

OF_MEMORY: Mapping[str, Callable[[Site], str]] = MappingProxyType(
    {
        "weights": _state,
        "gradients": _state,
        "optimizer": _state,
        "activations": _activations,
        "buffers": _activations,
    }
)
"""What matters for each part of a device's memory."""
