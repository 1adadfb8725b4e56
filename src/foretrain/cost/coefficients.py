"""Coefficients: how well hardware and software do what their data sheets promise.

The one place that holds them. Each has a unit, an interval, a source and a kind:

- measured: fitted here to published runs, whose row ids are listed;
- published: measured or stated by somebody else; "from memory" where we did not read it again;
- assumed: nobody measured it for us yet, and the interval says how little we know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from foretrain.cluster.link import Technology

NEAREST_LINK: Mapping[Technology, Technology] = MappingProxyType(
    {
        Technology.INFINITY_FABRIC: Technology.NVLINK,
        Technology.ICI: Technology.NVLINK,
        Technology.CUSTOM: Technology.INFINIBAND,
    }
)
"""Links that nobody measured for us, and those whose efficiency stands for theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """One set of values; `SOURCES` says where each comes from.

    Attributes:
        name: the set's version.
        matmul_sustained: matrix products inside a training over the best one measured alone.
        matmul_best: best measured matrix product over the peak, for devices without a measurement.
        fp8_sustained: share of their peak that fp8 products keep, over the same share of 16 bits.
        fp4_sustained: the same for fp4.
        memory_sustained: memory traffic of simple kernels over the data sheet's bandwidth.
        flash_forward: fused attention, forward, over the peak.
        flash_backward: fused attention, backward, over the peak.
        host_memory: share of its memory's bandwidth that a host's processors reach in an update.
        launch: seconds between the starts of two kernels that have nothing to do.
        nvlink: collectives' bandwidth over the nominal one, NVLink.
        pcie: the same for PCIe.
        infiniband: the same for InfiniBand.
        ethernet: the same for Ethernet.
        in_network: share of that which switches reach when they add up what they pass on.
        collective_start: seconds before a collective's first message.
        gradient_overlap: share of the gradients' reduction that may run beside the backward pass.
        memory_reserve: bytes that driver, libraries and allocator take from a device.
        cache_share: share of a host's memory that can hold samples of the data set.
        node_start: mean seconds from a granted node to its running processes.
        node_start_spread: standard deviation of that over its mean.
        rank_start: seconds that each process adds to the time until all have found one another.
        warm_up: seconds between then and the first step at full speed.
        detection: seconds from a failure to the decision to restart.
        time_uncertainty: half-width of the interval of a step's time, as a fraction.
        memory_uncertainty: half-width of the interval of the memory, as a fraction.
    """

    name: str
    matmul_sustained: float
    matmul_best: float
    fp8_sustained: float
    fp4_sustained: float
    memory_sustained: float
    flash_forward: float
    flash_backward: float
    host_memory: float
    launch: float
    nvlink: float
    pcie: float
    infiniband: float
    ethernet: float
    in_network: float
    collective_start: float
    gradient_overlap: float
    memory_reserve: float
    cache_share: float
    node_start: float
    node_start_spread: float
    rank_start: float
    warm_up: float
    detection: float
    time_uncertainty: float
    memory_uncertainty: float

    def link(self, technology: Technology) -> float:
        """Share of a link's nominal bandwidth that a collective reaches."""
        return float(getattr(self, NEAREST_LINK.get(technology, technology).value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a coefficient comes from.

    Attributes:
        value: in `unit`.
        unit: "1" for a ratio.
        low: lower end of what is plausible.
        high: upper end.
        kind: measured, published, assumed, or given by the caller.
        source: key in references.bib and where in it, or the fit's command.
        rows: ids of the measured rows that it was fitted to.
    """

    value: float
    unit: str
    low: float
    high: float
    kind: str
    source: str
    rows: tuple[str, ...] = ()


MPT_ROWS = tuple(f"mpt-{row:04d}" for row in range(81, 114))
"""Single-node A100 80GB rows of models of a billion parameters and more."""

CALIBRATED_DEVICES = frozenset({"a100-sxm-80gb"})
"""Devices that the measured coefficients were fitted on."""

CALIBRATED_PARAMETERS = (1.2e9, 31e9)
"""Sizes of the models that they were fitted on."""

NEAREST_SOURCE = "mpt: dense decoders of 1 to 30 billion parameters on 8 A100 80GB"
"""The measurements nearest to any prediction of this set."""

SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "matmul_sustained": Source(
            value=0.869,
            unit="1",
            low=0.81,
            high=0.93,
            kind="measured",
            source="mpt, by validation/fit_compute.py",
            rows=MPT_ROWS,
        ),
        "matmul_best": Source(
            value=0.85,
            unit="1",
            low=0.7,
            high=0.95,
            kind="assumed",
            source="between the A100 (0.87) and the H100 (0.80) of bekman2024, accelerator chapter",
        ),
        "fp8_sustained": Source(
            value=0.85,
            unit="1",
            low=0.6,
            high=1.0,
            kind="assumed",
            source="half the time per tile leaves less room to hide loads and power limits clocks "
            "sooner; best fp8 products of an H100 reach about 1400 of 1979 TFLOP/s, bf16 about 800 "
            "of 989 (from memory)",
        ),
        "fp4_sustained": Source(
            value=0.75,
            unit="1",
            low=0.5,
            high=1.0,
            kind="assumed",
            source="as for fp8, with scales of every 16 values on top",
        ),
        "memory_sustained": Source(
            value=0.87,
            unit="1",
            low=0.80,
            high=0.92,
            kind="published",
            source="babelstream: Triad on an A100 80GB reaches about 1.77 of 2.04 TB/s (from "
            "memory, not read again)",
        ),
        "flash_forward": Source(
            value=0.356,
            unit="1",
            low=0.3,
            high=0.75,
            kind="measured",
            source="mpt, by validation/fit_compute.py; dao2023 reaches up to 0.73 with its kernel "
            "(from memory)",
            rows=MPT_ROWS,
        ),
        "flash_backward": Source(
            value=0.307,
            unit="1",
            low=0.25,
            high=0.63,
            kind="measured",
            source="mpt, by validation/fit_compute.py; dao2023 reaches up to 0.63 with its kernel "
            "(from memory)",
            rows=MPT_ROWS,
        ),
        "host_memory": Source(
            value=0.45,
            unit="1",
            low=0.25,
            high=0.8,
            kind="published",
            source="ren2021, table 4: an update of 10 billion parameters in 2.57 s on two sockets "
            "of about 128 GB/s each (from memory, not read again)",
        ),
        "launch": Source(
            value=4e-6,
            unit="s",
            low=2e-6,
            high=1e-5,
            kind="assumed",
            source="order of magnitude of an empty kernel's turn on a busy stream",
        ),
        "nvlink": Source(
            value=0.80,
            unit="1",
            low=0.75,
            high=0.85,
            kind="published",
            source="nvidia-nccl, src/graph/topo.h: 20 of 25 GB/s per link on sm70 and sm80 "
            "(20.6 on sm90), from memory, not read again",
        ),
        "pcie": Source(
            value=0.75,
            unit="1",
            low=0.6,
            high=0.85,
            kind="published",
            source="nvidia-nccl, src/graph/topo.h: 12 of 16 GB/s for PCIe 3.0 x16 (from memory, "
            "not read again)",
        ),
        "infiniband": Source(
            value=0.92,
            unit="1",
            low=0.8,
            high=0.97,
            kind="assumed",
            source="packet headers and the adapter's own limits; large messages between two hosts "
            "reach somewhat more",
        ),
        "ethernet": Source(
            value=0.85,
            unit="1",
            low=0.6,
            high=0.95,
            kind="assumed",
            source="protocol overhead of TCP or RoCE over a well-kept switch",
        ),
        "in_network": Source(
            value=0.76,
            unit="1",
            low=0.65,
            high=0.9,
            kind="published",
            source="nvidia-nccl: nccl-tests report a bus bandwidth of about 480 GB/s for large "
            "all-reduces with NVLS on 8 H100, 274 of 360 GB/s (from memory, not read again)",
        ),
        "collective_start": Source(
            value=8.4e-6,
            unit="s",
            low=5e-6,
            high=2e-5,
            kind="published",
            source="nvidia-nccl, src/graph/tuning.cc: base latency, ring, Simple protocol (from "
            "memory, not read again)",
        ),
        "gradient_overlap": Source(
            value=0.9,
            unit="1",
            low=0.5,
            high=1.0,
            kind="assumed",
            source="share of the buckets that current data-parallel trainers reduce during the "
            "backward pass",
        ),
        "memory_reserve": Source(
            value=2.0 * 1024**3,
            unit="B",
            low=0.5 * 1024**3,
            high=5.0 * 1024**3,
            kind="assumed",
            source="context, library workspaces, communication buffers, fragmentation",
        ),
        "cache_share": Source(
            value=0.5,
            unit="1",
            low=0.2,
            high=0.8,
            kind="assumed",
            source="the rest is for processes, their buffers and the pinned memory of devices",
        ),
        "node_start": Source(
            value=30.0,
            unit="s",
            low=5.0,
            high=300.0,
            kind="assumed",
            source="container image on the node's own disk, imports of the framework",
        ),
        "node_start_spread": Source(
            value=0.3,
            unit="1",
            low=0.1,
            high=1.0,
            kind="assumed",
            source="disks and file servers that many nodes ask at once",
        ),
        "rank_start": Source(
            value=3e-3,
            unit="s",
            low=1e-3,
            high=0.5,
            kind="published",
            source="jiang2024, section 3.5: under 30 s for more than 10,000 devices, and 1047 s "
            "for 2,048 before its changes: the upper end (from memory, not read again)",
        ),
        "warm_up": Source(
            value=60.0,
            unit="s",
            low=10.0,
            high=600.0,
            kind="assumed",
            source="compilation, first batches, choice of kernels; nothing at the lower end",
        ),
        "detection": Source(
            value=600.0,
            unit="s",
            low=30.0,
            high=1800.0,
            kind="published",
            source="pytorch, init_process_group: the time after which a collective of NCCL is "
            "given up (from memory, not read again). A watchdog of one's own is quicker",
        ),
        "time_uncertainty": Source(
            value=0.15,
            unit="1",
            low=0.05,
            high=0.3,
            kind="published",
            source="bang2024, section 5: 14.7 % mean error of an analytical simulator on unseen "
            "runs of up to 512 devices",
        ),
        "memory_uncertainty": Source(
            value=0.10,
            unit="1",
            low=0.05,
            high=0.3,
            kind="assumed",
            source="allocator and fragmentation; to be replaced by cross-validated residuals",
        ),
    }
)


def sources_of(coefficients: Coefficients) -> Mapping[str, Source]:
    """Where each value of a set comes from; one unlike the default's was given by the caller."""
    found = {}
    for name, source in SOURCES.items():
        value = getattr(coefficients, name)
        found[name] = (
            source
            if value == source.value
            else Source(
                value=value,
                unit=source.unit,
                low=value,
                high=value,
                kind="given",
                source="given with the question",
            )
        )
    return MappingProxyType(found)


DEFAULT = Coefficients(name="2026-11", **{name: source.value for name, source in SOURCES.items()})
