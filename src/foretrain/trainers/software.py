"""How software executes a plan: one kernel after another, as a compiled graph, or hand-tuned.

Software: what a trainer does by its own habits, whatever the plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foretrain.workload.eager import Kernels


class Execution(StrEnum):
    """Kinds of training software, by how kernels come about and how they are launched."""

    EAGER = "eager"
    """One operator after another from Python, each its own kernel: PyTorch without compiling."""
    GRAPH = "graph"
    """A graph of operators known before it runs, each its own kernel, launched without Python."""
    COMPILED = "compiled"
    """A graph whose chains of operators a compiler makes kernels of: XLA, Inductor."""
    TUNED = "tuned"
    """Kernels fused by hand for transformers or for a benchmark, launches kept off the way."""


class AttentionKernel(StrEnum):
    """Generations of fused attention kernels.

    Source: dao2022; dao2023; shah2024; transformer-engine (cuDNN).
    """

    FIRST = "1"
    SECOND = "2"
    THIRD = "3"
    CUDNN = "cudnn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """Habits of a trainer that decide what it holds and how long kernels take.

    Attributes:
        family: of the trainer, as its entry says; empty where nobody says with what a plan runs.
        flat: whether the parameters of a layer are one tensor, so that every one of them has a
            gradient as soon as one of them is trained.
        waits: whether gradients of a shard are added up whole, and reduced with the last
            micro-batch alone.
        unpacked: copies of the weights that a product unpacks from fewer bits, while it runs.
        phased: whether memory is used again within a step: gradients are dropped after each
            update, a pass frees what it is done with, and an update, which works on all parameters
            at once and takes a copy of one moment, comes when activations are gone.
        stepwise: whether a layer is updated as soon as it has its gradients, which then go.
        fused_update: whether an update is one kernel, which needs no such copy.
        wide_parameters: whether parameters are held in fp32 and in no other form, and passes read
            copies of 16 bits that go with their layer.
        keeps: what is one kernel of a model whose autograd keeps what each operation needs; None
            where kernels keep no more than the library counts.
        execution: how kernels come about and are launched.
        graphs: whether kernels are launched as graphs.
        interpreted: whether an interpreter calls each operator, where no graph is known before it
            runs.
        relays: whether matrix units are handed pictures channel by channel, to be laid out anew.
        compiled: whether a compiler fuses what it can of the kernels between products.
        whole: whether the device runs nothing else than what a compiler makes of the whole network.
        overlaps: whether exchanges of the tensor axis run beside the products they belong to, where
            tokens are divided too.
        grouped: whether the products of all experts are one kernel, and those that feed it leave
            whole blocks of rows; otherwise every expert has its own, whose rows a copy fills up.
        once: whether a token goes once to a member that holds several of its experts; otherwise
            copies are sorted by expert before they are sent.
        late: whether gradients that are reduced once per step wait for the last pass; otherwise
            they leave beside the passes as they become ready.
        fuses: whether gradients are reduced together, many tensors in one buffer (tensor fusion);
            otherwise one tensor at a time, where a replica is more than one device.
        kernel: generation of the fused attention kernel; None if there is none or not known.
        fused: what of a layer is one kernel, in the words of entries; empty where nothing is known.
        casts: whether automatic mixed precision casts by kernels of its own, before and after what
            it keeps in 4 bytes.
        random_states: whether checkpointing saves and restores the states of random numbers.
        norm_wait: whether the update waits for the norm of all gradients, which the host reads.
    """

    family: str = ""
    flat: bool = False
    waits: bool = False
    unpacked: int = 1
    phased: bool = False
    stepwise: bool = False
    fused_update: bool = False
    wide_parameters: bool = False
    keeps: Kernels | None = None
    execution: Execution = Execution.TUNED
    graphs: bool = False
    interpreted: bool = True
    relays: bool = False
    compiled: bool = False
    whole: bool = False
    overlaps: bool = True
    grouped: bool = True
    once: bool = True
    late: bool = False
    fuses: bool = True
    kernel: AttentionKernel | None = None
    fused: tuple[str, ...] = ()
    casts: bool = False
    random_states: bool = False
    norm_wait: bool = False


SHARED = Software()
"""What plans are priced with: gradients of what is trained, reduced as the plan says."""
