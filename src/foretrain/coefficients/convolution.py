"""Convolutional networks: what kernels over pictures reach, and what steps lose between them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Kernels over pictures, and the steps that they make up.

    Attributes:
        sustained: convolutions on tensor cores over the best matrix product measured alone.
        plain: convolutions of plain fp32 over the peak.
        winograd: what Winograd's algorithm saves where windows are 3 x 3, as a factor.
        grouped: time of grouped convolutions over what their tiles say.
        feed: bandwidth of a device's last cache over that of its memory.
        relaid: traffic of laying pictures out anew for tensor cores, over once there and back.
        depthwise: windows of single channels, forward, over the peak of ordinary fp32.
        depthwise_backward: time of one of their gradients over that of their forward pass.
        eager: norms and other simple kernels of an eager framework over the data sheet's
            bandwidth.
        graph: the same of a runtime that knows the graph.
        tuned: the same of kernels that were written for a benchmark.
        fused_graph: share of the kernels that can be fused which such a runtime fuses.
        fused_tuned: the same of software tuned by hand or compiled whole.
        statistics: share of a norm's reading that tuned kernels do while they compute what it
            reads.
        statistics_compiled: the same where a compiler sees the whole network.
        drain: seconds that a kernel takes to fill a device and to leave it.
    """

    sustained: float
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
