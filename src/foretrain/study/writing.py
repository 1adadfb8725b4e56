"""The one door for bytes out: files that are whole or as they were, whatever happens meanwhile."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Final

from foretrain.errors import InputError

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
