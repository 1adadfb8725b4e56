"""Tensor parallelism: members share each operator.

A pair of matrix products is divided by columns, then by depth, so that the values between them
never meet. The forward pass adds up the outputs of a product divided by depth; the backward pass
adds up the gradients of the input of one divided by columns.

Source: shoeybi2019, section 3.
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.table import Column, PlanTable
from foretrain.strategies.sequence import token_degree
from foretrain.workload.columns import Operators
from foretrain.workload.operator import Split


def work_degree(operators: Operators, plans: PlanTable) -> Column:
    """By how much one member's part of what an operator moves is smaller. [operator, plan]

    An operator divided by depth writes a whole output, of partial sums.
    """
    divided = operators.split_is(Split.COLUMNS, Split.HEADS)
    tokens = np.where(operators.sequence, token_degree(plans), 1.0)
    return np.where(divided, plans.tensor, tokens)


def kept_degree(operators: Operators, plans: PlanTable) -> Column:
    """By how much one member keeps less for the backward pass. [operator, plan]

    The input of a product divided by columns is whole on every member, unless its tokens are
    divided; the input of one divided by depth is a part.
    """
    divided = operators.split_is(Split.DEPTH, Split.HEADS)
    tokens = operators.split_is(Split.COLUMNS) | operators.sequence
    return np.where(divided, plans.tensor, np.where(tokens, token_degree(plans), 1.0))


def weight_degree(operators: Operators, plans: PlanTable) -> Column:
    """By how much one member holds fewer weights. [operator, plan]"""
    return np.where(operators.split_is(Split.NONE), 1.0, plans.tensor)
