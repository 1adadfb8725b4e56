"""A folder for the sockets of a loader's own workers, which they leave behind when killed.

Whoever shares the stream names it, the stream's first process makes it, and the process that sees
that one end removes it. So nothing is left of whoever is killed before its stream runs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from secrets import token_urlsafe
from shutil import rmtree
from time import sleep

from batchcast.errors import ArgumentError

_TRIES, _PAUSE = 20, 0.01
"""How often a folder is removed, and seconds in between."""


def scratch() -> str:
    """The name of a new folder."""
    return str(Path(tempfile.gettempdir()) / f"batchcast-{token_urlsafe(6)}")


def make(folder: str | None) -> None:
    """Make the folder, if there is to be one, for this user alone.

    Raises:
        ArgumentError: it cannot be made there.
    """
    if folder is None:
        return
    try:
        Path(folder).mkdir(mode=0o700)
    except OSError as error:
        raise ArgumentError(
            f"{folder} cannot be made, for the sockets of the loader's workers: {error.strerror}. "
            "Make room there, or set TMPDIR to a folder that has some."
        ) from error


def use(folder: str | None) -> None:
    """Have this process, and those that it starts, put what is temporary there."""
    tempfile.tempdir = folder or tempfile.tempdir


def remove(folder: str | None) -> None:
    """Remove the folder, if there is one and nobody else has.

    A worker that is about to end may put something into it meanwhile; once it is gone, none can.
    """
    if folder is None:
        return
    for _ in range(_TRIES):
        rmtree(folder, ignore_errors=True)
        if not Path(folder).exists():
            return
        sleep(_PAUSE)
