"""Fine-tuning by LitGPT: what its table of memory leaves to its recipes of late 2023.

Source: litgpt, finetune/lora.py, adapter.py and adapter_v2.py of October 2023 (from memory); the
trained parameters that the table states confirm ranks, prompts and what is scaled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered
from foretrain.measured.run import MeasuredRun
from foretrain.plan.software import CAST_AFTER_UNPACKING, FLAT_SHARDS, SHARED, Software
from foretrain.workload.eager import eager
from foretrain.workload.graph import Layer, Model
from foretrain.workload.prompts import Prompt, prompted
from foretrain.workload.trainable import Storage, Trainable, adapted

FRAMEWORK = "litgpt"
SHARDED = "FSDP"
RANK = 8
TARGETS = ("q_proj", "v_proj")
PROMPT = 10
"""Learned tokens of a layer."""
FIRST = 2
"""Layers without a prompt."""

STORAGE: Mapping[str, Storage] = MappingProxyType(
    {"bnb.nf4": Storage.NF4_PLAIN, "bnb.nf4-dq": Storage.NF4, "bnb.int8": Storage.INT8}
)


LORA = "fine-tune LoRA"
SCALES: Mapping[str, bool] = MappingProxyType(
    {"fine-tune Adapter": False, "fine-tune Adapter v2": True}
)
"""Tasks that learn prompts, and whether they scale products too."""


def by_litgpt(run: MeasuredRun) -> bool:
    """Whether LitGPT ran it."""
    return run.framework.lower().startswith(FRAMEWORK)


def completed(run: MeasuredRun) -> MeasuredRun:
    """The row with what its script does on several devices: shards everything, recomputes all."""
    if SHARDED not in run.notes:
        return replace(run, layout=replace(run.layout, recompute=run.layout.recompute or "none"))
    layout = run.layout
    return replace(
        run,
        layout=replace(
            layout,
            zero_stage=3 if layout.zero_stage is None else layout.zero_stage,
            recompute=layout.recompute or "full",
        ),
    )


def longest(name: str, assumptions: Assumptions) -> int:
    """Tokens of the longest sample, which such a run starts with."""
    llama = name.lower().startswith("llama")
    return assumptions.take(defaults.LONGEST_OF_LLAMA if llama else defaults.LONGEST_OF_NEOX)


def tuned(run: MeasuredRun, model: Model) -> Model:
    """The model as LitGPT fine-tunes it, operation by operation.

    Raises:
        NotCovered: another way of fine-tuning, or of storing weights.
    """
    stored = stored_of(run)
    if run.task == LORA:
        found = adapted(model, Trainable(lora=RANK, targets=TARGETS, stored=stored, dropout=True))
    elif run.task in SCALES:
        scales = SCALES[run.task]
        prompt = Prompt(tokens=PROMPT, first=FIRST, scales=scales, stored=stored)
        found = prompted(model, prompt)
    else:
        raise NotCovered(f"LitGPT's task '{run.task}' is not covered")
    return eager(_packed_head(found, stored), keeps_inputs=stored is not None)


def stored_of(run: MeasuredRun) -> Storage | None:
    """How frozen weights are stored; None for the precision of the workload."""
    _, _, packed = run.precision.partition(" + ")
    if packed and packed not in STORAGE:
        raise NotCovered(f"weights stored as '{packed}'")
    return STORAGE[packed] if packed else None


def software_of(run: MeasuredRun) -> Software:
    """What the trainer's sharding and its kernels hold."""
    if not by_litgpt(run):
        return SHARED
    if SHARDED in run.notes:
        return FLAT_SHARDS
    return CAST_AFTER_UNPACKING if stored_of(run) else SHARED


def _packed_head(model: Model, stored: Storage | None) -> Model:
    """The product of the logits is stored like the others."""
    if stored is None:
        return model
    *layers, head = model.layers
    return replace(model, layers=(*layers, _packed(head, stored)))


def _packed(layer: Layer, stored: Storage) -> Layer:
    operators = (
        replace(each, stored=stored.weight_bytes) if each.matrices else each
        for each in layer.operators
    )
    return replace(layer, operators=tuple(operators))
