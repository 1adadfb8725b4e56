"""Options of a recipe that notes or the name of software tell: what is fused, freed and updated.

Sources: pytorch (allocator, foreach and fused optimizers); transformers, peft, torchtune and
fms-acceleration, from memory.

Rows that leave out how a model was divided, by the recipe that its trainer's makers publish.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Final

from foretrain.measured.coverage import Assumptions, Belief, Default, Lore
from foretrain.measured.run import MeasuredRun
from foretrain.trainers.recipes import PublishedPlan, nearest
from foretrain.workload.execution import Kernels, Loss
from foretrain.workload.library.entries import known

PURE: Final = re.compile(
    r"states? in 16[- ]bit|16[- ]bit (weights and )?(adam )?states|no fp32 master", re.IGNORECASE
)
"""That weights and moments have 16 bits, and nothing else is kept of them."""


def pure_of(run: MeasuredRun) -> bool:
    """Whether notes say that optimizer states have 16 bits and weights no copy in fp32."""
    return bool(PURE.search(run.notes))


class Fusing(StrEnum):
    """Words for kernels that keep less, as notes have them."""

    LIGER = "liger"
    CROSS_ENTROPY = "fused (rope, rmsnorm, )?cross entropy|foak"
    CHUNKED = "chunked cross entropy"
    NORMS = "fused (rope, )?rmsnorm|foak|liger"
    COMPILED = r"\bcompile"


STEPWISE: Final = re.compile(r"optimi[sz]er[- ](step )?in[- ]backward", re.IGNORECASE)
"""That layers are updated as their gradients come."""

FUSED_UPDATE: Final = Lore(
    Belief(
        says=True, framework="torchtune", why="its recipes ask for the fused AdamW (from memory)"
    ),
    otherwise=False,
)
"""Whether an update is one kernel; otherwise it takes a copy of one moment (pytorch, foreach)."""

OFFLOADED: Final = re.compile(r"activation offload", re.IGNORECASE)
EIGHT_BIT: Final = re.compile(r"8-?bit adam|adamw?[- ]8-?bit|adamw8bit", re.IGNORECASE)

TWO_SAMPLES: Final = Default(
    value=2,
    words="batches of two samples",
    why="what torchtune's recipes of 2024 have for models of these sizes (from memory)",
)
BATCHES: Final[Lore[Default[int] | None]] = Lore(
    Belief(says=TWO_SAMPLES, framework="torchtune", why="its tables leave the batch out"),
    otherwise=None,
)
"""Samples of a device where no batch is stated."""

LIBRARIES: Final = Lore(
    Belief(
        says=True,
        framework=r"peft|hf |hugging|transformers|\btrl\b|torchtune",
        why="models of plain PyTorch modules, whose autograd keeps what each operation needs",
    ),
    otherwise=False,
)
"""Whether a model runs operation by operation and its memory is used again within a step."""


HUGGING_FACE: Final = Lore(
    Belief(says=True, framework=r"peft|hf |hugging|transformers|\btrl\b", why="by its name"),
    otherwise=False,
)
"""Whether Hugging Face's trainer runs it."""

UPCAST: Final = "2024-12"
"""Since when accelerate is taken to hold in fp32 what FSDP trains in mixed precision (accelerate,
prepare_model: since its release 0.31 of 2024; which release a run had is not stated)."""

NORMS_UPCAST: Final = re.compile(r"baseline-peft-bnb")
"""That peft prepares a model of four bits itself: norms and tables, and so the stream, in fp32
(peft, prepare_model_for_kbit_training); fms-acceleration's own loader leaves them."""


def _sharded(run: MeasuredRun) -> bool:
    """Whether parameters are sharded."""
    return run.layout.zero_stage == 3 and (run.place.devices or 1) > 1


def upcast_of(run: MeasuredRun, *, adapts: bool) -> bool:
    """Whether parameters that were loaded in 16 bits are held and trained in fp32."""
    return HUGGING_FACE.of(run) and _sharded(run) and not adapts and run.date >= UPCAST


WINDOWED: Final = Lore(
    Belief(
        says=4096,
        network=r"(?i)mistral[- ]7b( v0\.1)?$",
        why="its configuration has a sliding window of 4096 (jiang2023)",
    ),
    otherwise=0,
)
"""Tokens of a sliding window: transformers makes a mask of all pairs of tokens for samples that are
as long or longer, and hands it to every layer."""


def masks_of(run: MeasuredRun, *, adapts: bool) -> bool:
    """Whether attention is handed a mask, which is stretched over all heads for its kernel.

    So it is for sharded frozen layers, where a mask is not told from what needs a gradient
    (pytorch, memory-efficient attention with a bias; from memory).
    """
    window = WINDOWED.of(run)
    long = 0 < window <= (run.network.sequence or 0)
    return adapts and long and HUGGING_FACE.of(run) and _sharded(run)


TORCHTUNE: Final = Lore(
    Belief(says=True, framework="torchtune", why="its recipes compute the loss of logits"),
    otherwise=False,
)
"""Whether the loss is computed outside of the model."""

