"""Samples that a reader may take.

What the processes of a stream say to each other: one packet, one message, never a pickle.

A packet is a kind, two whole numbers and a body, over a Unix socket that keeps packets whole. The
kernel orders memory between the sender and the receiver of a packet, so a slot that was written
before its packet was sent is seen whole by whoever got the packet.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from batchcast.errors import StreamGarbled
from batchcast.slots import Numbers
from batchcast.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Grant:
    """Samples for one reader.

    Attributes:
        reader: who wants it.
        first: sequence number of the first.
        slots: where they lie, or `SKIPPED`. [sample]
        flags: `ZERO_COPY`, `ENDS`.
        gap: samples before the first that the reader lost by its own policy.
    """

    reader: Subscription
    first: int
    slots: Numbers
    flags: int
    gap: int


VERSION = 6
"""Of the protocol: both ends of a stream must speak the same."""

LONGEST = 1 << 17
"""Bytes of the longest packet; below the kernel's default for a socket's buffer."""

LARGEST = 1 << 62
"""No number of a packet is above this."""

_HEAD = struct.Struct("<B7xqq")


class _Buffer(threading.local):
    """Where packets arrive: one buffer per thread, for a new one each time costs page faults."""

    def __init__(self) -> None:
        self.packet = bytearray(LONGEST)


_ARRIVING = _Buffer()
_ROOM = socket.CMSG_SPACE(16)


class Kind(IntEnum):
    """What a packet is about; its two numbers are in the comment."""

    HELLO = 1  # reader: JSON of what it asks for
    WELCOME = 2  # to a reader, worker or feeder: JSON, with the arena's descriptor
    REFUSED = 3  # an error's name and message
    WANT = 4  # reader: so many samples; body: released slots
    RELEASE = 5  # reader: body: released slots
    GRANT = 6  # to a reader: first sequence number, flags; body: slots
    SEEK = 7  # reader: epoch, position; body: released slots; the answer is the same
    LEDGER = 8  # reader: epoch; body: released slots
    ENDED = 9  # to a reader: epoch; body: JSON of what the ledger should say
    BYE = 10  # reader leaves
    LAYOUT = 11  # worker or feeder: JSON of a sample's layout
    TASK = 12  # to a worker: first sequence number, epoch; body: slots and sample ids
    DONE = 13  # worker or feeder: first sequence number, how many; body: failed ones
    FAILED = 14  # worker or feeder: first sequence number, offset; body: error
    NEED = 15  # feeder: so many slots, epoch
    SLOTS = 16  # to the feeder: first sequence number, epoch of the need; body: slots
    OVER = 17  # feeder: epoch, samples in it
    STATS = 18  # owner or reader asks; the answer's body is JSON
    STOP = 19  # owner: stop now
    READY = 20  # to the owner: the stream runs; from the zygote: how many threads it has
    FINISHED = 21  # to the owner: every reader has had every epoch
    EXPECT = 22  # owner: so many readers will come
    ORDER = 23  # epoch; body: a reader's generators; to a feeder or reader: those it hangs on, last
    LOOKED = 24  # reader: it took no more of its epoch than a look at the first batch


TO_CHILD = frozenset({Kind.LAYOUT, Kind.WELCOME, Kind.TASK, Kind.SLOTS, Kind.ORDER})
FROM_CHILD = frozenset(
    {Kind.LAYOUT, Kind.REFUSED, Kind.FAILED, Kind.NEED, Kind.OVER, Kind.DONE, Kind.ORDER}
)
FROM_ZYGOTE = frozenset({Kind.READY, Kind.REFUSED})
FROM_READER = frozenset(
    {
        Kind.HELLO,
        Kind.WANT,
        Kind.RELEASE,
        Kind.SEEK,
        Kind.LEDGER,
        Kind.BYE,
        Kind.STATS,
        Kind.ORDER,
        Kind.LOOKED,
    }
)
TO_READER = frozenset(
    {Kind.WELCOME, Kind.REFUSED, Kind.GRANT, Kind.SEEK, Kind.ENDED, Kind.STATS, Kind.ORDER}
)
FROM_OWNER = frozenset({Kind.STATS, Kind.STOP, Kind.EXPECT})
TO_OWNER = frozenset({Kind.READY, Kind.REFUSED, Kind.FINISHED, Kind.STATS})

ZERO_COPY = 1
"""Flag of a grant: the slots may be used where they lie until they are released."""
ENDS = 2
"""Flag of a grant: it reaches the end of its epoch."""
GAP = 8
"""A grant's flags are below this bit, samples lost before it from it on."""


