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
from foretrain.strategies.strategy import Pattern, Phase, Share, Strategy, Transfer
from foretrain.workload.columns import Operators
from foretrain.workload.operator import Split


def token_degree(plans: PlanTable) -> Column:
    """Devices that share the tokens outside the divided operators. [plan]"""
    return np.where(plans.sequence_parallel > 0, plans.tensor, 1.0)


def share(operators: Operators, plans: PlanTable) -> Share:
    """Tokens of operators that tensor parallelism repeats, and the saved inputs of its products."""
    tokens = token_degree(plans)
    repeated = np.where(operators.sequence, tokens, 1.0)
    saved = np.where(operators.sequence | operators.split_is(Split.COLUMNS), tokens, 1.0)
    return Share(rows=repeated, moved=repeated, kept=saved, boundary=tokens)


def transfers(operators: Operators, plans: PlanTable) -> tuple[Transfer, ...]:
    """A reduce-scatter and an all-gather where tensor parallelism alone would all-reduce."""
    mine = token_degree(plans) > 1
    return (
        Transfer(
            phase=Phase.FORWARD,
            pattern=Pattern.GATHER,
            values=operators.output * (operators.split_is(Split.DEPTH) & mine),
            times=2.0,
        ),
        Transfer(
            phase=Phase.BACKWARD,
            pattern=Pattern.GATHER,
            values=operators.output * (operators.split_is(Split.COLUMNS) & mine),
            times=2.0,
        ),
    )


STRATEGY = Strategy(reads=("tensor", "sequence_parallel"), share=share, transfers=transfers)
