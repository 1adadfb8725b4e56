"""A folder for the sockets of a loader's own workers, which they leave behind when killed.

Whoever shares the stream makes it, and the process that sees the stream's processes end removes it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from shutil import rmtree
from time import sleep

_TRIES, _PAUSE = 20, 0.01
"""How often a folder is removed, and seconds in between."""


def scratch() -> str:
    """A new folder."""
    return tempfile.mkdtemp(prefix="batchcast-")


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