@dataclass(frozen=True, slots=True)
class Message:
    """One packet as received.

    Attributes:
        kind: what it is about.
        first: its first number.
        second: its second number.
        body: the rest, as bytes.
        descriptors: file descriptors that came along.
    """

    kind: Kind
    first: int
    second: int
    body: bytes
    descriptors: tuple[int, ...] = ()

    def numbers(self) -> NDArray[np.int64]:
        """The body as whole numbers. [number]"""
        if len(self.body) % 8:
            raise StreamGarbled(f"A packet of kind {self.kind.name} ends within a number.")
        return np.frombuffer(self.body, np.int64)

    def slots(self, count: int, *, skips: bool = False) -> NDArray[np.int64]:
        """The body as slots of an arena of so many; -1 too, where samples may be passed over.

        Raises:
            StreamGarbled: a slot is not one of the arena's.
        """
        slots = self.numbers()
        if len(slots) and (slots.min() < -int(skips) or slots.max() >= count):
            raise StreamGarbled(
                f"A packet of kind {self.kind.name} names slots from {slots.min()} to "
                f"{slots.max()}; the arena has {count}."
            )
        return slots

    def json(self) -> dict[str, object]:
        """The body as a JSON object."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise StreamGarbled(f"A packet of kind {self.kind.name} must carry an object.")
        return value


def send(
    to: socket.socket,
    kind: Kind,
    body: bytes = b"",
    *,
    first: int = 0,
    second: int = 0,
    descriptors: Sequence[int] = (),
) -> None:
    """Send one packet; that the other end is gone shows when it is listened to."""
    parts = [_HEAD.pack(kind, first, second), body]
    with suppress(ConnectionError):
        if descriptors:
            socket.send_fds(to, parts, descriptors)
        else:
            to.sendmsg(parts)


def send_json(
    to: socket.socket, kind: Kind, value: object, *, descriptors: Sequence[int] = ()
) -> None:
    """Send one packet whose body is JSON."""
    send(to, kind, json.dumps(value).encode(), descriptors=descriptors)


def receive(come_from: socket.socket, allowed: frozenset[Kind]) -> Message | None:
    """The next packet, or nothing where the other end is gone.

    Who closes with packets unread resets the connection, which is told before what it sent last: so
    after that is looked once more.

    Raises:
        StreamGarbled: the packet is cut, or of a kind that the other end may not send.
    """
    packet = _ARRIVING.packet
    try:
        try:
            heard = come_from.recvmsg_into([packet], _ROOM, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:
            heard = come_from.recvmsg_into([packet], _ROOM, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return None
    size, ancillary, flags, _ = heard
    if not size:
        return None
    descriptors = _descriptors(ancillary)
    try:
        if size < _HEAD.size or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise StreamGarbled(f"A packet of {size} bytes was cut.")
        kind, first, second = _HEAD.unpack_from(packet)
        if kind not in allowed or (descriptors and kind != Kind.WELCOME):
            raise StreamGarbled(f"A packet of kind {kind} may not come from there.")
    except StreamGarbled:
        for each in descriptors:
            os.close(each)
        raise
    body = bytes(memoryview(packet)[_HEAD.size : size])
    return Message(Kind(kind), first, second, body, descriptors)


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, ...]:
    found = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return tuple(found)
