"""Coefficients of a device: what its kernels reach, and what memory is taken beside a model.

Fused attention: what its kernels reach of the peak, generation by generation.

Convolutional networks: what kernels over pictures reach, and what steps lose between them.

Matrix products: what they reach of the peak.

Memory traffic of kernels that only move data.

The host: what it starts and what it updates.

Memory that is taken beside what operators keep and parameters need.

A whole job: start, failures, caches.

A whole step: what one run of somebody's own says of all others of the same software.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import pairwise

from foretrain.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedAttention:
    """Fused attention: what its kernels reach of the peak in the forward pass.

    Attributes:
        first: kernels of the first generation.
        second: of the second one, on devices whose matrix units they were written for.
        asynchronous: of the third generation and of cuDNN, on devices with asynchronous units.
        legacy: share of its peak that a device with asynchronous units gives to other kernels.
        backward: what the backward pass reaches over what the forward pass does.
    """

    first: float
    second: float
    asynchronous: float
    legacy: float
    backward: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Kernels over pictures, and the steps that they make up.

    Attributes:
        sustained: convolutions on the tensor cores of an A100 over its best matrix product measured
            alone; on units that do less a clock, more.
        earliest: share of that which the first matrix units (without bf16) keep.
        young: share of their later rate that convolutions lack on the day when a device appears.
        plain: convolutions of plain fp32 over the best product, on 128 cores a processor; on fewer,
            more.
        winograd: what Winograd's algorithm saves where windows are 3 x 3, as a factor.
        grouped: time of grouped convolutions over what their tiles say.
        feed: bandwidth of a device's last cache over that of its memory.
        relaid: traffic of laying pictures out anew for tensor cores, over once there and back.
        depthwise: windows of single channels, forward, over the peak of ordinary fp32.
        depthwise_backward: time of one of their gradients over that of their forward pass.
        eager: norms and other simple kernels of an eager framework over the data sheet's
            bandwidth.
        graph: the same of a runtime that knows the graph, over that of an eager framework.
        tuned: what kernels that were written for a benchmark reach of the data sheet's bandwidth.
        fused_graph: share of the kernels after norms of 16 bits that a runtime which knows the
            graph fuses with them.
        fused_tuned: share of the kernels that can be fused which are, in software tuned by hand or
            compiled whole.
        statistics: share of a norm's reading that tuned kernels do while they compute what it
            reads.
        statistics_compiled: the same where a compiler sees the whole network.
        drain: seconds that a kernel takes to fill a device and to leave it.
        unshrunk: share of a convolution's time that members which divide its channels still take.
    """

    sustained: float
    earliest: float
    young: float
    plain: float
    winograd: float
    grouped: float
    feed: float
    relaid: float
    depthwise: float
    depthwise_backward: float
    eager: float
    graph: float
    tuned: float
    fused_graph: float
    fused_tuned: float
    statistics: float
    statistics_compiled: float
    drain: float
    unshrunk: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureSteps:
    """Steps of trainings on pictures: what they lose beside their kernels.

    Attributes:
        eager: seconds of a step in which an eager framework starts nothing: input, loss, optimizer.
        graph: the same of a runtime that is called once a step.
        tuned: the same of a benchmark's code.
        eager_wait: seconds in which replicas agree on what to reduce, once a step.
        graph_wait: the same of a runtime whose reductions a coordinator calls.
        tuned_wait: the same of a benchmark's code.
        straggling: standard deviation of one replica's passes over their mean.
    """

    eager: float
    graph: float
    tuned: float
    eager_wait: float
    graph_wait: float
    tuned_wait: float
    straggling: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Matrix products: what they reach of the peak.

    Attributes:
        sustained: matrix products inside a training over the best one measured alone.
        best: best measured matrix product over the peak, for devices without a measurement.
        earliest: share of that which the first matrix units (without bf16) keep.
        asynchronous: share of that which asynchronous matrix units keep.
        fp8: share of their peak that fp8 products keep, over the same share of 16 bits.
        fp4: the same for fp4.
        experts: share of what other products reach that those of experts keep.
        fp32: share of their peak that products of plain fp32 keep.
        tf32: share of their peak that tf32 products keep, over the same share of 16 bits.
    """

    sustained: float
    best: float
    earliest: float
    asynchronous: float
    fp8: float
    fp4: float
    experts: float
    fp32: float
    tf32: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTraffic:
    """Memory traffic of kernels that only move data.

    Attributes:
        sustained: memory traffic of simple kernels over the data sheet's bandwidth, of a device
            like an A100 80GB.
        eager: what operations one by one move, and how many kernels they are, over fused ones.
        graph: the same of a runtime that runs a graph operator by operator.
        compiled: the same where a compiler makes kernels of chains of operators.
        wide: share of what software without kernels of its own moves in 4 bytes beside products of
            16 bits.
        stretched: what kernels reach of that for operands of two widths, or stretched or strided.
        scanned: what scans of state-space layers reach of what limits them.
    """

    sustained: float
    eager: float
    graph: float
    compiled: float
    wide: float
    stretched: float
    scanned: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    """The host: what it starts and what it updates.

    Attributes:
        launch: seconds of a call that an interpreter makes: the module around it, dispatch, what
            autograd notes, and the start of a kernel where there is one; as long on the way back.
        graph_launch: seconds in which a runtime that knows the graph before it runs starts an
            operator.
        kernel: seconds in which compiled code starts one more kernel of the same call.
        exchange: seconds in which a collective is called, beside what it takes on the wire.
        checkpoint: seconds beside its operators that a layer takes which is computed again: random
            states kept and restored, its inputs taken out of the graph.
        gap: seconds that a device loses between two kernels however far ahead the host is.
        spread: standard deviation of what a process takes for one layer, over its mean.
        memory: share of its memory's bandwidth that a host's processors reach in an update.
    """

    launch: float
    graph_launch: float
    kernel: float
    exchange: float
    checkpoint: float
    gap: float
    spread: float
    memory: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """Memory that is taken beside what operators keep and parameters need.

    Attributes:
        reserve: bytes outside the framework's allocator: context, libraries, communication.
        fragmentation: what the allocator holds and cannot hand out, over what it has handed out.
        temporaries: what passes through a layer at the peak, over what a micro-batch keeps.
    """

    reserve: float
    fragmentation: float
    temporaries: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryErrors:
    """Percentiles of log(measured / predicted) memory, of runs that were not fitted to.

    One group is of software of which is known what each operation keeps, another of all other.

    Attributes:
        p02: 2nd percentile.
        p10: 10th percentile.
        p50: median.
        p90: 90th percentile.
        p98: 98th percentile.
    """

    p02: float
    p10: float
    p50: float
    p90: float
    p98: float

    def __post_init__(self) -> None:
        values = astuple(self)
        if any(not first < second for first, second in pairwise(values)):
            raise InputError(f"MemoryErrors: percentiles must grow, got {values}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTimes:
    """A whole job: start, failures, caches.

    Attributes:
        cache_share: share of a host's memory that can hold samples of the data set.
        node_start: mean seconds from a granted node to its running processes.
        node_start_spread: standard deviation of that over its mean.
        rank_start: seconds that each process adds to the time until all have found one another.
        warm_up: seconds between then and the first step at full speed.
        detection: seconds from a failure to the decision to restart.
    """

    cache_share: float
    node_start: float
    node_start_spread: float
    rank_start: float
    warm_up: float
    detection: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFactor:
    """A whole step over what its parts say.

    Attributes:
        factor: time of everything that devices, links and hosts do, over what the rest says of it.
        spread: standard deviation of the passes of one of many replicas over their mean.
    """

    factor: float
    spread: float
