"""Exchanges: what a layer's operators send one another, and what of it compute hides.

What runs beside attention hides behind it. Of what the tensor axis exchanges a share runs beside
the products that it belongs to, in parts; of what experts exchange, beside whatever else the layer
computes. Compute hides nothing twice.

Sources: transformer-engine (user buffers); deepseek2024v3, section 3.2.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import ContextExchange
from foretrain.plan.table import Column, PlanTable
from foretrain.step.collective import Exchange
from foretrain.step.setting import Setting
from foretrain.step.strategies import transfers_of
from foretrain.step.strategies.strategy import Axis, Phase, Transfer
from foretrain.trainers.software import Execution

AXES: Mapping[Axis, str] = {
    Axis.TENSOR: "tensor",
    Axis.CONTEXT: "context",
    Axis.EXPERT: "expert",
    Axis.EXPERT_TENSOR: "expert",
}
"""Axes whose members exchange something for operators, and the part of a step that counts it."""

Floats = NDArray[np.float64]
Groups = Mapping[Axis, Exchange]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exchanged:
    """Seconds of transfers of one pass. [kind, plan]

    Attributes:
        parts: exposed ones, by part of a step.
        hidden: those that compute hides.
    """

    parts: dict[str, Floats]
    hidden: Floats

    @property
    def total(self) -> Floats:
        """All exposed ones, in the order of the parts."""
        first, *others = self.parts.values()
        for part in others:
            first = first + part
        return first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Computed:
    """Seconds of compute of one pass. [kind, plan]

    Attributes:
        all: of every operator.
        core: of those that attend.
    """

    all: Floats
    core: Floats


def exchanged(
    setting: Setting, plans: PlanTable, groups: Groups, *, computed: Sequence[Computed]
) -> list[Exchanged]:
    """The exchanges of both passes, forward first.

    Args:
        setting: workload, cluster and coefficients.
        plans: distinct combinations of what layers depend on.
        groups: collectives of the axes that exchange something for operators. [plan]
        computed: what the passes compute, in the same order.
    """
    blocks = block_kernels(setting, plans) * setting.rate.gap
    # Share of each part of a step that may run beside other compute of its layer.
    overlap, software = setting.coefficients.overlap, setting.software
    cuts = software.overlaps and software.execution is Execution.TUNED
    shares = {
        "tensor": overlap.tensor * cuts * (plans.sequence_parallel > 0).astype(np.float64),
        "expert": np.full(len(plans), overlap.experts),
    }
    return [
        _beside_products(
            _beside_attention(found, core=mine.core, blocks=blocks),
            mine.all - mine.core,
            shares=shares,
        )
        for found, mine in zip(_seconds_of_parts(setting, plans, groups), computed, strict=True)
    ]


def block_kernels(setting: Setting, plans: PlanTable) -> Floats:
    """Kernels that attend to blocks of keys that come round, and merge the results. [kind, plan]

    Source: liu2023, section 3.
    """
    attending = np.zeros((len(setting.workload.model.layers), 1))
    np.add.at(attending, np.asarray(setting.operators.layer, np.intp), setting.operators.keys > 0)
    rounds: Floats = (plans.context - 1.0) * (plans.exchange == ContextExchange.RING)
    return 2.0 * rounds * attending


def _seconds_of_parts(
    setting: Setting, plans: PlanTable, groups: Groups
) -> list[tuple[dict[str, Floats], Floats]]:
    """Seconds of each part of a step, and of what runs beside attention, per pass. [kind, plan]"""
    transfers = [
        transfer
        for transfer in transfers_of(setting.operators, plans)
        if transfer.axis in groups and transfer.values.any()
    ]
    found = []
    for phase in Phase:
        mine = [transfer for transfer in transfers if transfer.phase is phase]
        parts = {
            part: _seconds(
                setting,
                plans,
                [(t, groups[t.axis]) for t in mine if AXES[t.axis] == part and not t.beside],
            )
            for part in dict.fromkeys(AXES.values())
        }
        beside = _seconds(setting, plans, [(t, groups[t.axis]) for t in mine if t.beside])
        found.append((parts, beside))
    return found


def _seconds(
    setting: Setting, plans: PlanTable, transfers: list[tuple[Transfer, Exchange]]
) -> Floats:
    """Seconds of some transfers, of the few operators that have any. [kind, plan]"""
    value_bytes = setting.workload.precision.value_bytes
    if not transfers:
        return np.zeros((1, 1))
    total = np.zeros((len(setting.workload.model.layers), len(plans)))
    for transfer, group in transfers:
        for operator in np.flatnonzero(transfer.values.any(axis=1)):
            size = transfer.values[operator] * value_bytes * plans.micro_batch
            copies = transfer.copies if setting.software.once else 1
            seconds = transfer.times * group.seconds(size, transfer.pattern, copies=copies)
            total[setting.operators.layer[operator]] += seconds
    return total


def _beside_attention(
    found: tuple[dict[str, Floats], Floats], *, core: Floats, blocks: Floats
) -> Exchanged:
    """What attention does not hide of the exchange that runs beside it counts for the context."""
    parts, beside = found
    context = parts["context"] + np.maximum(beside - core, 0.0) + blocks
    return Exchanged(parts=parts | {"context": context}, hidden=np.minimum(beside, core))


def _beside_products(found: Exchanged, spare: Floats, *, shares: Mapping[str, Column]) -> Exchanged:
    """What is left of exchanges of which a share runs beside compute, spent once. [kind, plan]"""
    parts, hidden = dict(found.parts), found.hidden
    for part, share in shares.items():
        beside = np.minimum(share * parts[part], spare)
        parts[part] = parts[part] - beside
        spare, hidden = spare - beside, hidden + beside
    return Exchanged(parts=parts, hidden=hidden)
