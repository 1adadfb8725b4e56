"""What can go wrong with a shared stream, each with a name of its own.

BatchcastError
├── ArgumentError         what you gave cannot be used as it is
├── MissingPackage        a package that this installation lacks
├── OtherSystem           an operating system that lacks what a stream is made of
└── StreamError           a stream cannot go on:

StreamError
├── StreamNotFound    no stream of that name runs on this machine
├── StreamTaken       a stream of that name runs already, or a reader of that name is attached
├── StreamForeign     another user serves the stream, or made the folder of this user's streams
├── StreamVersion     the other end speaks another version, or serves other data
├── StreamGarbled     the other end said what its version of the protocol does not allow
├── ProducerLost      the process that serves the stream has died or was stopped
├── SampleFailed      reading or transforming a sample raised, or its worker died on it
├── SpillFailed       what waits on disk for a slow reader could not be written or read
├── LengthChanged     the source no longer has as many samples as it had
├── LedgerMismatch    what a reader got is not what the epoch holds
├── NotHere           a part of a loader that is in the process that shares it
├── ReadOnly          a write into a batch that is lent
└── StreamOver        every epoch has been read

OtherOrder is a warning: a script's seed decides an order that its stream does not have.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from errno import EMFILE, ENFILE
from importlib.util import find_spec
from typing import Final

MOST_IN_A_LINE: Final = 4000
"""Characters of a line of a message: what a sample's error says may be of any length."""


class BatchcastError(Exception):
    """Something that who calls can mend."""

    def __init__(self, message: str = "") -> None:
        super().__init__("\n".join(line[:MOST_IN_A_LINE] for line in message.split("\n")))


class OtherOrder(UserWarning):
    """A script's seed would decide the order of a loader of its own, and not that of its stream."""


class ArgumentError(BatchcastError, ValueError):
    """An argument, or what it stands for, cannot be used."""


class MissingPackage(BatchcastError, ImportError):
    """A package that is not installed; also an ImportError, for who tries and does without."""


class OtherSystem(BatchcastError, NotImplementedError):
    """An operating system without what a stream is made of; also a NotImplementedError."""


class StreamError(BatchcastError):
    """A shared stream cannot go on; the message says what to do."""


class StreamNotFound(StreamError):
    """No stream of that name runs on this machine for this user."""


class StreamTaken(StreamError):
    """The name of a stream, or of a reader within it, is in use."""


class StreamForeign(StreamError):
    """Another user serves the stream, or made the folder where this user's streams should be."""


class StreamGarbled(StreamError):
    """The other end said what the protocol does not allow: nothing of it was used."""


class StreamVersion(StreamError):
    """The two ends do not fit: another version, or other data than a saved state is about."""


class ProducerLost(StreamError):
    """The process that serves the stream has died or was stopped."""


class SampleFailed(StreamError):
    """A sample could not be read, transformed or stored."""


class SpillFailed(StreamError):
    """The samples of a reader with policy "spill" could not be kept on disk."""


class LengthChanged(StreamError):
    """The source has another number of samples than before."""


class LedgerMismatch(StreamError):
    """The samples of an epoch that a reader got are not those that the epoch holds."""


class NotHere(StreamError, AttributeError):
    """A part of a loader that only the process that shares it has; also an AttributeError."""


class ReadOnly(StreamError):
    """A write into a batch that was lent."""


class StreamOver(StreamError):
    """Every epoch of the stream has been read."""


def lacks_files(error: OSError) -> bool:
    """Whether this process, or the machine, has as many files open as it may have."""
    return error.errno in (EMFILE, ENFILE)


def too_many_files(stream: str) -> StreamError:
    """A process has as many files open as it may have."""
    return StreamError(
        f"The stream '{stream}' needs a few more open files in this process, which has as many "
        "open as it may have. Close some, or allow more with 'ulimit -n'."
    )


CARRIED = {
    each.__name__: each
    for each in (
        ArgumentError,
        LengthChanged,
        SampleFailed,
        SpillFailed,
        StreamError,
        StreamGarbled,
        StreamOver,
        StreamTaken,
        StreamVersion,
    )
}
"""Errors that one process finds and another raises, by the name that travels."""


def as_text(error: Exception) -> bytes:
    """The error as it travels: its name, a line break, its message."""
    return f"{type(error).__name__}\n{error}".encode()[:60_000]


def from_text(body: bytes) -> BatchcastError:
    """The error that travelled; a StreamError where its name is none of those that do."""
    name, _, message = body.decode(errors="replace").partition("\n")
    return CARRIED.get(name, StreamError)(message)


def require_linux(*, what: str) -> None:
    """Go on only on Linux.

    Raises:
        OtherSystem: this is another system, with what does without a stream there.
    """
    if not sys.platform.startswith("linux"):
        raise OtherSystem(
            f"{what} needs Linux, and this is {sys.platform}: it takes memory without a name that "
            "cannot shrink, sockets that keep packets whole and tell who is at their other end, "
            "and processes that end with those that started them. Here, give each member a "
            "DataLoader of its own; Linux in a container or a virtual machine will do."
        )


def require_torch(*, what: str) -> None:
    """Go on only where PyTorch is installed; it is looked for and not loaded.

    Raises:
        MissingPackage: it is not, with what to install.
    """
    if find_spec("torch") is None:
        raise MissingPackage(
            f'{what} needs PyTorch, which is not installed: pip install "foretrain[torch]" (without'
            " a GPU, first: pip install torch --index-url https://download.pytorch.org/whl/cpu)."
        )


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known word, or an empty text where none is near."""
    matches = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean '{matches[0]}'?" if matches else ""
