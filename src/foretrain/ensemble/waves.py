"""Members one after another: waves of them, and rungs that fewer reach.

Waves: more members than devices or their memory hold at once, trained one group after another.

Several members may share a device if their memory fits. It then trains them in turns, and as all
members of a wave train in step on one stream, the pace of a wave is that of the device that needs
longest for one sample of all its members.

Successive halving: who trains on after a comparison, and who gets what the others leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf, isnan

from foretrain.ensemble.costs import FleetTerms
from foretrain.ensemble.course import CourseState, train
from foretrain.errors import InputError

Slots = tuple[tuple[int, ...], ...]
"""Members of each device, by their places in the ensemble."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """Members that train together until all of them have ended.

    Attributes:
        start: seconds from the start of the ensemble.
        end: seconds, when the last member of the wave has ended.
        devices: names of the members on each device, none on a device that stays idle.
        ends: seconds at which each member ends, by name.
    """

    start: float
    end: float
    devices: tuple[tuple[str, ...], ...]
    ends: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waves:
    """The waves of an ensemble.

    Attributes:
        waves: in the order of time.
        least: no packing of the members' memory needs fewer waves.
    """

    waves: tuple[Wave, ...]
    least: int

    @property
    def seconds(self) -> float:
        """Until the last member has ended."""
        return self.waves[-1].end


def waves(terms: FleetTerms) -> Waves:
    """The waves in which an ensemble ends first.

    At least as many as first-fit decreasing needs for the members' memory, at most as many as with
    one member per device; of equally long ones the fewest, since each wave reads all samples again,
    and on the fewest devices.

    Args:
        terms: members and limits.

    Source: dosa2007 for first-fit decreasing: at most 11/9 of the fewest devices, and 6/9.
    """
    members = terms.ensemble.members
    memory = {place: members[place].memory or 0.0 for place in terms.work}
    packed = first_fit_decreasing(memory, terms.ensemble.memory)
    fewest, most = (ceil(count / terms.devices) for count in (len(packed), len(memory)))
    found = [packed, *(_slots(terms, memory, count) for count in range(fewest, most + 1))]
    plans = [_timed(terms, slots) for slots in found if slots]
    return Waves(
        waves=min(plans, key=lambda plan: plan[-1].end),
        least=ceil(fewest_bins(memory.values(), terms.ensemble.memory) / terms.devices),
    )


def first_fit_decreasing(sizes: Mapping[int, float], capacity: float) -> Slots:
    """Bins that hold items: the largest first, each in the first bin with room for it."""
    bins: list[list[int]] = []
    for item in sorted(sizes, key=lambda each: -sizes[each]):
        room = (one for one in bins if sizes[item] + sum(sizes[each] for each in one) <= capacity)
        found = next(room, None)
        if found is None:
            bins.append([item])
        else:
            found.append(item)
    return tuple(map(tuple, bins))


def fewest_bins(sizes: Iterable[float], capacity: float) -> int:
    """A number of bins that no packing undercuts: what they hold in all, and halves that clash."""
    held = list(sizes)
    large = sum(size > capacity / 2 for size in held)
    return max(1, large, ceil(sum(held) / capacity) if capacity < inf else 1)


def _slots(terms: FleetTerms, memory: Mapping[int, float], count: int) -> Slots | None:
    """Devices of so many waves, the slowest members first, each where least is to be done.

    None where somebody's memory fits nowhere.
    """
    slots: list[list[int]] = [[] for _ in range(count * terms.devices)]
    for place in sorted(memory, key=lambda each: terms.rates[each][0]):
        room = [
            slot
            for slot in slots
            if sum(memory[each] for each in (*slot, place)) <= terms.ensemble.memory
        ]
        if not room:
            return None
        min(room, key=lambda slot: _turn(terms, slot)).append(place)
    return tuple(map(tuple, slots))


def _timed(terms: FleetTerms, slots: Slots) -> tuple[Wave, ...]:
    """The waves that so many devices make of slots, each from its first sample to its last."""
    names = [member.name for member in terms.ensemble.members]
    width, state, done = terms.devices, CourseState({}, {}, 0.0), list[Wave]()
    for first in range(0, len(slots), width):
        here = slots[first : first + width]
        start, ends = state.now, dict[str, float]()
        state = CourseState(
            {place: terms.work[place] for slot in here for place in slot}, {}, start
        )
        while left := state.left:
            # In step: at the pace of the stream, or of the device with most to do for a sample.
            turns = [_turn(terms, [place for place in slot if place in left]) for slot in here]
            deal = dict.fromkeys(left, 1)
            paces = dict.fromkeys(deal, min(terms.stream, 1 / max(turns)))
            _, state = train(state, paces, deal=deal, start=state.now, dealt=False)
            ends |= {names[place]: state.now for place in deal if place not in state.left}
        devices = [tuple(names[place] for place in slot) for slot in here]
        idle = [()] * (width - len(here))
        done.append(Wave(start=start, end=state.now, devices=(*devices, *idle), ends=ends))
    return tuple(done)


def _turn(terms: FleetTerms, slot: Iterable[int]) -> float:
    """Seconds in which a device trains each of its members on one sample."""
    return sum(1 / terms.rates[place][0] for place in slot)


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
