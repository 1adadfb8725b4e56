"""What a simulation stands on, and the record of what each resource did, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from foretrain.events import Action, Events
from foretrain.plan.servers import LinkPolicy

EVERY = -1
"""Stands for each of the servers, where all do the same at the same moments."""


class WorkSpan(NamedTuple):
    """A worker or a server computed.

    Attributes:
        server: whether it was a server.
        node: which worker or server; `EVERY` for each server.
        core: of the server, which.
        start: seconds since the simulation began.
        end: likewise.
        name: of what was done.
    """

    server: bool
    node: int
    core: int
    start: float
    end: float
    name: str


class TransferSpan(NamedTuple):
    """Bytes went from one node to another.

    Attributes:
        source: which sent them.
        target: which got them; at most one of the two is `EVERY`, the servers.
        start: seconds since the simulation began.
        end: likewise.
        size: bytes.
    """

    source: int
    target: int
    start: float
    end: float
    size: float


@dataclass(slots=True)
class Recording:
    """Spans in the order in which they ended.

    Attributes:
        work: of workers and servers.
        transfers: over links.
    """

    work: list[WorkSpan] = field(default_factory=list)
    transfers: list[TransferSpan] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What all parts of a simulation share.

    Attributes:
        events: the clock.
        workers: how many.
        policy: of the links.
        window: bytes of the first window of a message, where the policy has windows.
        recording: takes what is done, if it is wanted.
    """

    events: Events
    workers: int
    policy: LinkPolicy
    window: float
    recording: Recording | None

    def noted(self, size: float, done: Action, *, source: int, target: int) -> Action:
        """What happens at the end of a transfer that begins now: it is recorded, too."""
        if self.recording is None:
            return done
        start = self.events.now

        def end() -> None:
            self.transfer(size, start, source=source, target=target)
            done()

        return end

    def transfer(self, size: float, start: float, *, source: int, target: int) -> None:
        """Record a transfer that ends now."""
        if self.recording is not None:
            span = TransferSpan(source, target, start, self.events.now, size)
            self.recording.transfers.append(span)

    def computed(self, worker: int, start: float, name: str = "compute") -> None:
        """Record a worker's computation that ends now."""
        if self.recording is not None:
            self.recording.work.append(WorkSpan(False, worker, 0, start, self.events.now, name))

    def applied(self, server: int, core: int, start: float) -> None:
        """Record the work of a server's core that ends now."""
        if self.recording is not None:
            self.recording.work.append(
                WorkSpan(True, server, core, start, self.events.now, "update")
            )
