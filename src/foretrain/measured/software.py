"""What kind of software executed a measured run: by the names that sources give it.

Fine-tuning by LitGPT: what its table of memory leaves to its recipes of late 2023.

Source: litgpt, finetune/lora.py, adapter.py and adapter_v2.py of October 2023 (from memory); the
trained parameters that the table states confirm ranks, prompts and what is scaled.

How the software of a measured run treats pictures: their layout, and who sees them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered
from foretrain.measured.run import MeasuredRun
from foretrain.trainers.software import (
    CAST_AFTER_UNPACKING,
    FLAT_SHARDS,
    SHARED,
    Execution,
    Software,
)
from foretrain.workload.eager import eager
from foretrain.workload.graph import Layer, Model
from foretrain.workload.prompts import Prompt, prompted
from foretrain.workload.trainable import Trainable, WeightStorage, adapted
from foretrain.workload.workload import Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareKind:
    """Software of one kind.

    Attributes:
        execution: the kind.
        names: any of them in the name of the framework, in lower case; none for any name.
        source: how the id of the source starts.
        device: how the name of the device starts; one of them.
        why: what speaks for it.
    """

    execution: Execution
    names: tuple[str, ...] = ()
    source: str = ""
    device: tuple[str, ...] = ("",)
    why: str

    def holds(self, run: MeasuredRun) -> bool:
        """Whether a run is of this kind."""
        name = run.framework.lower()
        return (
            (not self.names or any(each in name for each in self.names))
            and run.source_id.startswith(self.source)
            and run.place.device.startswith(self.device)
        )


KINDS = (
    SoftwareKind(
        execution=Execution.GRAPH,
        source="mlperf",
        device=("TPU", "Graphcore", "Gaudi", "Ascend"),
        why="programs of such devices are compiled whole: XLA, Poplar, SynapseAI, CANN",
    ),
    SoftwareKind(
        execution=Execution.TUNED,
        source="mlperf",
        why="every submission on NVIDIA's devices runs NVIDIA's code of that round: fused kernels, "
        "CUDA graphs where launches matter",
    ),
    SoftwareKind(
        execution=Execution.TUNED,
        names=("mxnet (ngc)",),
        why="NVIDIA's MXNet has the fused norms of its submissions to MLPerf (from memory)",
    ),
    SoftwareKind(
        execution=Execution.TUNED,
        names=("megatron", "nemo", "neox"),
        why="fused bias, GELU, dropout and masked softmax since 2020 (narayanan2021, section 4.2)",
    ),
    SoftwareKind(
        execution=Execution.TUNED,
        names=("deepspeed transformer kernel", "transformer engine"),
        why="a layer of few hand-fused kernels, which its name says",
    ),
    SoftwareKind(
        execution=Execution.TUNED,
        names=("oneflow",),
        why="its GPT and BERT fuse bias with GELU, bias with dropout, and scale, mask and softmax, "
        "as Megatron-LM does (options of LiBai, from memory)",
    ),
    SoftwareKind(
        execution=Execution.GRAPH,
        names=("tensorflow", "mxnet", "paddle", "jax", "maxtext", "pax", "mindspore"),
        why="the graph is known before it runs; XLA or the library's own passes fuse chains",
    ),
    SoftwareKind(
        execution=Execution.EAGER,
        names=("torch", "composer", "deepspeed", "litgpt", "chainer", "cuda-optimized"),
        why="operators are launched one by one from the host as the program reaches them",
    ),
    SoftwareKind(
        execution=Execution.EAGER,
        names=("caffe", "cudaconvnet", "cudnn", "fbfft", "cl-nn", "neon"),
        why="layers run one by one, each a call of its library, without fusion across them",
    ),
)
"""The first that holds is taken. Kinds are of software, so no measured time speaks for one."""


def execution_of(run: MeasuredRun, assumptions: Assumptions) -> Execution:
    """How the software of a run executes; compiled kernels make a graph of any of them."""
    kind = next((kind for kind in KINDS if kind.holds(run)), None)
    if kind is None:
        return assumptions.take(defaults.EAGER_SOFTWARE)
    eager = kind.execution is Execution.EAGER
    return Execution.GRAPH if eager and run.stack.compiled else kind.execution


FRAMEWORK = "litgpt"
SHARDED = "FSDP"
RANK = 8
TARGETS = ("q_proj", "v_proj")
PROMPT = 10
"""Learned tokens of a layer."""
FIRST = 2
"""Layers without a prompt."""

STORAGE: Mapping[str, WeightStorage] = MappingProxyType(
    {
        "bnb.nf4": WeightStorage.NF4_PLAIN,
        "bnb.nf4-dq": WeightStorage.NF4,
        "bnb.int8": WeightStorage.INT8,
    }
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


def stored_of(run: MeasuredRun) -> WeightStorage | None:
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


def _packed_head(model: Model, stored: WeightStorage | None) -> Model:
    """The product of the logits is stored like the others."""
    if stored is None:
        return model
    *layers, head = model.layers
    return replace(model, layers=(*layers, _packed(head, stored)))


def _packed(layer: Layer, stored: WeightStorage) -> Layer:
    operators = (
        replace(each, stored=stored.weight_bytes) if each.matrices else each
        for each in layer.operators
    )
    return replace(layer, operators=tuple(operators))


COMPILED_DEVICES = ("TPU", "Graphcore", "Gaudi", "Ascend")
"""Devices whose programs are compiled whole: by XLA, Poplar, SynapseAI, CANN."""

NARROW = (Precision.FP16, Precision.BF16)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutRule:
    """A rule for the layout of pictures.

    Attributes:
        framework: a part of the framework's name, in lower case.
        source: how the id of the source starts.
        models: starts of models' names that it is for, in lower case; empty for all.
        precisions: for which channels stand last, as matrix units read them.
        why: what speaks for it.
    """

    framework: str = ""
    source: str = ""
    models: tuple[str, ...] = ("",)
    precisions: tuple[Precision, ...]
    why: str

    def holds(self, run: MeasuredRun) -> bool:
        """Whether a run is of this kind."""
        return (
            self.framework in run.framework.lower()
            and run.source_id.startswith(self.source)
            and run.network.name.lower().startswith(self.models)
        )


LAYOUTS = (
    LayoutRule(
        source="mlperf",
        precisions=(Precision.TF32, *NARROW),
        why="every submission in 16 bits keeps channels last",
    ),
    LayoutRule(
        framework="tensorflow",
        models=("unet_3d", "vnet"),
        precisions=(),
        why="TensorFlow transposes volumes before every convolution on a device (conv_ops_3d.cc, "
        "from memory)",
    ),
    LayoutRule(
        framework="pytorch (ngc)",
        models=("resn", "se-resn", "efficientnet"),
        precisions=NARROW,
        why="these recipes set memory-format nhwc with mixed precision (from memory)",
    ),
    LayoutRule(
        framework="pytorch (ngc)",
        models=("ssd",),
        precisions=(Precision.TF32, *NARROW),
        why="this recipe has data-layout channels_last by default (from memory)",
    ),
    LayoutRule(
        framework="torch",
        precisions=(),
        why="PyTorch keeps channels first unless it is told otherwise",
    ),
    LayoutRule(
        precisions=NARROW,
        why="frameworks of graphs choose channels last where 16-bit units are used, and channels "
        "first for 32 bits (TensorFlow's layout pass, from memory)",
    ),
)
"""The first that holds is taken; no measured time speaks for one."""


def relays(run: MeasuredRun, precision: Precision) -> bool:
    """Whether libraries lay pictures out anew for matrix units."""
    layout = next(layout for layout in LAYOUTS if layout.holds(run))
    return precision not in layout.precisions


def sees_all(run: MeasuredRun) -> bool:
    """Whether the device runs nothing else than what a compiler makes of a whole network."""
    return run.place.device.startswith(COMPILED_DEVICES)
