"""Members of an ensemble: models that train at once, over one stream of samples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil, inf, isfinite

from foretrain.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One model of an ensemble, as it was measured on its own with samples always at hand.

    Attributes:
        name: unlike those of the other members.
        batch: samples of one step, over all of its devices together.
        epochs: passes over the samples until it ends, or is believed to have converged.
        rates: samples per second on 1, 2, 3, ... devices, as far as measured; at least the first.
        memory: bytes that it holds on each of its devices, None where nobody said.
    """

    name: str
    batch: int
    epochs: float
    rates: tuple[float, ...]
    memory: float | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("Member.name is empty; give every member a name of its own.")
        if not self.batch >= 1:
            raise InputError(f"{self}: batch must be at least 1 sample, got {self.batch}.")
        if not 0 < self.epochs < inf:
            raise InputError(f"{self}: epochs must be above 0 and finite, got {self.epochs}.")
        if not (self.rates and all(0 < rate < inf for rate in self.rates)):
            raise InputError(
                f"{self}: rates must hold samples per second on 1, 2, ... devices, each above 0 "
                f"and finite, got {self.rates}. Measure at least the rate on one device."
            )
        if not (self.memory is None or (self.memory >= 0 and isfinite(self.memory))):
            raise InputError(f"{self}: memory must be at least 0 bytes, got {self.memory}.")

    @property
    def rate(self) -> float:
        """Samples per second on one device."""
        return self.rates[0]

    def __str__(self) -> str:
        return f"member '{self.name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """Members that train on the same samples, and the devices that they have for it.

    Attributes:
        members: at least one; where two are equally good, the earlier one goes first.
        samples: of one epoch; the same for all members.
        devices: in all, in nodes that are all full.
        devices_per_node: of each node.
        memory: bytes of one device; inf where memory is not to be looked at.
    """

    members: tuple[Member, ...]
    samples: int
    devices: int
    devices_per_node: int
    memory: float = inf

    def __post_init__(self) -> None:
        if not self.members:
            raise InputError("Ensemble.members is empty; an ensemble has at least one member.")
        if not self.samples >= 1:
            raise InputError(f"Ensemble.samples must be at least 1, got {self.samples}.")
        if not 1 <= self.devices_per_node <= self.devices or self.devices % self.devices_per_node:
            raise InputError(
                f"Ensemble.devices must fill whole nodes, got {self.devices} devices in nodes "
                f"of {self.devices_per_node}."
            )
        if not self.memory > 0:
            raise InputError(f"Ensemble.memory must be above 0 bytes, got {self.memory}.")
        counts = Counter(member.name for member in self.members)
        doubled = [
            f"Ensemble.members: {count} members are called '{name}'. Give each its own name."
            for name, count in counts.items()
            if count > 1
        ]
        too_large = [
            f"{each} says nothing of its memory. State it, or leave Ensemble.memory out."
            if each.memory is None
            else f"{each} holds {each.memory:.4g} bytes, and a device has {self.memory:.4g}. "
            "Give it a smaller batch, or a larger device."
            for each in self.members
            if self.memory < inf and not (each.memory is not None and each.memory <= self.memory)
        ]
        if problems := [*doubled, *too_large]:
            raise InputError("\n".join(problems))

    @property
    def nodes(self) -> int:
        """Nodes on which the devices lie."""
        return self.devices // self.devices_per_node

    def work(self, member: Member) -> float:
        """Samples that a member trains on until it ends, repeated ones counted."""
        return member.epochs * self.samples

    def steps(self, member: Member) -> float:
        """Steps of a member until it ends; the last one of an epoch may be short."""
        return member.epochs * ceil(self.samples / member.batch)
