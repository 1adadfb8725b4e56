"""Expert parallelism: members share the experts of a layer.

The devices of the tensor, context and data axis are laid out anew for experts: `expert_tensor`
members share one expert, `expert` members share all of them, and the rest hold the same ones. Each
member sends the tokens that it has to the members that hold their experts, and gets them back: one
exchange before the experts and one after, in both passes. A member that holds several of a token's
experts gets it once.

The busiest member of the expert axis sets the pace: its tokens are `imbalance` times the mean.

Sources: lepikhin2020, section 3.2 (exchange); deepseek2024v3, section 3.2.2 (once per member);
narayanan2021 and nvidia-moe (folding of the axes).
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.table import Column, PlanTable
from foretrain.step.strategies.strategy import Axis, Pattern, Phase, Share, Strategy, Transfer
from foretrain.step.strategies.tensor import token_degree
from foretrain.workload.graph import Operators
from foretrain.workload.parts.experts import RouterLimit


def expert_replicas(plans: PlanTable) -> Column:
    """Devices that hold the same part of the same experts. [plan]"""
    return plans.tensor * plans.replicas / (plans.expert * plans.expert_tensor)


def share(operators: Operators, plans: PlanTable) -> Share:
    """Fewer experts, each with the tokens of more senders; the tensor axis divides each expert."""
    experts = operators.experts > 0
    if not experts.any():
        return Share()
    busiest = np.where(plans.expert > 1, operators.imbalance, 1.0)
    tokens = plans.tensor / (plans.expert * plans.expert_tensor * busiest)
    values = plans.tensor / (plans.expert_tensor * busiest)
    sent = np.where(operators.routed > 0, busiest, 1.0)
    return Share(
        rows=np.where(experts, tokens, 1.0),
        batch=np.where(experts, plans.expert, 1.0),
        moved=np.where(experts, values, 1.0) / sent,
        kept=np.where(experts, values, 1.0) / sent,
        weights=np.where(experts, plans.expert, 1.0),
    )


def transfers(operators: Operators, plans: PlanTable) -> tuple[Transfer, ...]:
    """Tokens to their experts and back, in both passes."""
    if not operators.routed.any():
        return ()
    tokens = plans.context * token_degree(plans)
    values = operators.routed * operators.imbalance * (plans.expert > 1) / tokens
    routers = np.hstack([operators.copies, operators.groups, operators.most])
    return tuple(
        Transfer(
            axis=Axis.EXPERT,
            phase=phase,
            pattern=Pattern.DISPATCH,
            values=values * (routers == router).all(axis=1, keepdims=True),
            copies=int(router[0]),
            limit=RouterLimit(groups=int(router[1]), most=int(router[2])),
        )
        for router in np.unique(routers[operators.routed.ravel() > 0], axis=0)
        for phase in Phase
    )


EXPERT = Strategy(
    reads=("tensor", "context", "expert", "expert_tensor", "sequence_parallel"),
    share=share,
    transfers=transfers,
)
