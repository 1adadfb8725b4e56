"""Where a stream of a name is found: a socket in a folder that its user alone may enter.

A name stands for two files there: the socket, and beside it a lock that the process which serves
the stream holds for as long as it lives. A socket whose lock nobody holds is left over from a
stream that was killed, and whoever takes the lock next replaces it.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from batchcast.errors import (
    ArgumentError,
    StreamError,
    StreamForeign,
    StreamNotFound,
    StreamTaken,
    lacks_files,
    nearest,
)

LONGEST_NAME = 64
"""Bytes of a stream's name; the kernel's addresses end at 108."""

_RETRY = 0.02
"""Seconds between two tries to reach a stream that is not there yet."""

_BACKLOG = 128
"""Readers that may have come and have not been let in yet."""

ANYBODYS = "/tmp"
"""Where everybody may make a folder, and nobody may take another one's away."""

_PRIVATE = 0o700

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Address:
    """A name that this process has taken.

    Attributes:
        name: of the stream.
        folder: that its files lie in.
        listener: readers connect to it.
        lock: a descriptor; the name is taken as long as any process has it open.
    """

    name: str
    folder: str
    listener: socket.socket
    lock: int

    def close(self) -> None:
        """Leave the name to whoever else has its descriptors."""
        self.listener.close()
        os.close(self.lock)


def checked_name(name: str) -> str:
    """The name, if a stream may have it."""
    fits = 0 < len(name.encode(errors="replace")) <= LONGEST_NAME and name not in {".", ".."}
    if not fits or not all(c.isalnum() or c in "-_." for c in name):
        raise ArgumentError(
            f"A stream's name is 1 to {LONGEST_NAME} letters, digits, '-', '_' or '.', "
            f"got {name!r}."
        )
    return name


def listen(name: str) -> Address:
    """Take a name, and listen under it.

    Raises:
        StreamTaken: a stream of that name runs already.
        StreamForeign: the folder of this user's streams is not this user's alone.
    """
    checked_name(name)
    first, *others = candidates()
    with _opened(first, make=True) as folder:
        if any(_answers(other, name) for other in others):
            raise _runs_already(name)
        lock = _taken(folder, name)
        if lock is None:
            raise _runs_already(name)
        _remove(folder, name)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(_within(folder, name))
        listener.listen(_BACKLOG)
    return Address(name, str(first), listener, lock)


def _runs_already(name: str) -> StreamTaken:
    return StreamTaken(
        f"A stream named '{name}' runs already on this machine. Give this one another name, or "
        "stop the other one first."
    )


def clear(name: str, folder: str) -> None:
    """Remove the files of a name that nobody holds any more."""
    with suppress(OSError, StreamError), _opened(Path(folder)) as found:
        lock = _taken(found, name)
        if lock is not None:
            _remove(found, name)
            os.unlink(_lock_of(name), dir_fd=found)
            os.close(lock)


def connect(name: str, *, patience: float) -> socket.socket:
    """A connection to the stream of that name, waiting so many seconds for it to appear.

    Raises:
        StreamNotFound: no such stream in that time.
        StreamForeign: the folder of this user's streams, or who serves there, is not this user's.
    """
    checked_name(name)
    until = time.monotonic() + patience
    while True:
        for place, candidate in enumerate(candidates()):
            # Somebody else's folder matters only where this user's streams would be shared.
            peer = _reached(candidate, name) if not place or _is_private(candidate) else None
            if peer is not None:
                return peer
        if time.monotonic() >= until:
            raise _not_found(name, patience)
        time.sleep(_RETRY)


def is_ours(peer: socket.socket) -> bool:
    """Whether the other end runs as this user; nobody else counts, not even root."""
    return user_of(peer) == os.geteuid()


def user_of(peer: socket.socket) -> int:
    """The number of the user that the other end runs as, as the kernel tells."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(user)


def running() -> list[str]:
    """Names of the streams of this user that run on this machine."""
    return sorted(
        name
        for candidate in candidates()
        for name in _names_in(candidate)
        if _answers(candidate, name)
    )


# Folders.


def candidates() -> Iterator[Path]:
    """Where streams of this user may be, first where new ones go."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and _is_private(runtime):
        yield Path(runtime) / "batchcast"
    yield Path(ANYBODYS) / f"batchcast-{os.geteuid()}"


