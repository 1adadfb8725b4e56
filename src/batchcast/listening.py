"""Listening to many: who hears whom, and when to let packets gather.

Waking a process up takes longer than hearing what it is told: on a machine whose cores idle, to
send a packet to one that sleeps took 150 microseconds, in which a batch of light data is made. As
network cards do with their interrupts, the first packet after a quiet moment is heard at once, and
where the next one comes soon after, those behind it are waited for and heard together.
"""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable
from time import monotonic, sleep

LONGEST = 0.008
"""Seconds of a nap at most."""

SHORTEST = 0.0002
"""Seconds below which falling asleep is not worth it."""

SHARE = 4
"""In a nap no more than this part of the arena can be filled, so that nobody waits for its end."""


class Gathering:
    """How long the conductor of a stream may sleep before it listens again."""

    def __init__(self) -> None:
        self._woke = -LONGEST

    def nap(self, now: float, *, each: float, slots: int) -> float:
        """Seconds to sleep; 0 where it is quiet, or where the arena would run full or empty.

        Args:
            now: in seconds of any clock.
            each: seconds in which all who prepare samples make one.
            slots: of the arena.
        """
        longest = min(LONGEST, each * slots / SHARE)
        quiet, self._woke = now - self._woke > longest, now
        if quiet or longest < SHORTEST:
            return 0.0
        self._woke += longest
        return longest


NAP = 0.002
"""Seconds between two looks of who naps."""


def nap(peer: socket.socket, longest: float) -> None:
    """Sleep until something has come from there, or for so many seconds.

    A timer of one's own takes far less than to be woken up by a process on another core, which is
    what it costs that process to tell somebody who listens.
    """
    until = monotonic() + longest
    while not _has_come(peer) and monotonic() < until:
        sleep(NAP)


def _has_come(peer: socket.socket) -> bool:
    try:
        peer.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        pass  # which is told to whoever listens
    return True


Heard = Callable[[socket.socket], None]

ROUNDS = 16
"""How often packets are looked for before what they ask for is done."""


class Listening:
    """The connections of a conductor, and who hears what comes over each of them."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._gathering = Gathering()

    def to(self, peer: socket.socket, heard: Heard) -> None:
        """From now on this hears what comes from there."""
        self._selector.register(peer, selectors.EVENT_READ, heard)

    def leave(self, peer: socket.socket) -> None:
        """Nobody hears it any more."""
        self._selector.unregister(peer)

    @property
    def peers(self) -> list[socket.socket]:
        """All connections."""
        return [key.fileobj for key in self._selector.get_map().values()]  # type: ignore[misc]

    def hear(self, patience: float | None) -> None:
        """Wait until somebody says something; then hear all that was said, within reason.

        Args:
            patience: seconds to wait at most; nothing for as long as it takes.
        """
        for _ in range(ROUNDS):
            ready = self._selector.select(patience)
            for key, _ in ready:
                if key.fileobj in self._selector.get_map():
                    key.data(key.fileobj)
            if not ready:
                return
            patience = 0.0

    def let_gather(self, *, each: float, slots: int) -> None:
        """Sleep for a moment where packets come quickly, as a stream can afford that.

        Args:
            each: seconds in which a sample is made.
            slots: of the arena.
        """
        if nap := self._gathering.nap(monotonic(), each=each, slots=slots):
            sleep(nap)

    def close(self) -> None:
        """Listen no more, in a process that was forked."""
        self._selector.close()
