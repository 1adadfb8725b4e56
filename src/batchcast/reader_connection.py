"""A reader's connection to the conductor."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import Any

from batchcast.addresses import connect
from batchcast.admission import Asked
from batchcast.errors import ProducerLost, StreamGarbled, from_text
from batchcast.forkserver.client import closed_after_fork
from batchcast.greetings import Hello, Welcome
from batchcast.listening import nap
from batchcast.messages import TO_READER, VERSION, Kind, Message, receive, send, send_json


class ReaderConnection:
    """One connection, over which the reader has said what it asks for.

    Attributes:
        message: what the conductor answered, with the arena's descriptor.
        welcome: what it says.

    Args:
        asked: what the reader asks for.
        state: where it goes on; nothing for where `asked` says.
        patience: seconds to wait for the stream to appear.
    """

    def __init__(self, asked: Asked, *, state: dict[str, Any] | None, patience: float) -> None:
        self._name = asked.name
        self._peer = connect(asked.name, patience=patience)
        closed_after_fork(self._peer)
        hello = Hello(
            version=VERSION,
            model=asked.model,
            batch=asked.batch_size,
            of_samples=asked.of_samples(),
            policy=asked.policy,
            start=asked.start,
            spill=asked.spill,
            about=state["about"] if state else None,
            place=(state["epoch"], state["position"]) if state else None,
            looks=state.get("looks", 0) if state else 0,
        )
        send_json(self._peer, Kind.HELLO, hello.as_json())
        try:
            self.message = self.answer(Kind.WELCOME)
            self.welcome = Welcome.of(self.message)
        except BaseException:
            self.close()
            raise

    def say(self, kind: Kind, body: bytes = b"", *, first: int = 0, second: int = 0) -> None:
        """Say something; that nobody listens any more shows when the answer is missed."""
        with suppress(OSError):
            send(self._peer, kind, body, first=first, second=second)

    def answer(self, *kinds: Kind) -> Message:
        """What the conductor says next, which must be of one of these kinds.

        Raises:
            ProducerLost: nobody is there any more.
            StreamError: the conductor says what is wrong, or what cannot be used.
        """
        message = receive(self._peer, TO_READER)
        if message is None:
            raise ProducerLost(
                f"The stream '{self._name}' is gone: the process that serves it died or was "
                "stopped. Start it again; attach(..., reconnect=60) waits for that and goes on "
                "at the same sample."
            )
        if message.kind is Kind.REFUSED:
            raise from_text(message.body)
        if message.kind not in kinds:
            raise StreamGarbled(f"A reader of '{self._name}' was told {message.kind.name}.")
        return message

    def nap(self, longest: float) -> None:
        """Sleep until something has come, or for so many seconds."""
        nap(self._peer, longest)

    def close(self) -> None:
        """Hang up."""
        self._peer.close()

    def keep_open(self) -> int | None:
        """The descriptor of the connection, which the caller now owns; nothing if it is closed."""
        return self._peer.detach() if self._peer.fileno() >= 0 else None


def lined_up(asked: Asked, *, state: dict[str, Any] | None, patience: float) -> ReaderConnection:
    """A connection; a stream that dies before it answers is waited for like one that is not there.

    Raises:
        StreamNotFound: no such stream in that time.
        StreamError: the stream refuses this reader.
    """
    until = monotonic() + patience
    while True:
        try:
            return ReaderConnection(asked, state=state, patience=max(0.0, until - monotonic()))
        except ProducerLost:
            if monotonic() > until:
                raise
