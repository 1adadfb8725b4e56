"""A folder for the sockets of a loader's own workers, which they leave behind when killed.

The conductor, its owner and every reader know of it, and whoever sees the stream end removes it.
"""

from __future__ import annotations

from shutil import rmtree
from tempfile import mkdtemp


def scratch() -> str:
    """A new folder."""
    return mkdtemp(prefix="foretrain-")


def remove(folder: str | None) -> None:
    """Remove the folder, if there is one and nobody else has."""
    if folder is not None:
        rmtree(folder, ignore_errors=True)
