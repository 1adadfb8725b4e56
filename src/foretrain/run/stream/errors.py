"""What can go wrong with a shared stream, each with a name of its own.

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
├── ReadOnly          a write into a batch that is lent
└── StreamOver        every epoch has been read
"""

from __future__ import annotations

from errno import EMFILE, ENFILE

from foretrain.errors import ForetrainError, InputError


class StreamError(ForetrainError):
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
        InputError,
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


def as_text(error: ForetrainError) -> bytes:
    """The error as it travels: its name, a line break, its message."""
    return f"{type(error).__name__}\n{error}".encode()[:60_000]


def from_text(body: bytes) -> ForetrainError:
    """The error that travelled."""
    name, _, message = body.decode(errors="replace").partition("\n")
    return CARRIED.get(name, StreamError)(message)
