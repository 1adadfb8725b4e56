"""Tensor parallelism: members share each operator.

A pair of matrix products is divided by columns, then by depth, so that the values between them
never meet. The forward pass adds up the outputs of a product divided by depth; the backward pass
adds up the gradients of the input of one divided by columns.

Source: shoeybi2019, section 3.
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.table import PlanTable
from foretrain.strategies.strategy import Pattern, Phase, Share, Strategy, Transfer
from foretrain.workload.columns import Operators
from foretrain.workload.operator import Split


def share(operators: Operators, plans: PlanTable) -> Share:
    """Products divided by depth write whole outputs, of partial sums, and keep part of their input.

    Those divided by columns keep a whole input. [operator, plan]
    """
    columns, depth, heads = (
        operators.split_is(split) for split in (Split.COLUMNS, Split.DEPTH, Split.HEADS)
    )
    return Share(
        columns=np.where(columns, plans.tensor, 1.0),
        depth=np.where(depth, plans.tensor, 1.0),
        batch=np.where(heads, plans.tensor, 1.0),
        moved=np.where(columns | heads, plans.tensor, 1.0),
        kept=np.where(depth | heads, plans.tensor, 1.0),
        weights=np.where(columns | depth | heads, plans.tensor, 1.0),
    )


def transfers(operators: Operators, plans: PlanTable) -> tuple[Transfer, ...]:
    """All-reduces, unless sequence parallelism takes their place."""
    mine = (plans.tensor > 1) & (plans.sequence_parallel == 0)
    return (
        Transfer(
            phase=Phase.FORWARD,
            pattern=Pattern.REDUCE,
            values=operators.output * (operators.split_is(Split.DEPTH) & mine),
        ),
        Transfer(
            phase=Phase.BACKWARD,
            pattern=Pattern.REDUCE,
            values=operators.output * (operators.split_is(Split.COLUMNS) & mine),
        ),
    )


STRATEGY = Strategy(reads=("tensor", "sequence_parallel"), share=share, transfers=transfers)
