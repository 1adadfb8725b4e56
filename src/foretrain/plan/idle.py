"""Idle fields: what a plan says without changing anything."""

from __future__ import annotations

from foretrain.plan.plan import AXES, Plan, Sharding
from foretrain.workload.graph import Model


def idle(plan: Plan, model: Model) -> dict[str, str]:
    """Fields that change nothing about this plan whatever they say, each with the reason."""
    stages = "plan.pipeline = 1" if plan.pipeline == 1 else ""
    above = sum(getattr(plan, axis) > 1 for axis in AXES)
    holders = plan.tensor // (plan.expert * plan.expert_tensor) if model.experts else 1
    whole = "" if model.experts else f"{model.name}, which has no experts"
    sharded = f"plan.sharding = {plan.sharding.name.lower()}"
    fields = {
        "sequence_parallel": "plan.tensor = 1" if plan.tensor == 1 else "",
        "exchange": "plan.context = 1" if plan.context == 1 else "",
        "expert": whole,
        "expert_tensor": whole,
        "interleaving": stages,
        "schedule": stages,
        "sends": stages,
        "cut": stages,
        "attention": "" if model.kernels else f"{model.name}, which has no attention",
        "sharding": "one replica" if plan.data * plan.context == 1 and holders <= 1 else "",
        "shard": sharded if plan.sharding is Sharding.NONE else "",
        "reshard": sharded if plan.sharding is not Sharding.PARAMETERS else "",
        "order": "fewer than two axes above 1" if above < 2 else "",
    }
    return {name: why for name, why in fields.items() if why}
