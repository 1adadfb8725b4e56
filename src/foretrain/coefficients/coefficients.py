"""The coefficients of a prediction: one group for each idea.

A calibration: a set of coefficients with what speaks for each.

One coefficient: a value and what speaks for it.

Protocols: how a collective library hands messages on, short ones and long ones.

Links: what collectives reach of their nominal bandwidth, and what they wait for.

Overlap: what may run beside compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cache, cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import Any, get_type_hints

from foretrain.cluster.device import Technology
from foretrain.coefficients.device import (
    FusedAttention,
    HostWork,
    JobTimes,
    KernelTraffic,
    Matrix,
    MemoryErrors,
    Pictures,
    PictureSteps,
    Reserve,
    StepFactor,
)
from foretrain.coefficients.uncertainty import NOTHING, Covers, PlanErrors, Uncertainty
from foretrain.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocols:
    """Protocols: how a collective library hands messages on, short ones and long ones.

    Long messages go in pieces by its simple protocol, whose start is `Links.start` and whose hops
    take the latencies of the cluster. Two quicker ones, LL and LL128, send flags along with the
    data: receivers wait for no other signal, and links carry less.

    Attributes:
        ll_start: seconds before the first message, flags with every 8 bytes (LL).
        ll_hop: share of a hop's latency that is left to a ring over NVLink.
        ll_share: share of the bandwidth that is left to a ring.
        ll_between: least seconds that a byte by LL takes out of one of two nodes.
        ll128_start: seconds before the first message, flags with every 128 bytes (LL128).
        ll128_hop: share of a hop's latency that is left to a ring over NVLink.
        ll128_share: share of the bandwidth that is left to a ring.
        piece: bytes of a message that a member receives before it hands them on, simple protocol.
        switch_hop: seconds of a hop into switches that add up, or out of them.
        ethernet_hop: latency of a hop over Ethernet, over the one that the cluster states.
        unordered_hop: the same over Ethernet that delivers out of order (EFA).
        rccl_wait: starts and latencies of RCCL, AMD's library, over those of NCCL.
    """

    ll_start: float
    ll_hop: float
    ll_share: float
    ll_between: float
    ll128_start: float
    ll128_hop: float
    ll128_share: float
    piece: float
    switch_hop: float
    ethernet_hop: float
    unordered_hop: float
    rccl_wait: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferErrors:
    """Transfer errors: how far off are transfer times on machines that were not fitted to.

    Logarithms of a factor up and down within which 80 % of them lie; the two add up like errors of
    their own.

    Attributes:
        moving: where bytes alone take time.
        waiting: what starts and hops add where they alone take time; less by the root of their
            share of it.
    """

    moving: float
    waiting: float


NEAREST_LINK: Mapping[Technology, Technology] = MappingProxyType(
    {
        Technology.INFINITY_FABRIC: Technology.NVLINK,
        Technology.ICI: Technology.NVLINK,
    }
)
"""Links that nobody measured for us, and those whose efficiency stands for theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Links: what collectives reach of their nominal bandwidth, and what they wait for.

    Attributes:
        nvlink: collectives' bandwidth over the nominal one, NVLink.
        pcie: the same for PCIe.
        infiniband: the same for InfiniBand.
        ethernet: the same for Ethernet.
        custom: the same for fabrics of one maker.
        in_network: share of that which switches reach when they add up what they pass on.
        start: seconds before a collective's first message.
        launch: seconds that a host takes to call a collective on one device.
        staged: seconds that a byte of a message between neighbours takes longer where the framework
            takes it through the memory of the host; 0 from device to device. So do gradients that
            members of a grid add up.
        staged_start: seconds that such a message starts later.
        staged_sum: seconds that a byte of gradients takes longer where the host adds it up.
    """

    nvlink: float
    pcie: float
    infiniband: float
    ethernet: float
    custom: float
    in_network: float
    start: float
    launch: float
    staged: float
    staged_start: float
    staged_sum: float

    def share(self, technology: Technology) -> float:
        """Share of a link's nominal bandwidth that a collective reaches."""
        return float(getattr(self, NEAREST_LINK.get(technology, technology).value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Overlap: what may run beside compute.

    Attributes:
        gradients: share of the gradients' reduction that may run beside the backward pass.
        contention: share of a hidden exchange of parameters by which it slows compute beside it.
        tensor: share of the tensor axis' exchanges that may run beside the products they belong to.
        experts: share of the exchanges of experts that may run beside other compute of the layer.
    """

    gradients: float
    contention: float
    tensor: float
    experts: float


class Origin(StrEnum):
    """Where a value comes from."""

    MEASURED = "measured"
    """Fitted to published runs, whose row ids are listed."""
    PUBLISHED = "published"
    """Measured or stated by somebody else; "from memory" where it was not read again."""
    ASSUMED = "assumed"
    """Nobody measured it for us yet, and the interval says how little we know."""
    GIVEN = "given"
    """Given by the caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """A value and where it comes from.

    Attributes:
        value: in `unit`.
        unit: "1" for a ratio.
        low: tenth percentile of what is plausible; a given value's is the value itself.
        high: ninetieth percentile.
        kind: where it comes from.
        source: key in references.bib and where in it, or the command of the fit.
        rows: ids of the measured rows that it was fitted to.
    """

    value: float
    unit: str
    low: float
    high: float
    kind: Origin
    source: str
    rows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise InputError(
                f"a coefficient must lie in its interval, got {self.value:g} "
                f"for {self.low:g} to {self.high:g}."
            )
        if (self.kind is Origin.MEASURED) != bool(self.rows):
            raise InputError("a measured coefficient, and only such a one, lists its rows.")


def given(value: float, known: Coefficient) -> Coefficient:
    """A value that the caller gave in place of a known one."""
    return Coefficient(
        value=value,
        unit=known.unit,
        low=value,
        high=value,
        kind=Origin.GIVEN,
        source="given with the question",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """One set of values.

    Two sets of one name, the same values and the same coverage are equal, whatever they know of
    their sources.

    Attributes:
        name: the set's version.
        known: what speaks for each value, as the `Calibration` says that the set is read from.
        covers: the runs that the values were fitted to.
    """

    name: str
    matrix: Matrix
    attention: FusedAttention
    traffic: KernelTraffic
    pictures: Pictures
    picture_steps: PictureSteps
    host: HostWork
    links: Links
    protocols: Protocols
    transfer_errors: TransferErrors
    overlap: Overlap
    memory: Reserve
    memory_errors: MemoryErrors
    memory_errors_eager: MemoryErrors
    job: JobTimes
    step: StepFactor
    uncertainty: Uncertainty
    plan_errors: PlanErrors
    known: Mapping[str, Coefficient] = field(default_factory=dict, compare=False, repr=False)
    covers: Covers = NOTHING

    def value(self, name: str) -> float:
        """A value by its name (`links.nvlink`)."""
        return float(_of(name)(self))

    @property
    def sources(self) -> Mapping[str, Coefficient]:
        """Where each value comes from; one that was changed was given by the caller."""
        return {
            name: it if it.value == value else given(value, it)
            for name, it in self.known.items()
            for value in (self.value(name),)
        }

    def changed(self, values: Mapping[str, float]) -> Coefficients:
        """The same with other values, by name (`links.nvlink`)."""
        groups: dict[str, dict[str, float]] = {}
        for name, value in values.items():
            group, field = name.split(".")
            groups.setdefault(group, {})[field] = value
        return replace(
            self,
            **{group: replace(getattr(self, group), **inside) for group, inside in groups.items()},
        )


_of = cache(attrgetter)
"""What reads a value by its name."""

BESIDE = ("name", "known", "covers")
"""What a set has beside its groups."""

GROUPS: Mapping[str, type[Any]] = {
    name: kind for name, kind in get_type_hints(Coefficients).items() if name not in BESIDE
}


def names() -> Iterator[str]:
    """The names of all coefficients, group by group (`links.nvlink`)."""
    for group, kind in GROUPS.items():
        yield from (f"{group}.{field.name}" for field in fields(kind))


def _before_eager(values: Mapping[str, float]) -> dict[str, float]:
    """What a set says of errors of memory that does not tell software apart yet."""
    known = ((each.name, values.get(f"memory_errors.{each.name}")) for each in fields(MemoryErrors))
    return {f"memory_errors_eager.{name}": it for name, it in known if it is not None}


def coefficients_of(name: str, values: Mapping[str, float]) -> Coefficients:
    """A set from all its values by name.

    Raises:
        InputError: a value is missing or unknown.
    """
    known = tuple(names())
    values = {**_before_eager(values), **values}
    missing = [each for each in known if each not in values]
    unknown = [each for each in values if each not in known]
    if missing or unknown:
        raise InputError(
            f"coefficients '{name}': missing {', '.join(missing) or 'none'}; "
            f"unknown {', '.join(unknown) or 'none'}."
        )
    groups = {
        group: kind(**{field.name: values[f"{group}.{field.name}"] for field in fields(kind)})
        for group, kind in GROUPS.items()
    }
    return Coefficients(name=name, **groups)


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A set of coefficients with its sources.

    Attributes:
        name: the set's version.
        date: when it was made, year first.
        known: every coefficient by name (`links.nvlink`).
        covers: what it was fitted to.
    """

    name: str
    date: str
    known: Mapping[str, Coefficient]
    covers: Covers = NOTHING

    @cached_property
    def coefficients(self) -> Coefficients:
        """The values, which predictions read; they know where they come from."""
        values = {name: it.value for name, it in self.known.items()}
        made = coefficients_of(self.name, values)
        return replace(made, known=self.known, covers=self.covers)
