"""Taking in readers, and turning one away where the conductor has no room for its connection."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from batchcast.addresses import is_ours
from batchcast.errors import StreamError, as_text, lacks_files
from batchcast.messages import Kind, send

_FULL = (
    "The process that serves this stream has as many files open as it may have, one for each "
    "reader. Share it from a process that may have more ('ulimit -n'), or use fewer readers."
)


class Acceptor:
    """Accepts connections, with a descriptor in reserve.

    Without the reserve a connection that cannot be accepted stays in the queue, where it waits for
    ever and wakes the conductor without end.
    """

    def __init__(self) -> None:
        self._reserve = _spare()

    def accept(self, listener: socket.socket) -> socket.socket | None:
        """The next connection of this user; nothing where it was turned away or is gone."""
        try:
            peer, _ = listener.accept()
        except OSError as error:
            if lacks_files(error):
                self._turn_away(listener)
            return None
        if is_ours(peer):
            return peer
        peer.close()
        return None

    def _turn_away(self, listener: socket.socket) -> None:
        os.close(self._reserve)
        try:
            with suppress(OSError), listener.accept()[0] as peer:
                send(peer, Kind.REFUSED, as_text(StreamError(_FULL)))
        finally:
            self._reserve = _spare()


def _spare() -> int:
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
