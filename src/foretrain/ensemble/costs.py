"""Costs and rates of an ensemble's members, measured or carried on.

What is measured before anything is shared: samples, cores, exchanges, watts.

Rates: how quickly a member goes on a number of devices, measured or carried on.

FleetTerms: the members of an ensemble, how quickly each can go, and what limits them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.measured.members import Ensemble, Member


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCosts:
    """What one sample costs a member and whoever prepares it.

    Attributes:
        demand: samples per second that a member trains on if its next batch is always there.
        prepare: core-seconds to read and prepare a sample, one core at work: what can be shared.
        train: core-seconds that a member's own step takes of the host per sample, one core at work.
        sample_bytes: bytes of a prepared sample.
        batch: samples of one step.

    Source: pittman2018, the demand r_c and the preprocessing rate r_p.
    """

    demand: float
    prepare: float
    train: float
    sample_bytes: float
    batch: int

    def __post_init__(self) -> None:
        _check(self, above=("demand", "prepare", "sample_bytes"), least=("train",))
        if not self.batch >= 1:
            raise InputError(f"MeasuredCosts.batch must be at least 1 sample, got {self.batch}.")

    @property
    def shareable(self) -> float:
        """Shareable over private CPU time of a sample: the k of the saving (k + 1)/(k/n + 1)."""
        return self.prepare / self.train if self.train else inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """Processor cores that a node gives to an ensemble.

    Attributes:
        count: cores that may be used at once; a limit below what the node has is allowed.
        contention: share of its time alone by which work slows down per further core in use, as
            cores share units, caches and memory.
        by_session: whether the kernel deals cores out to sessions first, so that a stream, which
            is a session of its own, gets as much as all its readers.

    Source: amdahl1967 for the form: c cores do the work of c / (1 + contention (c - 1)).
    """

    count: int
    contention: float = 0.0
    by_session: bool = False

    def __post_init__(self) -> None:
        if not self.count >= 1:
            raise InputError(f"Cores.count must be at least 1, got {self.count}.")
        if not 0 <= self.contention < 1:
            raise InputError(
                f"Cores.contention must be at least 0 and below 1, got {self.contention}."
            )

    @property
    def slowing(self) -> float:
        """Core-seconds that work takes here per core-second of one core alone, all cores in use."""
        return self.slowed(self.count)

    def slowed(self, busy: float) -> float:
        """The same with so many cores in use on average, at least 1 and at most all.

        Args:
            busy: cores in use, if none slowed another.
        """
        return 1.0 + self.contention * (min(float(self.count), max(1.0, busy)) - 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeCosts:
    """How nodes hand samples to each other.

    Attributes:
        byte_time: seconds in which the one thread that does the collectives sends, receives or
            copies a byte; it is busy meanwhile.
        bandwidth: bytes per second of a node's link in one direction; inf if the thread is slower.
        latency: seconds that a message takes at least.
        block: batches that each preparer brings to a collective.
        queue: batches that each queue between two stages holds.
    """

    byte_time: float
    bandwidth: float = inf
    latency: float = 0.0
    block: float = 1.0
    queue: float = 10.0

    def __post_init__(self) -> None:
        _check(self, above=("bandwidth", "block", "queue"), least=("byte_time", "latency"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Watts:
    """What a node draws above idle.

    Attributes:
        core: watts of one busy core.
        device: watts of the busy device that trains, beyond what it draws while it waits.
        running: watts as soon as anything runs, however busy it is: clocks that stay up, memory,
            fans, a device that waits for samples with its clocks up.
        most: watts at which the node is capped; inf if it is not.
    """

    core: float
    device: float
    running: float = 0.0
    most: float = inf

    def __post_init__(self) -> None:
        _check(self, above=("most",), least=("core", "device", "running"))

    def drawn(self, cores: float, devices: float) -> float:
        """Watts above idle of a node at work with so many cores and devices busy on average."""
        return min(self.most, self.running + self.core * cores + self.device * devices)


def _check(noun: object, *, above: tuple[str, ...] = (), least: tuple[str, ...] = ()) -> None:
    """Refuse values that are not above 0, or not at least 0, all of them at once."""
    kind = type(noun).__name__
    wrong = [
        f"{kind}.{name} must be above 0, got {getattr(noun, name)}."
        for name in above
        if not getattr(noun, name) > 0
    ]
    wrong += [
        f"{kind}.{name} must be at least 0, got {getattr(noun, name)}."
        for name in least
        if not 0 <= getattr(noun, name) < inf
    ]
    if wrong:
        raise InputError("\n".join(wrong))


def profile_counts(members: Sequence[Member], devices_per_node: int) -> range:
    """Numbers of devices on which rates are to be measured.

    On the largest of them the slowest member keeps up with the quickest one on a single device,
    if its rate grows with its devices; and it lies on at least two nodes.

    Args:
        members: whose rates on one device are known.
        devices_per_node: of each node.

    Source: guan2020, profiling: 1 to max(ceil(r_max / r_min), 2 GPUs per node).
    """
    rates = [member.rate for member in members]
    return range(1, max(ceil(max(rates) / min(rates)), 2 * devices_per_node) + 1)


def extrapolated(rates: Sequence[float], devices: int, *, base: int) -> float:
    """Samples per second on more devices than were measured.

    What a device does falls by the same factor with each further device, the factor of the last
    device of the base.

    Args:
        rates: samples per second on 1, 2, ... devices, at least as far as `base`.
        devices: a number above the base.
        base: number of devices from which on the factor holds, at least 2.

    Source: guan2020, r(m) = m r(Mb)/Mb (r(Mb)/r(Mb-1) (Mb-1)/Mb)^(m-Mb), Mb = 2 GPUs per node.
    """
    last, before = rates[base - 1], rates[base - 2]
    fall = last / before * (base - 1) / base
    return float(devices * last / base * fall ** (devices - base))


def rates_on(member: Member, most: int, *, devices_per_node: int) -> tuple[float, ...]:
    """Samples per second of a member on 1, 2, ... devices, up to `most` of them.

    Where fewer than two nodes were measured there is nothing to carry on from: the member then runs
    on no more devices than were measured.

    Args:
        member: with its measured rates.
        most: devices at most.
        devices_per_node: of each node.
    """
    measured, base = member.rates[:most], 2 * devices_per_node
    if len(member.rates) < base:
        return measured
    further = range(len(measured) + 1, most + 1)
    return measured + tuple(extrapolated(member.rates, each, base=base) for each in further)


Deal = Mapping[int, int]
"""Devices of each member that trains, by its place in the ensemble."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FleetTerms:
    """An ensemble and the limits under which it trains.

    Attributes:
        ensemble: members and devices.
        checkpoint: seconds in which nothing trains when devices are dealt out again.
        stream: samples per second that one shared pipeline delivers at most; inf without a limit.
        host: samples per second that the host of one node prepares at most, for all its members
            that do not share together; inf without a limit.
        tolerance: samples per second by which rates in one flotilla may differ. Source: guan2020.
        rates: samples per second of each member on 1, 2, ... devices with samples at hand.
        table: no more than the stream's, with a row per member, nan where it cannot run.
    """

    ensemble: Ensemble
    checkpoint: float = 0.0
    stream: float = inf
    host: float = inf
    tolerance: float = 20.0
    rates: tuple[tuple[float, ...], ...] = field(init=False)
    table: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.checkpoint < inf:
            raise InputError(f"FleetTerms.checkpoint must be at least 0 s, got {self.checkpoint}.")
        if not self.stream > 0:
            raise InputError(f"FleetTerms.stream must be above 0 samples/s, got {self.stream}.")
        if not self.host > 0:
            raise InputError(f"FleetTerms.host must be above 0 samples/s, got {self.host}.")
        if not self.tolerance >= 0:
            raise InputError(f"FleetTerms.tolerance must be at least 0, got {self.tolerance}.")
        rates = tuple(
            rates_on(each, self.devices, devices_per_node=self.ensemble.devices_per_node)
            for each in self.ensemble.members
        )
        object.__setattr__(self, "rates", rates)
        table = np.full((len(rates), self.devices), np.nan)
        for row, known in zip(table, rates, strict=True):
            row[: len(known)] = known
        object.__setattr__(self, "table", np.minimum(table, self.stream))

    @property
    def devices(self) -> int:
        """Devices in all."""
        return self.ensemble.devices

    @property
    def work(self) -> dict[int, float]:
        """Samples that each member trains on until it ends."""
        members = self.ensemble.members
        return {place: self.ensemble.work(member) for place, member in enumerate(members)}

    def rate(self, place: int, devices: int) -> float:
        """Samples per second of a member that shares; 0 on more devices than it can use."""
        known = self.rates[place]
        return min(self.stream, known[devices - 1]) if devices <= len(known) else 0.0

    def pace(self, deal: Deal) -> float:
        """Samples per second of members in step on one stream: those of the slowest."""
        return min(self.rate(place, count) for place, count in deal.items())
