"""Recomputation: drop activations in the forward pass, compute them again in the backward pass.

- selective drops what is large and cheap to compute again: scores, the expanded queries, keys and
  values of latent attention, the product of an expert's branches;
- full keeps only each layer's input, of all layers or of some of them, spread evenly over the
  model. The embedding and the head are never computed again.

Sources: korthikanti2022, sections 4 and 5; chen2016; deepseek2024v3, section 3.2.3.
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.plan import Recompute
from foretrain.plan.table import Column, PlanTable
from foretrain.workload.graph import Model


def covered(model: Model, plans: PlanTable) -> Column:
    """Part of the layers that full recomputation covers. [plan]"""
    layers = plans.recompute_layers
    part = np.where(layers > 0, layers / model.cuttable_layers, 1.0)
    return np.where(plans.recompute == Recompute.FULL, part, 0.0)


def repeated(plans: PlanTable, *, full: Column, selective: Column) -> Column:
    """What is computed again, of a forward pass. [plan]

    Args:
        plans: the plans.
        full: what full recomputation repeats, as far as it covers layers.
        selective: what selective recomputation repeats.
    """
    return np.where(plans.recompute == Recompute.SELECTIVE, selective, full)


def kept(
    plans: PlanTable, *, everything: Column, dropped: Column, boundary: Column, part: Column
) -> Column:
    """Bytes of a layer that stay until its backward pass. [plan]

    Args:
        plans: the plans.
        everything: without recomputation.
        dropped: what selective recomputation drops of it.
        boundary: what full recomputation keeps of it.
        part: share of such layers that full recomputation covers.
    """
    full = part * boundary + (1.0 - part) * everything
    return np.where(plans.recompute == Recompute.SELECTIVE, everything - dropped, full)
