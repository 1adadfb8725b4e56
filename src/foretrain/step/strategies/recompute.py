"""Memory policies: what is computed again, and what waits in the memory of the host.

Recomputation drops activations in the forward pass and computes them again in the backward pass:

- selective drops what is large and cheap to compute again: scores, the expanded queries, keys and
  values of latent attention, the product of an expert's branches;
- full keeps only each layer's input, of all layers or of some of them, spread evenly over the
  model. The embedding and the head are never computed again.

Offloading moves what waits to the host:

- activations leave in the forward pass and come back in the backward pass, beside the compute of
  the layers that follow; two layers' worth stays on the device.
- the optimizer's state lives on the host. Gradients go there layer by layer if no other replica has
  to add to them, otherwise once per step; its processors update the parameters that a device owns,
  and the working weights come back: nothing runs beside that.

The link to the host is one device's own.

Sources: korthikanti2022, sections 4 and 5; chen2016; deepseek2024v3, section 3.2.3; ren2021,
sections 3 and 4 (optimizer); rajbhandari2021, section 5.2.3 (activations).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import Offload, Recompute, Sharding
from foretrain.plan.table import Column, PlanTable
from foretrain.workload.execution import FP32_BYTES, Kernels
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


def handed_on(keeps: Kernels | None, values: Column, *, width: float) -> Column:
    """Bytes of a sample that a layer keeps which is computed again. [kind, 1]

    Args:
        keeps: what is fused of a model that runs operation by operation; None of the library's.
        values: that it is handed by the layer before it.
        width: bytes of one value.
    """
    wide = keeps is not None and (keeps.wide_stream or keeps.autocast)
    return values * (max(width, FP32_BYTES) if wide else width)


Flags = NDArray[np.bool_]


def of_optimizer(plans: PlanTable) -> Flags:
    """Whether optimizer state waits on the host. [plan]"""
    away: Flags = plans.offload % Offload.ACTIVATIONS == Offload.OPTIMIZER
    return away


def of_gradients(plans: PlanTable) -> Flags:
    """Whether gradients leave for the host as they come, in every backward pass. [plan]

    Those that replicas still have to add up stay, unless every pass reduces them.
    """
    complete = (plans.sharding >= Sharding.GRADIENTS) | (plans.replicas == 1)
    leave: Flags = of_optimizer(plans) & complete
    return leave


def of_activations(model: Model, plans: PlanTable) -> Column:
    """Part of the layers whose activations wait on the host. [plan]"""
    layers = plans.offload_layers
    part = np.where(layers > 0, layers / model.cuttable_layers, 1.0)
    return np.where(plans.offload >= Offload.ACTIVATIONS, part, 0.0)
