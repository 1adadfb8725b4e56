"""Lore: what is known of a measured run by its source, task and names alone.

What a run's software does stands in the entries of trainers. Every choice that another name makes
stands here; everybody else asks (`COVERED.of(run)`). No entry was chosen by its effect on an error:
each says why it holds.

What a source counts as memory: what was handed out, what was reserved, or the whole device.

PyTorch's allocator hands out blocks of what it has reserved; a device holds besides what the
context, libraries and communication take, and what other processes do.

Source: pytorch, torch.cuda.max_memory_allocated and max_memory_reserved.

Fine-tuning by LitGPT: what its table of memory leaves to its recipes of late 2023.

Source: litgpt, finetune/lora.py, adapter.py and adapter_v2.py at f6841380 (October 2023); the
trained parameters that the table states confirm ranks, prompts and what is scaled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, Belief, Default, Lore, NotCovered
from foretrain.measured.run import MeasuredRun
from foretrain.trainers.software import SHARED, Software
from foretrain.workload.execution import Kernels
from foretrain.workload.graph import Model
from foretrain.workload.prompts import Prompt, prompted
from foretrain.workload.trainable import Trainable, WeightStorage, adapted

LITGPT: Final = "^litgpt$"
MLPERF: Final = "^mlperf"

# What a row measures.

WHOLE_STEP: Final = (
    "^(pretrain|train|fine-tune|SFT|LoRA|classification|detection|segmentation|speech"
    "|recommendation|drugdiscovery|forecasting|fastspeech)"
)
PASSES: Final = r"^forward\+backward"
COVERED: Final = Lore(
    Belief(says=True, task=WHOLE_STEP, why="tasks of training"),
    Belief(says=True, task=PASSES, why="a step without its update"),
    otherwise=False,
)
"""Whether a task is one that a prediction can be held against."""

UPDATES: Final = Lore(
    Belief(says=False, task=PASSES, why="it ends before the optimizer's step"),
    otherwise=True,
)
"""Whether what was measured ends with the update."""

ALLOCATED: Final = Lore(
    Belief(says=True, source="^own-", why="our recorder asks torch.cuda.max_memory_allocated()"),
    otherwise=False,
)
"""Whether memory is what PyTorch's allocator handed out, whatever the trainer prints."""

SHARED_CODE: Final = Lore(
    Belief(says=True, source=MLPERF, why="submissions to a round share it, however they spell it"),
    otherwise=False,
)
"""Whether all runs of a source are of the same code."""

DEVICES: Final[Lore[Default[str] | None]] = Lore(
    Belief(says=defaults.OF_LIBAI, source="^libai$", why="its rows name none"), otherwise=None
)
"""Devices of sources that name none."""

FABRICS: Final[Lore[Default[str] | None]] = Lore(
    Belief(says=defaults.BETWEEN_LIBAI, source="^libai$", why="its rows name none"), otherwise=None
)
"""Links between nodes of sources that name none."""

# What is trained.

RESNETS: Final = Lore(
    Belief(
        says=defaults.FIRST_RESNET,
        source="^tf-bench-2017$",
        why="its resnet50 of 2017 was the first version",
    ),
    otherwise=defaults.RESNET_VERSION,
)
"""Which ResNet is meant where a row does not say."""

PREDICTION: Final = Lore(
    Belief(says=defaults.PREDICTION_AHEAD, source="^mbridge$", why="FLOP that its rows state"),
    otherwise=defaults.NO_PREDICTION,
)
"""Whether tokens further ahead are predicted where a row does not say."""

ADAPTERS: Final[Lore[Default[int] | None]] = Lore(
    Belief(says=defaults.LORA, task="^LoRA", why="the task says so, and no column the rank"),
    otherwise=None,
)
"""Rank of adapters, where they alone are trained."""

BY_LITGPT: Final = Lore(
    Belief(says=True, source=LITGPT, why="its rows leave out what its scripts always do"),
    otherwise=False,
)
"""Whether scripts of LitGPT tell what a row leaves out."""

