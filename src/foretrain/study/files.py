"""The doors for bytes: in, where a document is checked before anything reads it, and out.

What a document may hold at most, whichever it is: checked before anything reads it.

Checked without recursion, so that what follows may recurse.

The one door for bytes in: what a file holds, with every way in which that fails.

The one door for bytes out: files that are whole or as they were, whatever happens meanwhile.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import secrets
import select
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Final

from foretrain.errors import InputError, shortened
from foretrain.study.problems import Key, written
from foretrain.units import BYTES, as_written

DEEPEST: Final = 20
MOST_ITEMS: Final = 100_000
MOST_LETTERS: Final = 10_000
LARGEST: Final = 2**63 - 1
"""The largest whole number of TOML, and of what reads JSON into 64 bits."""

MOST_DIGITS: Final = 4300
"""Digits in a row: of more Python makes no number, since that takes time by their square."""

TOO_LONG: Final = re.compile(rf"(?<!\d)\d{{{MOST_DIGITS + 1},}}")

Place = tuple[tuple[Key, ...], object]


def check_bounds(document: object, where: str) -> None:
    """Refuse a document that is out of all proportion.

    Args:
        document: tables, lists and values, as a file or a program gave them.
        where: what to call it in messages.

    Raises:
        InputError: it is nested too deeply, or a list, a text or a whole number is too large.
    """
    layer: list[Place] = [((), document)]
    for _ in range(DEEPEST + 1):
        for path, value in layer:
            if why := _against(value):
                raise InputError(f"{where}: {written(path)}{': ' if path else ''}{why}")
        layer = [((*path, key), item) for path, value in layer for key, item in _inside(value)]
    if layer:
        raise InputError(f"{where}: is nested too deeply; at most {DEEPEST} levels are read.")


def _against(value: object) -> str:
    """What is out of proportion in a value itself; empty if nothing is."""
    if isinstance(value, str) and len(value) > MOST_LETTERS:
        return f"{as_written(value)} has {len(value):,} letters; at most {MOST_LETTERS:,} are read."
    if isinstance(value, list | Mapping) and len(value) > MOST_ITEMS:
        return f"has {len(value):,} entries; at most {MOST_ITEMS:,} are read."
    if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
        return f"{as_written(value)} is a whole number of more than 64 bits."
    return ""


def _inside(value: object) -> Iterable[tuple[Key, object]]:
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    return enumerate(value) if isinstance(value, list) else ()


CHUNK: Final = 2**20
PATIENCE: Final = 10.0
"""Seconds for which a pipe may say nothing: one to which nobody ever writes must not hold us."""

MOST_NAMED: Final = 300
"""Characters of a path that a message names."""

GZIP: Final = b"\x1f\x8b"
OTHER_PACKING: Final[Mapping[bytes, str]] = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
}
"""What begins so is packed in a way that we do not unpack."""

UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path, *, most: int) -> str:
    """The characters of a file, packed by gzip or not; a byte order mark is none.

    Args:
        path: the file.
        most: bytes that a sensible file has at most, unpacked.

    Raises:
        InputError: if it cannot be read, is larger, is not UTF-8, or holds endless digits.
    """
    content = read_bytes(path, most=most)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"byte {error.start} (0x{content[error.start]:02x}) is not UTF-8 text"
        told = ": it begins like UTF-16" if content.startswith(UTF_16) else ""
        raise InputError(f"{_named(path)}: {what}{told}. Save it as UTF-8.") from None
    _check_digits(text, path)
    return text


def _check_digits(text: str, path: Path) -> None:
    """Refuse digits in a row that Python makes no number of, wherever they are read later."""
    half = MOST_DIGITS // 2  # a row of more digits fills one piece of that length from end to end
    if not any(text[at : at + half].isdecimal() for at in range(0, len(text) - half + 1, half)):
        return
    found = TOO_LONG.search(text)
    if found:
        line, many = text.count("\n", 0, found.start()) + 1, len(found[0])
        raise InputError(
            f"{_named(path)}: line {line} holds a number of {many:,} digits; at most"
            f" {MOST_DIGITS:,} are read."
        )


def read_bytes(path: Path, *, most: int) -> bytes:
    """The bytes of a file, unpacked where gzip has packed it.

    Args:
        path: the file; a pipe will do.
        most: bytes that a sensible file has at most, unpacked.

    Raises:
        InputError: if it cannot be read, or is larger.
    """
    with _told(path), _opened(path) as file:
        chunks, taken = list[bytes](), 0
        while taken <= most:
            # What can be read at once; of a pipe, as soon as somebody has written to it.
            if not select.select([file], [], [], PATIENCE)[0]:
                raise TimeoutError(0, f"nothing was written to this pipe for {PATIENCE:g} s")
            chunk = os.read(file, min(CHUNK, most + 1 - taken))
            if not chunk:
                break
            chunks.append(chunk)
            taken += len(chunk)
        content = b"".join(chunks)
        if content.startswith(GZIP) and len(content) <= most:
            content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(most + 1)
    if len(content) > most:
        raise InputError(
            f"{_named(path)}: is larger than {BYTES.write(most)}, the most that is read."
        )
    for magic, name in OTHER_PACKING.items():
        if content.startswith(magic):
            raise InputError(f"{_named(path)}: is packed by {name}. Unpack it, or use gzip.")
    return content


def check_file(path: Path) -> None:
    """Refuse what is no file, before a library opens it that reads formats of its own.

    Raises:
        InputError: it cannot be opened, or is no file.
    """
    with _told(path), _opened(path):
        pass


def exists(path: Path) -> bool:
    """Whether there is something at a path; False also for a path that no file can have."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What fails, in words."""
    try:
        yield
    except IsADirectoryError:
        raise InputError(f"{_named(path)}: is a folder; a file is wanted.") from None
    except FileNotFoundError:
        raise InputError(f"{_named(path)}: there is no such file.") from None
    except EOFError:
        raise InputError(f"{_named(path)}: cannot be unpacked: its end is missing.") from None
    except (zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{_named(path)}: cannot be unpacked: {error}.") from None
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{_named(path)}: cannot be read: {reason}.") from None


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The descriptor of a file or a pipe; opening waits for nobody."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise InputError(f"{_named(path)}: is a device; a file is wanted.")
        yield descriptor
    finally:
        os.close(descriptor)


def _named(path: Path) -> str:
    """A path in messages, which may be of any length and hold any character but NUL."""
    return shortened(str(path), most=MOST_NAMED)


PART: Final = ".part"
"""How the name of a file ends that is still being written."""

EVERYBODY: Final = 0o666
"""Permissions of a new file, before the mask of the process takes its share."""


def write_text(path: Path, text: str) -> None:
    """A text file, in UTF-8.

    Raises:
        InputError: it cannot be written; what was there before still is.
    """
    content = text.encode()
    write_whole(path, lambda file: file.write(content))


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """A file that others see as it was or as it is now, never in between; also after a reboot.

    It is written beside its place and takes it in one step. A link stays one, to the new content.
    What is no file (a terminal, a pipe) is written as it goes.

    Args:
        path: where it is to be.
        write: puts the content into an open file.

    Raises:
        InputError: it cannot be written; what was there before still is.
    """
    try:
        place = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, NUL in a name
        raise unwritable(path, error) from error
    try:
        if place.exists() and not place.is_file():
            with place.open("wb") as device:
                write(device)
        else:
            _replace(place, write)
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: Exception) -> InputError:
    """What to say of a file that cannot be written."""
    reason = getattr(error, "strerror", None) or error
    return InputError(f"{path} cannot be written: {reason}.")


def _replace(place: Path, write: Callable[[IO[bytes]], object]) -> None:
    before = place.stat().st_mode & 0o7777 if place.exists() else None
    part = place.with_name(f".{secrets.token_hex(8)}{PART}")
    try:
        # The mask of the process takes its share of a new file's permissions, as always.
        with open(part, "xb", opener=partial(os.open, mode=before or EVERYBODY)) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            part.chmod(before)
        part.replace(place)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    # Make the new name outlive a power failure, where the system can.
    with suppress(OSError):
        number = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
