"""The words in which entries describe trainers: abilities, options and habits, and what they mean.

A new option is one entry here; whoever reads it finds what each of its values means for a plan or
for `Software`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from foretrain.plan.plan import CUTS, ContextExchange, Offload, Recompute, Schedule, Sends, Sharding
from foretrain.trainers.software import AttentionKernel, Convolutions, Execution, Update
from foretrain.units import years
from foretrain.workload.execution import CrossEntropy, Kernels, Loss
from foretrain.workload.gradients import CODECS, FP32
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """One value of an option.

    Attributes:
        value: what it is for a plan or a `Software`.
        words: what is said of a run that is taken to have had it.
    """

    value: Any
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """What a key of an entry is about.

    Attributes:
        words: what it decides.
        values: every value that it may have.
        several: whether a line lists several values.
    """

    words: str
    values: Mapping[str, Meaning]
    several: bool = field(default=False)


def _kind(words: str, values: Mapping[str, tuple[object, str]], *, several: bool = False) -> Term:
    meanings = {name: Meaning(value=value, words=said) for name, (value, said) in values.items()}
    return Term(words=words, values=MappingProxyType(meanings), several=several)


def _switch(words: str, off: str, on: str) -> Term:
    return _kind(words, {"off": (False, off), "on": (True, on)})


def _words(words: str, *values: str) -> Term:
    return _kind(words, {value: (value, value) for value in values}, several=True)


NARROW: Final = frozenset({Precision.FP16, Precision.BF16})
MATRIX: Final = NARROW | {Precision.TF32}

AS_NEEDED: Final = (
    (Recompute.NONE, 1.0),
    (Recompute.SELECTIVE, 1.0),
    *((Recompute.FULL, quarters / 4) for quarters in (1, 2, 3, 4)),
)
"""Recomputation from the cheapest on, each with the share of the layers.

