"""Letting go of what is held for slow readers, as their policy allows, so that others go on.

One turn of a stream's loop: hand out whatever can be handed out now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from batchcast.errors import SpillFailed
from batchcast.messages import Grant
from batchcast.service import Service
from batchcast.slots import Numbers
from batchcast.subscription import Subscription
from batchcast.window import SKIPPED, held

if TYPE_CHECKING:
    pass


def relieve(service: Service) -> bool:
    """Whether letting go of what is held for slow readers, as their policy allows, made room.

    Nothing is let go that a reader without such a policy needs as well.
    """
    slow = {reader.key: reader for reader in _laggards(service)}
    others = [reader.held_from for reader in service.live() if reader.key not in slow]
    end = min(others, default=service.window.published)
    free, begin = service.slots.free, service.to_begin()
    for reader in sorted(slow.values(), key=lambda each: each.held_from):
        while reader.live_from is not None and reader.held_from < end and _let_go(service, reader):
            if service.slots.free > free or service.to_begin() > begin:
                return True
    return False


def _laggards(service: Service) -> list[Subscription]:
    """Live readers for whom samples are held that may be let go.

    They are busy, or their next sample is on disk and needs a slot that they hold themselves.
    """
    return [
        reader
        for reader in service.live()
        if reader.policy != "block"
        and (reader.want is None or reader.is_on_disk)
        and service.window.published > reader.held_from
    ]


def _let_go(service: Service, reader: Subscription) -> bool:
    """Whether slots of the live window were let go for this reader."""
    first = reader.held_from
    end = _gone_to(service, reader)
    if end <= first:
        return (
            reader.policy == "drop"
            and service.order.samples is not None
            and _detach(service, reader)
        )
    slots = service.window.slots(first, end)
    if reader.policy == "detach":
        return _detach(service, reader)
    if reader.policy == "spill":
        _spill(service, reader, first=first, slots=slots)
    else:
        _drop(service, reader, first=first, end=end)
    reader.live_from = end
    service.release(reader, held(slots))
    return True


def _gone_to(service: Service, reader: Subscription) -> int:
    """The end of what a reader can lose or have spilled now; drops stay within an epoch."""
    published = service.window.published
    if reader.policy == "spill":
        return min(published, reader.held_from + reader.spill_room(service.record_bytes))
    if reader.policy == "drop":
        end = service.order.end(reader.epoch)
        within = published if end is None else min(published, end)
        return within if not reader.own else 0
    return published


def _detach(service: Service, reader: Subscription) -> bool:
    slots = service.live_slots(reader)
    reader.live_from = None
    reader.detached += 1
    service.release(reader, held(slots))
    return True


def _drop(service: Service, reader: Subscription, *, first: int, end: int) -> None:
    gone = service.ledger(first, end)
    reader.dropped += gone
    reader.lost += gone.count
    reader.gap += end - first
    reader.granted = end


def _spill(service: Service, reader: Subscription, *, first: int, slots: Numbers) -> None:
    if reader.spill is None:
        raise AssertionError("A reader that spills has a place on disk.")
    try:
        for offset, slot in enumerate(slots.tolist()):
            record = None if slot == SKIPPED else service.columns.record(slot)
            reader.spill.put(first + offset, record)
    except SpillFailed as error:
        reader.failure = error


class Preparing(Protocol):
    """Whoever prepares samples: workers, or a feeder."""

    def prepare(self, service: Service, *, skip: bool) -> bool:
        """Whether any work was handed out, if need be past slots that are still held."""

    def busy(self) -> bool:
        """Whether something is being prepared, so that waiting makes sense."""


def hand_out(service: Service, pool: Preparing, grant: Callable[[Grant], None]) -> None:
    """Tasks and grants, until nothing more can be done before something happens.

    Whole batches come first; then slow readers are let go, where their policy allows it; then
    slots are taken out of their order; and only where nothing else helps, a reader gets less than
    it asked for.
    """
    while True:
        service.bring_back()
        pool.prepare(service, skip=False)
        _serve(service, grant, idle=False)
        if not any(reader.want for reader in service.readers.values()):
            return
        if service.starved and relieve(service):
            continue
        if pool.busy() or pool.prepare(service, skip=True):
            return
        if not _serve(service, grant, idle=True):
            return


def _serve(service: Service, grant: Callable[[Grant], None], *, idle: bool) -> bool:
    """Whether any reader got something."""
    grants = list(service.grants(idle=idle))
    for each in grants:
        grant(each)
    return bool(grants)
