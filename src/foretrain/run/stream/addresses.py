"""Where a stream of a name is found: an abstract Unix address, which dies with its process."""

from __future__ import annotations

import os
import socket
import struct
import time
from pathlib import Path

from foretrain.errors import InputError, nearest
from foretrain.run.stream.errors import StreamError, StreamNotFound, StreamTaken

LONGEST_NAME = 64
"""Characters of a stream's name; the kernel's addresses end at 108 bytes."""

_RETRY = 0.02
"""Seconds between two tries to reach a stream that is not there yet."""


def checked_name(name: str) -> str:
    """The name, if a stream may have it."""
    if not name or len(name) > LONGEST_NAME or not all(c.isalnum() or c in "-_." for c in name):
        raise InputError(
            f"A stream's name is 1 to {LONGEST_NAME} letters, digits, '-', '_' or '.', "
            f"got {name!r}."
        )
    return name


def listen(name: str) -> socket.socket:
    """A socket that listens under the stream's name.

    Raises:
        StreamTaken: a stream of that name runs already.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        listener.bind(_address(name))
    except OSError as error:
        listener.close()
        raise StreamTaken(
            f"A stream named '{name}' runs already on this machine. Give this one another name, "
            "or stop the other one first."
        ) from error
    listener.listen(128)
    return listener


def connect(name: str, *, patience: float) -> socket.socket:
    """A connection to the stream of that name, waiting so many seconds for it to appear.

    Raises:
        StreamNotFound: no such stream in that time.
    """
    until = time.monotonic() + patience
    while True:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            peer.connect(_address(name))
        except OSError as error:
            peer.close()
            if time.monotonic() >= until:
                raise _not_found(name, patience) from error
            time.sleep(_RETRY)
        else:
            return peer


def is_ours(peer: socket.socket) -> bool:
    """Whether the other end runs as the same user (or as root)."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return user in {os.getuid(), 0}


def running() -> list[str]:
    """Names of the streams of this user that run on this machine."""
    prefix = f"@foretrain/{os.getuid()}/"
    try:
        lines = Path("/proc/net/unix").read_text().splitlines()
    except OSError:
        return []
    words = (line.split()[-1] for line in lines)
    return sorted({word.removeprefix(prefix) for word in words if word.startswith(prefix)})


def _not_found(name: str, patience: float) -> StreamError:
    known = running()
    listed = f" Running: {', '.join(known)}.{nearest(name, known)}" if known else " None runs."
    return StreamNotFound(
        f"No stream named '{name}' was found on this machine in {patience:.2g} s.{listed} "
        "Start it with share(...), or wait longer with attach(..., patience=...)."
    )


def _address(name: str) -> str:
    return f"\0foretrain/{os.getuid()}/{checked_name(name)}"
