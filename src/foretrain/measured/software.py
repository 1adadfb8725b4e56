"""What kind of software executed a measured run: by the names that sources give it."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions
from foretrain.measured.run import MeasuredRun
from foretrain.plan.execution import Execution


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
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
    Kind(
        execution=Execution.GRAPH,
        source="mlperf",
        device=("TPU", "Graphcore", "Gaudi", "Ascend"),
        why="programs of such devices are compiled whole: XLA, Poplar, SynapseAI, CANN",
    ),
    Kind(
        execution=Execution.TUNED,
        source="mlperf",
        why="every submission on NVIDIA's devices runs NVIDIA's code of that round: fused kernels, "
        "CUDA graphs where launches matter",
    ),
    Kind(
        execution=Execution.TUNED,
        names=("mxnet (ngc)",),
        why="NVIDIA's MXNet has the fused norms of its submissions to MLPerf (from memory)",
    ),
    Kind(
        execution=Execution.TUNED,
        names=("megatron", "nemo", "neox"),
        why="fused bias, GELU, dropout and masked softmax since 2020 (narayanan2021, section 4.2)",
    ),
    Kind(
        execution=Execution.TUNED,
        names=("deepspeed transformer kernel", "transformer engine"),
        why="a layer of few hand-fused kernels, which its name says",
    ),
    Kind(
        execution=Execution.TUNED,
        names=("oneflow",),
        why="its GPT and BERT fuse bias with GELU, bias with dropout, and scale, mask and softmax, "
        "as Megatron-LM does (options of LiBai, from memory)",
    ),
    Kind(
        execution=Execution.GRAPH,
        names=("tensorflow", "mxnet", "paddle", "jax", "maxtext", "pax", "mindspore"),
        why="the graph is known before it runs; XLA or the library's own passes fuse chains",
    ),
    Kind(
        execution=Execution.EAGER,
        names=("torch", "composer", "deepspeed", "litgpt", "chainer", "cuda-optimized"),
        why="operators are launched one by one from the host as the program reaches them",
    ),
    Kind(
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
