"""Pools: which devices are free, and which of them a job gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from math import ceil
from typing import Protocol

from foretrain.cluster.mixed import Fleet
from foretrain.jobs.active import HeldDevices

ROUNDING = 1e-9
"""Share of a fluid's part by which floats may miss it."""


class Pool(Protocol):
    """The devices of a fleet that nobody holds."""

    @property
    def down(self) -> Mapping[str, int]:
        """Devices of nodes that are down, by kind; another object after every change."""
        ...

    def free(self, kinds: tuple[str, ...]) -> float:
        """Free devices of some kinds; of all where none is named."""
        ...

    def has(self, devices: float, kinds: tuple[str, ...]) -> bool:
        """Whether a job could have devices now."""
        ...

    def enough(
        self, devices: float, kinds: tuple[str, ...], held: Iterable[HeldDevices]
    ) -> int | None:
        """How many of some jobs must give devices back, in turn, until a job could have its own.

        None where all of them are too few.
        """
        ...

    def remove(self, held: HeldDevices) -> None:
        """Undo a `give`."""
        ...

    def copy(self) -> Pool:
        """The same devices, of which some may be given and taken to see what would be."""
        ...

    def take(self, devices: float, kinds: tuple[str, ...]) -> HeldDevices | None:
        """Devices of one kind for a job, or None where they cannot be had."""
        ...

    def again(self, held: HeldDevices) -> bool:
        """Take the very devices that were given back; False where not all of them are free."""
        ...

    def give(self, held: HeldDevices) -> None:
        """Devices back."""
        ...


class CountedPool:
    """Devices that are told apart by kind alone: a job gets any, packed on as few nodes as can be.

    A job that may use several kinds gets the first of its kinds, or of the fleet, that has enough.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._free = {each.kind: float(each.count * each.devices) for each in fleet.nodes}
        self._per_node = {each.kind: each.devices for each in fleet.nodes}
        self._all = tuple(self._free)
        self._left = float(fleet.devices)
        self.down: Mapping[str, int] = {}

    def free(self, kinds: tuple[str, ...]) -> float:
        """Free devices of some kinds; of all where none is named."""
        return sum(self._free.get(kind, 0) for kind in kinds) if kinds else self._left

    def has(self, devices: float, kinds: tuple[str, ...]) -> bool:
        """Whether some kind has enough."""
        least = devices * (1.0 - ROUNDING)
        return any(self._free.get(kind, 0) >= least for kind in kinds or self._all)

    def enough(
        self, devices: float, kinds: tuple[str, ...], held: Iterable[HeldDevices]
    ) -> int | None:
        """How many of some jobs must give their devices back until a kind has enough."""
        free = {kind: self._free.get(kind, 0.0) for kind in kinds or self._all}
        least = devices * (1.0 - ROUNDING)
        for count, each in enumerate(held, start=1):
            if each.kind in free:
                free[each.kind] += each.devices
                if free[each.kind] >= least:
                    return count
        return None

    def remove(self, held: HeldDevices) -> None:
        """Devices that were given are held again."""
        self._free[held.kind] -= held.devices
        self._left -= held.devices

    def copy(self) -> CountedPool:
        """As many free devices."""
        other = copy(self)
        other._free = dict(self._free)
        return other

    def take(self, devices: float, kinds: tuple[str, ...]) -> HeldDevices | None:
        """Devices of one kind for a job, or None where no kind has enough."""
        for kind in kinds or self._all:
            if self._free.get(kind, 0) >= devices * (1.0 - ROUNDING):
                self._free[kind] -= devices
                self._left -= devices
                return HeldDevices(kind, devices, ceil(devices / self._per_node[kind]))
        return None

    def again(self, held: HeldDevices) -> bool:
        """As many devices of the same kind, for they are not told apart."""
        return self.take(held.devices, (held.kind,)) is not None

    def give(self, held: HeldDevices) -> None:
        """Devices back."""
        self._free[held.kind] += held.devices
        self._left += held.devices
