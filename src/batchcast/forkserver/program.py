"""What the fork server's process does, from its first line on."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from batchcast.forkserver.fork import threads
from batchcast.forkserver.server import Server


def main(descriptor: int, told: dict[str, Any]) -> None:
    """Serve whoever started this process.

    Args:
        descriptor: of the connection to it.
        told: what to load before anything is forked, so that it is loaded once.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for name in told["preload"]:
        with suppress(ModuleNotFoundError):
            import_module(name)
    if threads() > 1:
        _again(descriptor, told)
    os.set_inheritable(descriptor, False)
    Server(socket.socket(fileno=descriptor), _begin).run()
    os._exit(0)  # taking PyTorch apart would take a tenth of a second, and serve nobody


def _again(descriptor: int, told: dict[str, Any]) -> None:
    """Start anew and load nothing: what was loaded starts threads."""
    if not told["preload"]:
        raise SystemExit("A fork server has more than one thread before it has loaded anything.")
    command = sys.orig_argv[:-1]
    os.execv(sys.executable, [*command, json.dumps({**told, "preload": []})])


def _begin(body: bytes, descriptors: Sequence[int]) -> None:
    run: Callable[[Sequence[int]], None] = pickle.loads(body)
    run(descriptors)
