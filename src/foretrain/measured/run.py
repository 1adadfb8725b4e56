"""Messages: what a measured collective moved.

Measured runs: what somebody ran, and how long it took or what it needed.

Everything is as far as the source states it: None or an empty text is a blank, nothing is
guessed.

Rows of a table of measurements that cannot be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from foretrain.errors import InputError
from foretrain.trainers.software import AttentionKernel
from foretrain.workload.parts.stream import MOST_LAYERS
from foretrain.workload.totals import Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveMessage:
    """One call of a collective library, as its benchmark (`nccl-tests`) counts it.

    Attributes:
        collective: name of the call (`all_reduce`, `all_gather`, `sendrecv`, ...).
        size: bytes of the buffer: the gathered result of an all-gather, the input of a
            reduce-scatter, what one member holds for anything else; None if not stated.
        library: collective library, in the source's words.
        datatype: of the elements, in the source's words.
        placement: whether the result takes the place of the input.
        together: devices that one process calls for; None if not stated.
    """

    collective: str
    size: float | None = None
    library: str = ""
    datatype: str = ""
    placement: str = ""
    together: int | None = None


class TableKind(StrEnum):
    """The kinds of tables that hold measured runs, by the names of their files."""

    LLM_TRAINING = "llm_training"
    CNN_TRAINING = "cnn_training"
    OTHER_TRAINING = "other_training"
    SINGLE_DEVICE = "single_device"
    COLLECTIVES = "collectives"
    PARAMETER_SERVER = "parameter_server"
    MEMORY = "memory"
    CLUSTER_TRACES = "cluster_traces"


class Subject(StrEnum):
    """What was measured, in seconds, bytes, samples/s, or as a fraction."""

    STEP_TIME = "step time"
    TRANSFER_TIME = "transfer time"
    THROUGHPUT = "throughput"
    PEAK_MEMORY = "peak memory of a device"
    ACTIVATIONS = "activations on a device of the first stage"
    ACTIVATION_SHARE = "activations over those of tensor parallelism without recomputation"
    STATE = "weights, gradients and optimizer on a device"
    PROCESS = "growth of the process"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedNetwork:
    """The network that was trained.

    Attributes:
        name: as the source spells it.
        family: of transformers; empty if not stated.
        layers: transformer layers.
        hidden: width of the residual stream.
        feed_forward: width of the feed-forward part.
        heads: query heads.
        kv_heads: key-value heads.
        vocabulary: rows of the embedding.
        experts: experts per layer; None for a dense network.
        chosen: experts that a token is sent to.
        parameters: of the whole network.
        sequence: tokens per sample, or the most of them where `fill` is stated.
        fill: mean tokens of a sample over `sequence`, at most 1.
        token_prediction: whether it also predicts tokens further ahead.
        variant: which of the networks of one name; empty where there is one.
        image: pixels per side.
    """

    name: str
    family: str = ""
    layers: int | None = None
    hidden: int | None = None
    feed_forward: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    vocabulary: int | None = None
    experts: int | None = None
    chosen: int | None = None
    parameters: float | None = None
    sequence: int | None = None
    fill: float | None = None
    token_prediction: bool | None = None
    variant: str = ""
    image: int | None = None
    inventory: Inventory | None = None

    def __post_init__(self) -> None:
        if not 0 <= (self.layers or 0) <= MOST_LAYERS:
            raise InputError(
                f"TrainedNetwork.layers may be {MOST_LAYERS:,} at most, got {self.layers}."
            )
        if self.fill is not None and not 0 < self.fill <= 1:
            raise InputError(f"TrainedNetwork.fill must be above 0 and at most 1, got {self.fill}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where it ran.

    Attributes:
        device: accelerator, in the normal spelling of the tables (`A100 SXM 80GB`).
        devices: accelerators in all.
        node_devices: accelerators of one node.
        node_link: link inside a node, in words.
        fabric: link between nodes, in words.
    """

    device: str = ""
    devices: int | None = None
    node_devices: int | None = None
    node_link: str = ""
    fabric: str = ""


