"""batchcast: one input pipeline, any number of training processes on one machine.

Whoever has a data set or a loader shares it, `share(loader, name="pictures")`; each process that
trains takes its batches with `attach("pictures")`, in the place of a DataLoader of its own. Every
sample is read and prepared once.

Public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module

_HOMES = {
    "ArgumentError": "batchcast.errors",
    "BatchcastError": "batchcast.errors",
    "MissingPackage": "batchcast.errors",
    "OtherSystem": "batchcast.errors",
    "Reader": "batchcast.reader",
    "Stream": "batchcast.stream",
    "StreamError": "batchcast.errors",
    "attach": "batchcast.attachment",
    "share": "batchcast.stream",
}

__all__ = [
    "ArgumentError",
    "BatchcastError",
    "MissingPackage",
    "OtherSystem",
    "Reader",
    "Stream",
    "StreamError",
    "attach",
    "share",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'batchcast' has no attribute '{name}'")
    found: object = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__
