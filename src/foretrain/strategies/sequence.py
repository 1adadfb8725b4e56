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


def token_degree(plans: PlanTable) -> Column:
    """Devices that share the tokens outside the divided operators. [plan]"""
    return np.where(plans.sequence_parallel > 0, plans.tensor, 1.0)