def _is_private(path: str | Path) -> bool:
    """Whether a path is a folder that this user alone may enter."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return _is_ours_alone(found)


def _is_ours_alone(found: os.stat_result) -> bool:
    is_folder = stat.S_ISDIR(found.st_mode)
    return is_folder and found.st_uid == os.geteuid() and found.st_mode & 0o777 == _PRIVATE


@contextmanager
def _opened(path: Path, *, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder, so that nobody can put another one in its place.

    Raises:
        StreamForeign: it is not a folder, not this user's, or others may enter it.
        FileNotFoundError: there is none, and it is not to be made.
    """
    if make:
        with suppress(FileExistsError):
            path.mkdir(mode=_PRIVATE)
    try:
        folder = os.open(path, _OPEN)
    except FileNotFoundError:
        raise
    except OSError as error:
        if lacks_files(error):
            raise
        raise _foreign(path) from error
    try:
        if not _is_ours_alone(os.fstat(folder)):
            raise _foreign(path)
        yield folder
    finally:
        os.close(folder)


def _foreign(path: Path) -> StreamForeign:
    found = os.lstat(path)
    kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no folder"
    return StreamForeign(
        f"{path} is {kind} of user {found.st_uid} with mode {stat.S_IMODE(found.st_mode):o}. "
        f"Streams of user {os.geteuid()} lie in a folder of that user with mode 700, so nothing "
        "was read or written there. Remove it or have its owner do so, or set XDG_RUNTIME_DIR to "
        "a folder of yours with mode 700, the same for all processes of a stream."
    )


# Files of a name. A name holds no ':', so no stream's socket is another one's lock.


def _lock_of(name: str) -> str:
    return f"{name}:lock"


def _within(folder: int, name: str) -> str:
    """The address of a socket in an open folder, however long the folder's own path is."""
    return f"/proc/self/fd/{folder}/{name}"


def _taken(folder: int, name: str) -> int | None:
    """The lock of a name, or nothing where somebody else has it."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(_lock_of(name), flags, 0o600, dir_fd=folder)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        if _is_file(folder, _lock_of(name), lock):
            return lock
        os.close(lock)  # whoever held it before has just removed it


def _is_file(folder: int, name: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(name, dir_fd=folder), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _reached(candidate: Path, name: str) -> socket.socket | None:
    """A connection, once it is sure who serves; nothing where nobody does."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        with _opened(candidate) as folder:
            peer.connect(_within(folder, name))
    except OSError as error:
        peer.close()
        if lacks_files(error):
            raise
        return None
    except StreamForeign:
        peer.close()
        raise
    if not is_ours(peer):
        user = user_of(peer)
        peer.close()
        raise StreamForeign(
            f"The stream '{name}' is served by user {user}, and this process runs as user "
            f"{os.geteuid()}. A stream is for the processes of one user: run both as the same."
        )
    return peer


def _answers(candidate: Path, name: str) -> bool:
    """Whether a stream of that name is served there."""
    try:
        peer = _reached(candidate, name)
    except StreamForeign:
        return False
    if peer is not None:
        peer.close()
    return peer is not None


def _names_in(candidate: Path) -> list[str]:
    try:
        with _opened(candidate) as folder:
            return [name for name in os.listdir(folder) if ":" not in name]  # noqa: PTH208
    except (OSError, StreamForeign):
        return []


def _not_found(name: str, patience: float) -> StreamNotFound:
    known = running()
    listed = f" Running: {', '.join(known)}.{nearest(name, known)}" if known else " None runs."
    places = " or ".join(map(str, candidates()))
    return StreamNotFound(
        f"No stream named '{name}' was found on this machine in {patience:.2g} s, in {places}."
        f"{listed} Start it with share(...), or wait longer with attach(..., patience=...)."
    )
