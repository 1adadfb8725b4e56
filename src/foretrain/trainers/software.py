"""How software executes a plan: one kernel after another, as a compiled graph, or hand-tuned.

Software: what a trainer does by its own habits, whatever the plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foretrain.workload.execution import CrossEntropy, Kernels


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


class Convolutions(StrEnum):
    """Generations of libraries of convolutions.

    Source: chetlur2014 (lowering in memory, and on the way); lavin2016 (Winograd).
    """

    LOWERED = "lowered"
    """Windows are unfolded in memory, sample by sample, for a library of matrix products."""
    DIRECT = "direct"
    """Windows are unfolded on the way to the units, whatever their shape."""
    FIRST_TRANSFORMS = "first-transforms"
    """Winograd's algorithm beside that, in one kernel and not for gradients of weights."""
    CHOSEN = "chosen"
    """The quickest of several algorithms is chosen, for every product."""


class AttentionKernel(StrEnum):
    """Generations of fused attention kernels.

    Source: dao2022; dao2023; shah2024; transformer-engine (cuDNN).
    """

    FIRST = "1"
    SECOND = "2"
    THIRD = "3"
    CUDNN = "cudnn"


class Update(StrEnum):
    """How an optimizer is called."""

    EACH = "each"
    """An operation at a time, for one tensor after the other."""
    SCRIPTED = "scripted"
    """The same from compiled code, which an interpreter calls once for a tensor."""
    FOREACH = "foreach"
    """An operation at a time, for many tensors."""
    FUSED = "fused"
    """All operations at once, for many tensors."""


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
        gathers_beside: whether updated parameters are gathered beside the next forward pass, as it
            needs them; otherwise before it.
        update: how the optimizer is called; None where it is not known.
        adds_apart: whether gradients of weights are added up by kernels of their own, which a hook
            of every tensor calls; otherwise the products add to what is there.
        casts: whether automatic mixed precision casts by kernels of its own, before and after what
            it keeps in 4 bytes.
        loss: how the loss of logits is computed.
        convolutions: generation of the library that computes them.
        built: when its libraries of kernels were built, in years; None where nobody says, so that
            they know every device as well as they ever will.
        matrix_units: whether its libraries know of matrix units.
        norm_wait: whether the update waits for the norm of all gradients, or for whether any
            overflowed, which the host reads.
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
    gathers_beside: bool = False
    update: Update | None = None
    adds_apart: bool = False
    casts: bool = False
    norm_wait: bool = False
    loss: CrossEntropy = CrossEntropy.SOFTMAX
    convolutions: Convolutions = Convolutions.CHOSEN
    built: float | None = None
    matrix_units: bool = True


SHARED = Software()
"""What plans are priced with: gradients of what is trained, reduced as the plan says."""
