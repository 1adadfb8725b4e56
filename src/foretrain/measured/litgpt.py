"""Fine-tuning by LitGPT: what its table of memory leaves to its recipes of late 2023.

Source: litgpt, finetune/lora.py, adapter.py and adapter_v2.py at f6841380 (October 2023); the
trained parameters that the table states confirm ranks, prompts and what is scaled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from foretrain.measured import lore
from foretrain.measured.coverage import Assumptions, NotCovered
from foretrain.measured.run import MeasuredRun
from foretrain.trainers.software import SHARED, Software
from foretrain.workload.eager import Kernels
from foretrain.workload.graph import Model
from foretrain.workload.prompts import Prompt, prompted
from foretrain.workload.trainable import WeightStorage, adapted

STORAGE: Mapping[str, WeightStorage] = MappingProxyType(
    {
        "bnb.nf4": WeightStorage.NF4_PLAIN,
        "bnb.nf4-dq": WeightStorage.NF4,
        "bnb.int8": WeightStorage.INT8,
    }
)


def completed(run: MeasuredRun) -> MeasuredRun:
    """The row with what its script does on several devices: shards everything, recomputes all."""
    layout = run.layout
    if not lore.FULLY_SHARDED.of(run):
        return replace(run, layout=replace(layout, recompute=layout.recompute or "none"))
    stage = 3 if layout.zero_stage is None else layout.zero_stage
    return replace(
        run, layout=replace(layout, zero_stage=stage, recompute=layout.recompute or "full")
    )


def tuned(run: MeasuredRun, model: Model) -> Model:
    """The model as LitGPT fine-tunes it.

    Raises:
        NotCovered: another way of fine-tuning, or of storing weights.
    """
    stored, how = stored_of(run), lore.TUNING.of(run)
    if how is None:
        raise NotCovered(f"LitGPT's task '{run.task}' is not covered")
    if isinstance(how, Prompt):
        found = prompted(model, replace(how, stored=stored))
    else:
        found = adapted(model, replace(how, stored=stored))
    if stored is not None:
        # The product of the logits is stored like the others.
        *layers, head = found.layers
        operators = tuple(
            replace(each, stored=stored.weight_bytes) if each.matrices else each
            for each in head.operators
        )
        found = replace(found, layers=(*layers, replace(head, operators=operators)))
    return found


def keeps_of(run: MeasuredRun) -> Kernels:
    """What its kernels keep: each operation is one."""
    return Kernels(inputs=stored_of(run) is not None)


def stored_of(run: MeasuredRun) -> WeightStorage | None:
    """How frozen weights are stored; None for the precision of the workload."""
    _, _, packed = run.precision.partition(" + ")
    if packed and packed not in STORAGE:
        raise NotCovered(f"weights stored as '{packed}'")
    return STORAGE[packed] if packed else None


def software_of(run: MeasuredRun, assumptions: Assumptions) -> Software:
    """What the trainer's sharding and its kernels hold."""
    if not lore.BY_LITGPT.of(run):
        return SHARED
    if lore.FULLY_SHARDED.of(run):
        flat: bool = assumptions.of("flat").value
        return replace(SHARED, flat=flat, waits=flat)
    packed = stored_of(run) is not None
    return replace(SHARED, unpacked=assumptions.of("unpacked").value if packed else 1)
