"""Waves: more members than devices or their memory hold at once, trained one group after another.

Several members may share a device if their memory fits. It then trains them in turns, and as all
members of a wave train in step on one stream, the pace of a wave is that of the device that needs
longest for one sample of all its members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, inf

from foretrain.ensemble.course import CourseState, train
from foretrain.ensemble.terms import FleetTerms

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
