"""One turn of a stream's loop: hand out whatever can be handed out now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from foretrain.run.stream.grant import Grant
from foretrain.run.stream.relief import relieve
from foretrain.run.stream.service import Service


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
