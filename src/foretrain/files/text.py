"""Text files: from bytes on a disk to characters, with every way in which that fails."""

from __future__ import annotations

from pathlib import Path

from foretrain.errors import InputError
from foretrain.units import BYTES


def read_text(path: Path, *, most: int) -> str:
    """The characters of a file; a byte order mark is none.

    Args:
        path: the file.
        most: bytes that a sensible file has at most.

    Raises:
        InputError: if it cannot be read, is larger, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; a file is wanted.") from None
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)!r}: cannot be read: {reason}.") from None
    if len(content) > most:
        raise InputError(f"{path}: is larger than {BYTES.write(most)}, the most that is read.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} (0x{content[error.start]:02x}) is not UTF-8 text."
        ) from None
