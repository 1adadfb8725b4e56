"""Sequence parallelism: the tensor axis divides tokens where it divides nothing else.

Norms, dropouts and residual additions then run on a part of the tokens, and what they keep is
divided too. Each all-reduce of the tensor axis becomes a reduce-scatter and an all-gather of the
same bytes. The gathering of a saved input again in the backward pass runs beside a matrix product
and is taken as hidden.

Source: korthikanti2022, section 4.2.
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.table import Column, PlanTable
from foretrain.step.strategies.strategy import Pattern, Phase, Share, Strategy, Transfer
from foretrain.step.strategies.tensor import AXES, summed
from foretrain.workload.columns import Operators
from foretrain.workload.operator import Split


def token_degree(plans: PlanTable) -> Column:
    """Devices that share the tokens outside the divided operators. [plan]"""
    return np.where(plans.sequence_parallel > 0, plans.tensor, 1.0)


def share(operators: Operators, plans: PlanTable) -> Share:
    """Tokens of operators that tensor parallelism repeats, and the saved inputs of its products."""
    tokens = token_degree(plans)
    inputs = operators.split_is(Split.COLUMNS) & (operators.experts == 0)
    repeated = np.where(operators.sequence, tokens, 1.0)
    saved = np.where(operators.sequence | inputs, tokens, 1.0)
    return Share(rows=repeated, moved=repeated, kept=saved, boundary=tokens)


def transfers(operators: Operators, plans: PlanTable) -> tuple[Transfer, ...]:
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


STRATEGY = Strategy(
    reads=("tensor", "expert", "expert_tensor", "context", "sequence_parallel"),
    share=share,
    transfers=transfers,
)