MOST_SAMPLES: Final = 1e9
"""That one replica passes through a network at once: more than any memory holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLayout:
    """How it ran.

    Attributes:
        data: degree of the data axis.
        tensor: degree of the tensor axis.
        pipeline: degree of the pipeline axis.
        interleaving: model chunks per stage.
        context: degree of the context axis.
        expert: degree of the expert axis.
        axes: which axes divide the work, in the source's words, where no column has degrees.
        zero_stage: 0 nothing sharded, 1 the optimizer, 2 and gradients, 3 and parameters.
        sharding: how, in the source's words.
        micro_batch: samples that one replica passes through the network at once; an average where
            replicas differ.
        batch_tokens: tokens of a micro-batch, where it is as many samples as they fill.
        accumulation: micro-batches of one replica per step.
        sequence_parallel: whether the tensor axis divides tokens too.
        recompute: what is computed twice, in the source's words.
        offload: what waits in the host's memory: `none`, `optimizer`, `activations`, `both`.
        attention: kernel of the attention core, in the source's words.
        bucket: elements of a bucket of gradients, in the source's words.
        dispatch: what becomes of tokens that an expert has no room for: `dropless`, `token drop`.
    """

    data: int | None = None
    tensor: int | None = None
    pipeline: int | None = None
    interleaving: int | None = None
    context: int | None = None
    expert: int | None = None
    axes: str = ""
    zero_stage: int | None = None
    sharding: str = ""
    micro_batch: float | None = None
    batch_tokens: int | None = None
    accumulation: int | None = None
    sequence_parallel: bool | None = None
    recompute: str = ""
    offload: str = ""
    attention: str = ""
    bucket: str = ""
    dispatch: str = ""

    def __post_init__(self) -> None:
        if not 0 <= (self.micro_batch or 0.0) <= MOST_SAMPLES:
            raise InputError(
                f"RunLayout.micro_batch must be from 0 to {MOST_SAMPLES:g}, got"
                f" {self.micro_batch:g}."
            )
        if self.zero_stage is not None and not 0 <= self.zero_stage <= 3:
            raise InputError(f"RunLayout.zero_stage must be from 0 to 3, got {self.zero_stage}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareStack:
    """The software that ran it, beside the name of the framework.

    Attributes:
        container: its release, `26.04`.
        compiled: whether a compiler made the kernels.
        graphs: whether kernels were launched as graphs.
        attention: generation of the fused attention kernel; None if there is none or not known.
    """

    container: str = ""
    compiled: bool | None = None
    graphs: bool | None = None
    attention: AttentionKernel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """One row of a table of measurements: a configuration and one measured quantity.

    Attributes:
        id: unique within a table.
        source_id: who published it.
        source_kind: `fetched`, `page`, or `memory` (written down from memory, never scored).
        table: kind of table that it stands in.
        subject: what was measured.
        measured: seconds, bytes, samples/s or a fraction; None if not stated.
        token_rate: tokens per second of the whole job, where no step time is stated.
        framework: training software.
        stack: what else is known of the software.
        date: of the measurement or its publication, year first.
        task: pre-training, fine-tuning, ...
        network: what was trained.
        place: where.
        layout: how.
        message: what a collective moved; None unless its time is measured.
        global_batch: samples per step.
        precision: of matrix products, in the source's words.
        linear_precision: of linear layers, where only the notes of the source tell it.
        optimizer: how gradients become updates, where it is not the usual one.
        out_of_memory: whether the run failed for want of memory.
        check: what is wrong with the row; empty if nothing is known to be.
        doubt: why it says little of a healthy step, though its numbers are right; nothing is fitted
            to such a row.
        repeat: group of runs of the same configuration; empty if there is one run.
        notes: whatever else the source says.
    """

    id: str
    source_id: str
    source_kind: str = ""
    table: TableKind
    subject: Subject
    measured: float | None
    token_rate: float | None = None
    framework: str = ""
    stack: SoftwareStack = SoftwareStack()
    date: str = ""
    task: str = ""
    network: TrainedNetwork
    place: Place = Place()
    layout: RunLayout = RunLayout()
    message: CollectiveMessage | None = None
    global_batch: int | None = None
    precision: str = ""
    linear_precision: str = ""
    optimizer: str = ""
    out_of_memory: bool = False
    check: str = ""
    doubt: str = ""
    repeat: str = ""
    notes: str = ""

    def __post_init__(self) -> None:
        if not self.id or not self.source_id:
            raise InputError("MeasuredRun needs an id and a source_id.")
        if self.measured is not None and not self.measured > 0:
            raise InputError(f"MeasuredRun '{self.id}': measured must be above 0.")

    @property
    def may_be_fitted(self) -> bool:
        """Whether coefficients may learn from it: its numbers mean what their names say."""
        whole = self.network.fill in (None, 1.0) and not self.out_of_memory
        return whole and not self.check and not self.doubt and self.source_kind != "memory"

    @property
    def year(self) -> int | None:
        """Year of the measurement; None if not stated."""
        digits = self.date[:4]
        return int(digits) if len(digits) == 4 and digits.isascii() and digits.isdigit() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRow:
    """A row that is not predicted, because a cell or its form cannot be read.

    Attributes:
        line: where it begins in its file, the first line being 1; 0 where another file is at fault.
        id: the row's, or its line where that cannot be read either.
        source_id: who published it; may be empty.
        subject: what its table measures.
        reason: every problem of the row, with its line.
    """

    line: int
    id: str
    source_id: str
    subject: Subject
    reason: str
