"""Tensor, sequence and expert parallelism: members share each operator, tokens, or the experts.

A pair of matrix products is divided by columns, then by depth, so that the values between them
never meet. The forward pass adds up the outputs of a product divided by depth; the backward pass
adds up the gradients of the input of one divided by columns. Experts have a degree of their own.

With sequence parallelism the axis divides tokens where it divides nothing else: norms, dropouts and
residual additions run on a part of the tokens, and what they keep is divided too. Each all-reduce
becomes a reduce-scatter and an all-gather of the same bytes. The gathering of a saved input again
in the backward pass runs beside a matrix product and is taken as hidden.

The devices of the tensor, context and data axis are laid out anew for experts: `expert_tensor`
members share one expert, `expert` members share all of them, and the rest hold the same ones. Each
member sends the tokens that it has to the members that hold their experts, and gets them back: one
exchange before the experts and one after, in both passes. A member that holds several of a token's
experts gets it once. The busiest member of the expert axis sets the pace: its tokens are
`imbalance` times the mean.

Sources: shoeybi2019, section 3; korthikanti2022, section 4.2 (sequence parallelism);
lepikhin2020, section 3.2 (exchange of experts); deepseek2024v3, section 3.2.2 (once per member);
narayanan2021 and nvidia-moe (folding of the axes).
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.table import Column, PlanTable
from foretrain.step.strategies.strategy import Axis, Pattern, Phase, Share, Strategy, Transfer
from foretrain.workload.graph import Floats, Operators
from foretrain.workload.operator import Split
from foretrain.workload.parts.feed_forward import RouterLimit

AXES = ((Axis.TENSOR, False), (Axis.EXPERT_TENSOR, True))
"""Axes that add up partial sums, and whether those of experts."""


def degree(operators: Operators, plans: PlanTable) -> Column:
    """Members that share an operator. [operator, plan]"""
    return np.where(operators.experts > 0, plans.expert_tensor, plans.tensor)


def summed(operators: Operators, split: Split, *, experts: bool) -> Floats:
    """Values per sample that the members of one kind of operator add up. [operator, 1]

    Nobody adds up gradients of the input of a product that has no backward pass.
    """
    kind = (operators.experts > 0) if experts else (operators.experts == 0)
    idle = operators.matmul & (operators.backward_flop == 0) & operators.split_is(Split.COLUMNS)
    values: Floats = operators.output * (operators.split_is(split) & kind & ~idle)
    return values


def share(operators: Operators, plans: PlanTable) -> Share:
    """Products divided by depth write whole outputs, of partial sums, and keep part of their input.

    Those divided by columns keep a whole input. [operator, plan]
    """
    columns, depth, heads = (
        operators.split_is(split) for split in (Split.COLUMNS, Split.DEPTH, Split.HEADS)
    )
    members = degree(operators, plans)
    return Share(
        columns=np.where(columns, members, 1.0),
        depth=np.where(depth, members, 1.0),
        batch=np.where(heads, members, 1.0),
        moved=np.where(columns | heads, members, 1.0),
        kept=np.where(depth | heads, members, 1.0),
        weights=np.where(columns | depth | heads, members, 1.0),
    )


def transfers(operators: Operators, plans: PlanTable) -> tuple[Transfer, ...]:
    """All-reduces, unless sequence parallelism takes their place."""
    mine = (plans.tensor > 1) & (plans.sequence_parallel == 0)
    if not mine.any():
        return ()
    return tuple(
        Transfer(
            axis=axis,
            phase=phase,
            pattern=Pattern.ALL_REDUCE,
            values=summed(operators, split, experts=experts) * mine / plans.context,
        )
        for axis, experts in AXES[: 1 + bool(operators.experts.any())]
        for phase, split in ((Phase.FORWARD, Split.DEPTH), (Phase.BACKWARD, Split.COLUMNS))
    )


def token_degree(plans: PlanTable) -> Column:
    """Devices that share the tokens outside the divided operators. [plan]"""
    return np.where(plans.sequence_parallel > 0, plans.tensor, 1.0)


def share_of_tokens(operators: Operators, plans: PlanTable) -> Share:
    """Tokens of operators that tensor parallelism repeats, and the saved inputs of its products."""
    tokens = token_degree(plans)
    inputs = operators.split_is(Split.COLUMNS) & (operators.experts == 0) & ~operators.gathered
    repeated = np.where(operators.sequence, tokens, 1.0)
    saved = np.where(operators.sequence | inputs, tokens, 1.0)
    return Share(rows=repeated, moved=repeated, kept=saved, boundary=tokens)


def transfers_of_tokens(operators: Operators, plans: PlanTable) -> tuple[Transfer, ...]:
    """A reduce-scatter and an all-gather where tensor parallelism alone would all-reduce.

    Members that share an expert gather what came to each of them; the busiest set the pace.
    """
    mine = token_degree(plans) > 1
    if not mine.any():
        return ()
    busiest = np.where(plans.expert > 1, operators.imbalance, 1.0)
    came = busiest * plans.expert_tensor / plans.tensor * (plans.expert_tensor > 1)
    parts: tuple[Column | float, ...] = (1.0, came)
    return tuple(
        Transfer(
            axis=axis,
            phase=phase,
            pattern=Pattern.ALL_GATHER,
            values=summed(operators, split, experts=experts) * mine * part / plans.context,
            times=2.0,
        )
        for (axis, experts), part in zip(
            AXES[: 1 + bool(operators.experts.any())], parts, strict=False
        )
        for phase, split in ((Phase.FORWARD, Split.DEPTH), (Phase.BACKWARD, Split.COLUMNS))
    )


def expert_replicas(plans: PlanTable) -> Column:
    """Devices that hold the same part of the same experts. [plan]"""
    return plans.tensor * plans.replicas / (plans.expert * plans.expert_tensor)


def share_of_experts(operators: Operators, plans: PlanTable) -> Share:
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


def transfers_of_experts(operators: Operators, plans: PlanTable) -> tuple[Transfer, ...]:
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


TENSOR = Strategy(
    reads=("tensor", "expert_tensor", "context", "sequence_parallel"),
    share=share,
    transfers=transfers,
)

SEQUENCE = Strategy(
    reads=("tensor", "expert", "expert_tensor", "context", "sequence_parallel"),
    share=share_of_tokens,
    transfers=transfers_of_tokens,
)

EXPERT = Strategy(
    reads=("tensor", "context", "expert", "expert_tensor", "sequence_parallel"),
    share=share_of_experts,
    transfers=transfers_of_experts,
)