NARROW_LOSS: Final = Lore(
    Belief(
        says=True,
        network="(?i)santacoder|starcoder|gpt-?2|gpt-?neox|pythia|bloom|opt",
        framework=r"hf |hugging|transformers|\btrl\b|peft",
        why="these models of transformers hand logits to the loss as they are; those of Llama's "
        "kind widen them (transformers, from memory)",
    ),
    otherwise=False,
)
"""Whether logits and their loss stay in 16 bits."""


UNSHIFTED: Final = "2025-03"
"""Since when labels are shifted instead of logits (transformers 4.49, loss_utils.py)."""


WRITTEN_GELU: Final = Lore(
    Belief(
        says=True,
        framework="^pytorch$",
        network="^BERT",
        why="libraries write BERT's GELU in Python for PyTorch before 1.4 (transformers 2.9)",
    ),
    otherwise=False,
)
"""Whose GELU is written in Python, up to `GELU_TAKEN`."""

GELU_TAKEN: Final = "2020-07"
"""Since when PyTorch's own GELU is believed to run: half a year after PyTorch 1.4 came out."""


def writes_gelu(run: MeasuredRun) -> bool:
    """Whether a run's GELU is written in Python."""
    return WRITTEN_GELU.of(run) and bool(run.date) and run.date < GELU_TAKEN


def kernels_of(run: MeasuredRun, *, adapts: bool) -> Kernels:
    """What notes say is fused.

    Args:
        run: the run.
        adapts: whether adapters alone are trained.

    A patched head counts where the whole model is trained: around adapters it is not the one that
    runs (rows of one source with Liger's and without are equal to the last digit there).
    """
    said = {word for word in Fusing if re.search(word, run.notes, re.IGNORECASE)}
    if adapts:
        said -= {Fusing.LIGER}
    loss = next(
        kind
        for word, kind in (
            (Fusing.LIGER, Loss.FUSED_LINEAR),
            (Fusing.CHUNKED, Loss.CHUNKED),
            (Fusing.CROSS_ENTROPY, Loss.FUSED),
            (None, Loss.WHOLE if run.date >= UNSHIFTED else Loss.SHIFTED),
        )
        if word is None or word in said
    )
    return Kernels(
        loss=loss,
        narrow=NARROW_LOSS.of(run) and not adapts,
        norms=Fusing.NORMS in said,
        separate=True,
        passes=Fusing.COMPILED in said,
        loss_inside=not TORCHTUNE.of(run),
        wide_stream=adapts and not _sharded(run) and bool(NORMS_UPCAST.search(run.notes)),
        masks=masks_of(run, adapts=adapts),
    )


DEGREES = ("tensor", "pipeline", "interleaving", "context", "expert", "micro_batch")

STAGES = {"none": 0, "optimizer": 1, "parameters": 3}
"""Stages of ZeRO by what a recipe shards."""


def by_recipe(
    run: MeasuredRun, assumptions: Assumptions, recipes: Iterable[PublishedPlan]
) -> MeasuredRun:
    """The row with what a recipe of its trainer says where it says nothing itself.

    A recipe counts that contradicts nothing of the row and gives every replica a whole share of its
    batch; nothing is filled in where there is none.
    """
    count, layout, model = run.place.devices, run.layout, known(run.network.name)
    if (
        not count
        or model is None
        or count == 1
        or all(getattr(layout, name) is not None for name in DEGREES)
    ):
        return run
    adapts = "lora" in run.task.lower()
    found = nearest(
        (
            each
            for each in recipes
            if each.family == assumptions.trainer.family
            and (each.model, each.sequence) == (model.name, run.network.sequence)
            and each.adapts == adapts
            and each.was_out(run.date)
            and each.suits(run.place.device, count)
            and _agrees(run, each, count)
        ),
        count=count,
        precision=run.precision,
    )
    if found is None:
        return run
    assumptions.note(f"its plan as the recipe for {found.count:,} devices has it ({found.release})")
    silent = layout.zero_stage is None and not layout.sharding
    stage = STAGES.get(found.sharding) if silent else layout.zero_stage
    stated = {name: getattr(layout, name) for name in DEGREES}
    filled = {name: getattr(found, name) if held is None else held for name, held in stated.items()}
    return replace(
        run,
        layout=replace(
            layout,
            **filled,
            data=layout.data or count // found.stationed,
            recompute=layout.recompute or found.recompute,
            zero_stage=stage,
        ),
    )


def _agrees(run: MeasuredRun, recipe: PublishedPlan, count: int) -> bool:
    """Whether a recipe contradicts nothing that a row states."""
    layout, replicas = run.layout, count // recipe.stationed
    told = all(getattr(layout, name) in (None, getattr(recipe, name)) for name in DEGREES)
    passes, rest = divmod(run.global_batch or 0, replicas * recipe.micro_batch)
    divided = run.global_batch is None or (not rest and layout.accumulation in (None, passes))
    return told and layout.data in (None, replicas) and divided
