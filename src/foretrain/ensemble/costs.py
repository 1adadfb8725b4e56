"""What is measured before anything is shared: samples, cores, exchanges, watts."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from foretrain.errors import InputError


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

    Source: amdahl1967 for the form: c cores do the work of c / (1 + contention (c - 1)).
    """

    count: int
    contention: float = 0.0

    def __post_init__(self) -> None:
        if not self.count >= 1:
            raise InputError(f"Cores.count must be at least 1, got {self.count}.")
        if not 0 <= self.contention < 1:
            raise InputError(
                f"Cores.contention must be at least 0 and below 1, got {self.contention}."
            )

    @property
    def slowing(self) -> float:
        """Core-seconds that work takes here per core-second of one core alone."""
        return 1.0 + self.contention * (self.count - 1)


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
        device: watts of the busy device that trains.
    """

    core: float
    device: float

    def __post_init__(self) -> None:
        _check(self, least=("core", "device"))

    def drawn(self, cores: float, devices: float) -> float:
        """Watts above idle with so many cores and devices busy on average."""
        return self.core * cores + self.device * devices


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
