"""Letting go of what is held for slow readers, as their policy allows, so that others go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrain.run.stream.errors import SpillFailed
from foretrain.run.stream.lane import Lane
from foretrain.run.stream.slots import Numbers
from foretrain.run.stream.window import SKIPPED, held

if TYPE_CHECKING:
    from foretrain.run.stream.service import Service


def relieve(service: Service) -> bool:
    """Whether letting go of what is held for slow readers, as their policy allows, made room.

    Nothing is let go that a reader without such a policy needs as well.
    """
    slow = {lane.key: lane for lane in _laggards(service)}
    others = [lane.held_from for lane in service.live() if lane.key not in slow]
    end = min(others, default=service.window.published)
    free, begin = service.slots.free, service.to_begin()
    for lane in sorted(slow.values(), key=lambda each: each.held_from):
        while lane.live_from is not None and lane.held_from < end and _let_go(service, lane):
            if service.slots.free > free or service.to_begin() > begin:
                return True
    return False


def _laggards(service: Service) -> list[Lane]:
    """Live readers for whom samples are held that may be let go.

    They are busy, or their next sample is on disk and needs a slot that they hold themselves.
    """
    return [
        lane
        for lane in service.live()
        if lane.policy != "block"
        and (lane.want is None or lane.is_on_disk)
        and service.window.published > lane.held_from
    ]


def _let_go(service: Service, lane: Lane) -> bool:
    """Whether slots of the live window were let go for this reader."""
    first = lane.held_from
    end = _gone_to(service, lane)
    if end <= first:
        return (
            lane.policy == "drop" and service.order.samples is not None and _detach(service, lane)
        )
    slots = service.window.slots(first, end)
    if lane.policy == "detach":
        return _detach(service, lane)
    if lane.policy == "spill":
        _spill(service, lane, first=first, slots=slots)
    else:
        _drop(service, lane, first=first, end=end)
    lane.live_from = end
    service.release(lane, held(slots))
    return True


def _gone_to(service: Service, lane: Lane) -> int:
    """The end of what a reader can lose or have spilled now; drops stay within an epoch."""
    published = service.window.published
    if lane.policy == "spill":
        return min(published, lane.held_from + lane.spill_room(service.record_bytes))
    if lane.policy == "drop":
        end = service.order.end(lane.epoch)
        within = published if end is None else min(published, end)
        return within if not lane.own else 0
    return published


def _detach(service: Service, lane: Lane) -> bool:
    slots = service.live_slots(lane)
    lane.live_from = None
    lane.detached += 1
    service.release(lane, held(slots))
    return True


def _drop(service: Service, lane: Lane, *, first: int, end: int) -> None:
    gone = service.ledger(first, end)
    lane.dropped += gone
    lane.lost += gone.count
    lane.gap += end - first
    lane.granted = end


def _spill(service: Service, lane: Lane, *, first: int, slots: Numbers) -> None:
    if lane.spill is None:
        raise AssertionError("A reader that spills has a place on disk.")
    try:
        for offset, slot in enumerate(slots.tolist()):
            record = None if slot == SKIPPED else service.columns.record(slot)
            lane.spill.put(first + offset, record)
    except SpillFailed as error:
        lane.failure = error