Megatron-LM counts the layers that it recomputes (source: korthikanti2022, section 5).
"""

OPTIONS: Final[Mapping[str, Term]] = MappingProxyType(
    {
        "attention": _kind(
            "kernel of attention",
            {
                "plain": ((Attention.PLAIN, None), "plain attention"),
                "flash": ((Attention.FLASH, None), "flash attention"),
                "flash-1": ((Attention.FLASH, AttentionKernel.FIRST), "the first flash attention"),
                "flash-2": (
                    (Attention.FLASH, AttentionKernel.SECOND),
                    "the second flash attention",
                ),
                "flash-3": ((Attention.FLASH, AttentionKernel.THIRD), "the third flash attention"),
                "cudnn": ((Attention.FLASH, AttentionKernel.CUDNN), "fused attention of cuDNN"),
            },
        ),
        "recompute": _kind(
            "what is computed twice",
            {
                "none": (((Recompute.NONE, 1.0),), "nothing recomputed"),
                "selective": (((Recompute.SELECTIVE, 1.0),), "selective recomputation"),
                "full": (((Recompute.FULL, 1.0),), "full recomputation"),
                "as-needed": (
                    AS_NEEDED,
                    "the first that fits of no and selective recomputation, and full in ever more "
                    "layers",
                ),
            },
        ),
        "sequence_parallel": _switch(
            "whether the tensor axis divides tokens too",
            "no sequence parallelism",
            "sequence parallelism",
        ),
        "interleaving": _kind(
            "chunks of a model per stage",
            {
                "none": (1, "no interleaving"),
                "finest": (None, "as many chunks per stage as it has layers"),
            },
        ),
        "sharding": _kind(
            "what replicas divide",
            {
                "none": (Sharding.NONE, "nothing sharded over the data axis"),
                "optimizer": (Sharding.OPTIMIZER, "the optimizer sharded over the data axis"),
                "gradients": (
                    Sharding.GRADIENTS,
                    "optimizer and gradients sharded over the data axis",
                ),
                "parameters": (Sharding.PARAMETERS, "parameters sharded over the data axis"),
            },
        ),
        "offload": _kind(
            "what waits in the host's memory",
            {
                "none": (Offload.NONE, "nothing offloaded"),
                "optimizer": (Offload.OPTIMIZER, "the optimizer offloaded"),
                "activations": (Offload.ACTIVATIONS, "activations offloaded"),
                "both": (Offload.BOTH, "optimizer and activations offloaded"),
                "as-needed": (
                    None,
                    "activations of fully sharded models offloaded where they do not fit",
                ),
            },
        ),
        "gradients": _kind(
            "how gradients are added up and reduced",
            {
                "fp32": (FP32, "gradients added up and reduced in fp32"),
                "bf16": (CODECS["bf16"], "gradients added up and reduced in bf16"),
                "fp16": (CODECS["fp16"], "gradients added up and reduced in fp16"),
                "fp16-sent": (replace(CODECS["fp16"], held_bytes=4.0), "gradients sent in fp16"),
            },
        ),
        "overlap_gradients": _switch(
            "whether gradients are reduced beside the backward pass",
            "gradients reduced after the last backward pass",
            "gradients reduced beside the backward pass",
        ),
        "overlap_parameters": _switch(
            "whether parameters are gathered beside the forward pass",
            "parameters gathered before the forward pass",
            "parameters gathered beside the forward pass",
        ),
        "user_buffers": _switch(
            "whether exchanges of the tensor axis run beside the products they belong to",
            "exchanges of the tensor axis wait",
            "exchanges of the tensor axis beside products",
        ),
        "dispatcher": _kind(
            "how tokens reach their experts, and whether a token goes once to a member that holds "
            "several of them",
            {
                "all-gather": (False, "tokens gathered by all experts"),
                "all-to-all": (False, "copies of tokens exchanged"),
                "deepep": (True, "tokens dispatched by DeepEP"),
                "hybridep": (True, "tokens dispatched by HybridEP"),
            },
        ),
        "expert_products": _kind(
            "whether the products of all experts are one kernel",
            {
                "each": (False, "a product for every expert"),
                "grouped": (True, "one kernel for the products of all experts"),
            },
        ),
        "execution": _kind(
            "how kernels come about and are launched",
            {
                "eager": (Execution.EAGER, "software that launches operators one by one"),
                "fused": (Execution.TUNED, "software with kernels fused by hand"),
                "graph": (Execution.GRAPH, "software that runs a graph operator by operator"),
                "compiled": (Execution.COMPILED, "software that compiles a graph"),
            },
        ),
        "cuda_graphs": _kind(
            "what of a step is launched as graphs",
            {
                "none": (False, "kernels launched one by one"),
                "layers": (True, "layers launched as graphs"),
                "whole": (True, "passes launched as graphs"),
            },
        ),
        "channels_last": _kind(
            "precisions for which channels of pictures stand last, as matrix units read them",
            {
                "never": (frozenset[Precision](), "channels of pictures first"),
                "narrow": (NARROW, "channels of pictures last in 16 bits"),
                "matrix": (MATRIX, "channels of pictures last in 16 bits and tf32"),
            },
        ),
        "tf32": _switch(
            "whether products in fp32 are computed in tf32 on devices that can",
            "fp32 as it is",
            "tf32 for fp32",
        ),
    }
)
"""What may be set."""

HABITS: Final[Mapping[str, Term]] = MappingProxyType(
    {
        "sends": _kind(
            "whether stages compute while they send: without, and with interleaving",
            {
                "blocking": (
                    (Sends.BLOCKING, Sends.BLOCKING),
                    "sends between stages block",
                ),
                "overlapped-if-interleaved": (
                    (Sends.BLOCKING, Sends.OVERLAPPED),
                    "sends between stages block unless stages interleave",
                ),
                "overlapped": (
                    (Sends.OVERLAPPED, Sends.OVERLAPPED),
                    "sends between stages overlap with compute",
                ),
            },
        ),
        "host": _kind(
            "who calls the operators of a layer",
            {
                "interpreter": (True, "an interpreter calls every operator"),
                "executor": (False, "an executor runs a graph that it was handed"),
            },
        ),
        "casts": _kind(
            "where automatic mixed precision casts",
            {
                "within": (False, "kernels cast what they read"),
                "apart": (True, "casts are kernels of their own"),
            },
        ),
        "weight_gradients": _kind(
            "how gradients of weights are added up",
            {
                "within": (False, "products add to the gradients of weights"),
                "apart": (True, "gradients of weights are added up by kernels of their own"),
            },
        ),
        "loss": _kind(
            "how the loss of logits is computed",
            {
                "softmax": (CrossEntropy.SOFTMAX, "a softmax in fp32 and its gradient"),
                "apart": (CrossEntropy.APART, "a loss in fp32, operation by operation"),
                "fused": (CrossEntropy.FUSED, "a loss by one kernel, in the place of its logits"),
                "at-once": (CrossEntropy.AT_ONCE, "a loss with its gradients in one pass"),
            },
        ),
        "convolutions": _kind(
            "generation of the library of convolutions",
            {
                "lowered": (Convolutions.LOWERED, "windows unfolded in memory, sample by sample"),
                "direct": (Convolutions.DIRECT, "windows unfolded on the way to the units"),
                "first-transforms": (
                    Convolutions.FIRST_TRANSFORMS,
                    "the first kernels of Winograd's algorithm",
                ),
                "chosen": (Convolutions.CHOSEN, "the quickest of several algorithms"),
            },
        ),
        "libraries": _kind(
            "month in which its libraries of kernels came out, where that is not the run's",
            {
                month: (years(month), f"libraries of {month}")
                for year in range(2014, 2020)
                for month in (f"{year}-{number:02}" for number in range(1, 13))
            },
        ),
        "matrix_units": _switch(
            "whether its libraries know of matrix units",
            "no library for matrix units",
            "libraries for matrix units",
        ),
        "update": _kind(
            "how the optimizer is called",
            {
                "each": (Update.EACH, "an update operation by operation, tensor by tensor"),
                "scripted": (Update.SCRIPTED, "an update compiled for one tensor, called for each"),
                "foreach": (Update.FOREACH, "an update operation by operation, for many tensors"),
                "fused": (Update.FUSED, "an update by one kernel for many tensors"),
            },
        ),
        "selective": _kind(
            "what selective recomputation computes twice",
            {
                "core-attention": ("core-attention", "scores, softmax and context"),
                "every-other-product": ("every-other-product", "every second product and the rest"),
                "every-other-layer": ("every-other-layer", "every second layer"),
                "modules": ("modules", "the modules that are listed"),
            },
        ),
        "norm_wait": _switch(
            "whether the update waits for the norm of all gradients, read by the host",
            "no wait for the norm of gradients",
            "the update waits for the norm of gradients",
        ),
        "reduces": _kind(
            "how often gradients are reduced",
            {
                "step": ("step", "once a step"),
                "micro-batch": ("micro-batch", "after every micro-batch"),
            },
        ),
        "flat": _switch(
            "whether the parameters of a sharded layer are one tensor, reduced with the last "
            "micro-batch alone",
            "tensors of their own",
            "one flat tensor a layer",
        ),
        "unpacked": _kind(
            "copies of packed weights that a product unpacks",
            {"1": (1, "unpacked once"), "2": (2, "unpacked, then cast")},
        ),
        "program": _switch(
            "whether the device runs nothing else than what a compiler makes of a whole network",
            "kernels of libraries",
            "one compiled program",
        ),
        "memory": _kind(
            "what is kept and freed within a step",
            {
                "reserved": (None, "buffers that are there all through a step"),
                "freed": (
                    Kernels(loss=Loss.WHOLE, norms=True, separate=True, gathered=True),
                    "what each operation needs is kept, and freed when it is done with",
                ),
                "freed-transformers": (
                    Kernels(loss=Loss.WHOLE, separate=True, gathered=True, loss_inside=True),
                    "the same of the modules of transformers, whose norms are many kernels",
                ),
            },
        ),
        "prints_memory": _kind(
            "what it says of memory",
            {
                "allocated": ("allocated", "what the allocator handed out"),
                "reserved": ("reserved", "what the allocator holds"),
                "pool": ("pool", "a pool that is taken whole"),
            },
        ),
    }
)
"""What is not for setting."""

AXES: Final = ("data", "tensor", "context", "pipeline", "expert", "expert_tensor", "interleaving")

ABILITIES: Final[Mapping[str, Term]] = MappingProxyType(
    {
        "axes": _words("what a plan may have more than one of", *AXES),
        "sequence_parallel": _words("whether a tensor axis can divide tokens", "off", "on"),
        "exchanges": _words(
            "how the context axis can exchange", *(each.name.lower() for each in ContextExchange)
        ),
        "schedules": _words("schedules of a pipeline", *(each.word for each in Schedule)),
        "cuts": _words("how layers can be spread", *CUTS, "listed"),
        "shardings": _words(
            "what replicas can divide", *(each.name.lower() for each in Sharding), "groups"
        ),
        "recompute": _words(
            "what can be computed twice", *(each.name.lower() for each in Recompute), "layers"
        ),
        "recompute_modules": _words(
            "parts of a layer that can be computed twice",
            "core_attn", "mlp", "moe", "moe_act", "layernorm", "mla_up_proj", "shared_experts",
            "products", "block",
        ),
        "offload": _words(
            "what can wait on the host", *(each.name.lower() for each in Offload), "layers"
        ),
        "precisions": _words("precisions of products", *(each.value for each in Precision)),
    }
)  # fmt: skip
"""What a trainer can express."""
