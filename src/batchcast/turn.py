"""Letting go of what is held for slow readers, as their policy allows, so that others go on.

One turn of a stream's loop: hand out whatever can be handed out now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from batchcast.errors import SpillFailed
from batchcast.lane import Lane
from batchcast.messages import Grant
from batchcast.service import Service
from batchcast.slots import Numbers
from batchcast.window import SKIPPED, held

if TYPE_CHECKING:
    pass


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


class Preparing(Protocol):
    """Whoever prepares samples: workers, or a feeder."""

    def prepare(self, service: Service, *, skip: bool) -> bool:
        """Whether any work was handed out, if need be past slots that are still held."""

    def busy(self) -> bool:
        """Whether something is being prepared, so that waiting makes sense."""


def hand_out(service: Service, crew: Preparing, grant: Callable[[Grant], None]) -> None:
    """Tasks and grants, until nothing more can be done before something happens.

    Whole batches come first; then slow readers are let go, where their policy allows it; then
    slots are taken out of their order; and only where nothing else helps, a reader gets less than
    it asked for.
    """
    while True:
        service.bring_back()
        crew.prepare(service, skip=False)
        _serve(service, grant, idle=False)
        if not any(lane.want for lane in service.lanes.values()):
            return
        if service.starved and relieve(service):
            continue
        if crew.busy() or crew.prepare(service, skip=True):
            return
        if not _serve(service, grant, idle=True):
            return


def _serve(service: Service, grant: Callable[[Grant], None], *, idle: bool) -> bool:
    """Whether any reader got something."""
    grants = list(service.grants(idle=idle))
    for each in grants:
        grant(each)
    return bool(grants)
