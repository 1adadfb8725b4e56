"""A reader as its conductor sees it."""

from __future__ import annotations

import socket
from collections import deque
from dataclasses import dataclass, field

from batchcast.errors import StreamError
from batchcast.ledger import Ledger
from batchcast.slots import Numbers
from batchcast.spill import Spill
from batchcast.window import SKIPPED

POLICIES = ("block", "detach", "spill", "drop")
"""What happens to a reader that the others would have to wait for."""

STARTS = ("epoch", "now", "next")
"""Where a reader that comes late begins."""


@dataclass(slots=True)
class Own:
    """A number that is prepared for one reader alone.

    Attributes:
        slot: where it lies, or `SKIPPED`.
        ready: whether it is prepared.
    """

    slot: int
    ready: bool


@dataclass(slots=True, kw_only=True)
class Subscription:
    """The state of one reader.

    Attributes:
        key: of the reader in the table of slots.
        name: of its member.
        peer: the connection to it.
        batch: samples that it takes at a time.
        policy: one of `POLICIES`.
        epoch: that it is in.
        joined: first number of that epoch that it answers for.
        granted: next number that it will be granted.
        live_from: it holds every slot of the live window from this number on; nothing while it
            is catching up, which ends when what is prepared for it reaches the window.
        own: what is prepared for it alone, in order, from `granted` on.
        want: samples that it waits for; nothing while it is busy.
        most: samples that it takes where they are ready.
        dropped: what it lost of the epoch it is in, by its own policy.
        lost: samples that it lost in all.
        gap: numbers that it lost since its last grant.
        asked: when it began to wait, in seconds of the conductor's clock.
        waited: seconds that it has waited.
        spill: its samples on disk.
        detached: how often it fell off the live window.
        looks: epochs of which it only looked at the first batch.
        failure: why it cannot go on, though the others can; nothing while it can.
    """

    key: int
    name: str
    peer: socket.socket
    batch: int
    policy: str
    epoch: int = 0
    joined: int = 0
    granted: int = 0
    live_from: int | None = None
    own: deque[Own] = field(default_factory=deque)
    want: int | None = None
    most: int = 0
    dropped: Ledger = field(default_factory=Ledger)
    lost: int = 0
    gap: int = 0
    asked: float = 0.0
    waited: float = 0.0
    spill: Spill | None = None
    detached: int = 0
    looks: int = 0
    failure: StreamError | None = None

    def has_had(self, epochs: int | None) -> bool:
        """Whether it has had so many epochs, beside those that it only looked at."""
        return epochs is not None and self.epoch == epochs + self.looks

    @property
    def prepared_to(self) -> int:
        """The number after the last one that is, or is being, prepared for it alone."""
        return self.granted + len(self.own)

    @property
    def held_from(self) -> int:
        """The first number of the live window that is held for it and not granted."""
        return max(self.granted, self.live_from or 0)

    @property
    def is_on_disk(self) -> bool:
        """Whether its next sample is on disk and has no slot yet."""
        return self.spill is not None and bool(self.spill.numbers) and not self.own

    def spill_room(self, record_bytes: int) -> int:
        """Samples that may go to disk; one more than its bound where one must come back for it."""
        if self.spill is None:
            return 0
        return max(self.spill.room(record_bytes), int(self.is_on_disk))

    def own_prepared(self, slots: Numbers, failed: Numbers) -> None:
        """These slots of its own hold their samples, but for those at these offsets."""
        lost, done = set(slots[failed].tolist()), set(slots.tolist())
        for each in self.own:
            if each.slot in done:
                each.ready = True
                each.slot = SKIPPED if each.slot in lost else each.slot

    def ready_to(self, published: int) -> int:
        """The number after the last one that could be granted now."""
        for index, each in enumerate(self.own):
            if not each.ready:
                return self.granted + index
        if self.live_from is not None and self.prepared_to >= self.live_from:
            return max(published, self.granted)
        return self.prepared_to
