"""Successive halving: who trains on after a comparison, and who gets what the others leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isnan

from foretrain.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RungShare:
    """What a member gets of the devices.

    Attributes:
        devices: whole devices of its own; 0 where several members share one.
        part: share of all devices, from 0 to 1.
    """

    devices: int
    part: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HalvingVerdict:
    """Who trains on after a comparison.

    Attributes:
        kept: names, the best first.
        stopped: names, the best first.
    """

    kept: tuple[str, ...]
    stopped: tuple[str, ...]

    def shares(self, devices: int) -> dict[str, RungShare]:
        """The devices of all, dealt out to those that train on."""
        return shares(self.kept, devices)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessiveHalving:
    """Members are compared at a few epochs; one of so many trains on.

    It keeps no state: the same scores give the same verdict, also after a restart.

    Attributes:
        rungs: epochs after which those that still train are compared, ascending.
        eta: members of which one is kept, at least 2; of fewer the best one is kept.

    Source: jamieson2016, algorithm 1, with eta in place of 2.
    """

    rungs: tuple[float, ...]
    eta: int = 2

    def __post_init__(self) -> None:
        if not self.rungs or not self.rungs[0] > 0:
            raise InputError(
                f"SuccessiveHalving.rungs must start above 0 epochs, got {self.rungs}."
            )
        if not all(before < later for before, later in pairwise(self.rungs)):
            raise InputError(f"SuccessiveHalving.rungs must ascend, got {self.rungs}.")
        if not self.eta >= 2:
            raise InputError(f"SuccessiveHalving.eta must be at least 2, got {self.eta}.")

    def after(self, rung: int, scores: Mapping[str, float]) -> HalvingVerdict:
        """Who trains on after a comparison.

        Args:
            rung: which of the comparisons, from 0.
            scores: of all that still train, such as the loss: the lowest is best. NaN is worst,
                equal ones are ordered by name.
        """
        if not 0 <= rung < len(self.rungs):
            raise InputError(
                f"SuccessiveHalving.after: rung {rung} does not exist; there are {len(self.rungs)},"
                " from 0."
            )
        if not scores:
            raise InputError(
                "SuccessiveHalving.after: no scores; give those of all that still train."
            )
        order = sorted(scores, key=lambda name: (*_rank(scores[name]), name))
        many = self.kept(len(order))
        return HalvingVerdict(kept=tuple(order[:many]), stopped=tuple(order[many:]))

    def kept(self, members: int) -> int:
        """How many of so many members train on."""
        return max(1, members // self.eta)

    def work(self, members: int, epochs: float) -> float:
        """Epochs that all members together train, when the last of them end after `epochs`."""
        total, done = 0.0, 0.0
        for rung in (rung for rung in self.rungs if rung < epochs):
            total += members * (rung - done)
            members, done = self.kept(members), rung
        return total + members * (epochs - done)


def _rank(score: float) -> tuple[bool, float]:
    """Orders scores; NaN compares with nothing, so it needs a place of its own."""
    return (True, 0.0) if isnan(score) else (False, score)


def shares(names: Sequence[str], devices: int) -> dict[str, RungShare]:
    """Devices dealt out evenly; the first names get one more where they do not divide.

    With more names than devices nobody has one alone, and all get equal parts.

    Args:
        names: who gets a share, the best first.
        devices: in all.
    """
    each, more = divmod(devices, len(names))
    if not each:
        return dict.fromkeys(names, RungShare(devices=0, part=1 / len(names)))
    counts = {name: each + (place < more) for place, name in enumerate(names)}
    return {name: RungShare(devices=n, part=n / devices) for name, n in counts.items()}
