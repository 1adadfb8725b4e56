"""Data parallelism: replicas of the model share the samples and add up their gradients.

Source: rajbhandari2020, section 2.1 (every member keeps everything).
"""

from __future__ import annotations

from foretrain.plan.table import Column, PlanTable
from foretrain.workload.workload import Workload


def micro_batches(workload: Workload, plans: PlanTable) -> Column:
    """Passes of a micro-batch through one replica per step. [plan]"""
    return workload.global_batch / (plans.data * plans.micro_batch)


def gradient_bytes(workload: Workload, weights: Column) -> Column:
    """Bytes that each member brings to the reduction of `weights` gradients. [plan]"""
    return weights * workload.precision.gradient_bytes