TUNING: Final[Lore[Trainable | Prompt | None]] = Lore(
    Belief(
        says=Trainable(lora=8, targets=("q_proj", "v_proj"), dropout=True),
        task="^fine-tune LoRA$",
        why="finetune/lora.py of October 2023 (from memory); confirmed by trained parameters",
    ),
    Belief(
        says=Prompt(tokens=10, first=2),
        task="^fine-tune Adapter$",
        why="finetune/adapter.py of October 2023 (from memory); confirmed by trained parameters",
    ),
    Belief(
        says=Prompt(tokens=10, first=2, scales=True),
        task="^fine-tune Adapter v2$",
        why="finetune/adapter_v2.py of October 2023 (from memory); confirmed likewise",
    ),
    otherwise=None,
)
"""What LitGPT's recipes of late 2023 train; how frozen weights are stored, the row says."""

FULLY_SHARDED: Final = Lore(
    Belief(
        says=True,
        source=LITGPT,
        notes="FSDP",
        why="its script shards everything and recomputes all on several devices",
    ),
    otherwise=False,
)
"""Whether LitGPT ran it on several devices."""

LONGEST: Final = Lore(
    Belief(says=defaults.LONGEST_OF_LLAMA, network="(?i)^llama", why="its vocabulary is smaller"),
    otherwise=defaults.LONGEST_OF_NEOX,
)
"""Tokens of the longest sample of Alpaca, which LitGPT starts with."""


class MemoryCount(StrEnum):
    """Quantities that sources call the memory of a device."""

    ALLOCATED = "what the framework's allocator handed out"
    RESERVED = "what the framework's allocator held"
    DEVICE = "all that is taken of the device"


WORDS: Final = (
    (re.compile(r"in use when|nvidia-smi|gpu memory per device", re.I), MemoryCount.DEVICE),
    (re.compile(r"reserved", re.I), MemoryCount.RESERVED),
    (re.compile(r"(peak|max\w*) (memory )?(allocated|active)|max_memory_allocated", re.I),
     MemoryCount.ALLOCATED),
)  # fmt: skip
"""How notes say it; the first that is found counts."""


def counted_of(run: MeasuredRun) -> MemoryCount:
    """What a source counts: by its words, by its software, or else the whole device."""
    for pattern, counted in WORDS:
        if pattern.search(run.notes):
            return counted
    return MemoryCount.ALLOCATED if ALLOCATED.of(run) else MemoryCount.DEVICE


HELD: Final = 0.05
"""What PyTorch's allocator holds beyond what it has handed out at most: the median of the 22
programs of one device in which nothing is computed again, as `python -m validation.allocated` plays
it (1.6 to 18 %). It counts in what logs say, and not in what fits: before an allocator fails, it
gives up what it does not use."""


def share(counted: MemoryCount, *, allocated: float, total: float) -> float:
    """A count over all that is taken of the device.

    Args:
        counted: what is counted.
        allocated: bytes that the allocator handed out.
        total: bytes of the whole device.
    """
    held = {
        MemoryCount.ALLOCATED: allocated,
        MemoryCount.RESERVED: min(allocated * (1.0 + HELD), total),
        MemoryCount.DEVICE: total,
    }
    return held[counted] / total


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
    if not FULLY_SHARDED.of(run):
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
    stored, how = stored_of(run), TUNING.of(run)
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
    if not BY_LITGPT.of(run):
        return SHARED
    if FULLY_SHARDED.of(run):
        flat: bool = assumptions.of("flat").value
        return replace(SHARED, flat=flat, waits=flat)
    packed = stored_of(run) is not None
    return replace(SHARED, unpacked=assumptions.of("unpacked").value if packed else 1)


def trainer_of(run: MeasuredRun) -> str:
    """Whose pace a run shares: runs of one code by one publisher count together."""
    return run.source_id if SHARED_CODE.of(run) else f"{run.source_id}, {run.framework}"
