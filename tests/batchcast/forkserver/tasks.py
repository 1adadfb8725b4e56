"""What processes do in tests of the fork server; it stands in a module, so that it can be named."""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from batchcast.forkserver.fork import threads


def tell(value, pipe):
    os.write(pipe, (json.dumps(value) + "\n").encode())


def looks_around(descriptors):
    """What a clean process has."""
    own = Path("/proc/self/fd")
    links = {each.name: str(each.readlink()) for each in own.iterdir() if each.exists()}
    tell(
        {
            "pid": os.getpid(),
            "threads": threads(),
            "descriptors": sorted(map(int, links)),
            "session": os.getsid(0),
            "torch": "torch" in sys.modules,
            "input": links["0"],
        },
        descriptors[0],
    )


def opens(parcel, descriptors):
    """The type and the sum of what a parcel holds, and where we are."""
    value = parcel.arrived(descriptors[1:]).unpacked()
    told = {"type": type(value).__name__, "cwd": str(Path.cwd()), "env": os.environ.get("WP_TEST")}
    if isinstance(value, dict):
        told["sums"] = {key: float(np.asarray(each).sum()) for key, each in value.items()}
    tell(told, descriptors[0])


def sleeps(descriptors):
    tell(os.getpid(), descriptors[0])
    time.sleep(600)


def has_child(descriptors):
    """Sleep, beside a process in the same session that sleeps too."""
    child = os.fork()
    if not child:
        time.sleep(600)
    tell([os.getpid(), child], descriptors[0])
    time.sleep(600)


def ends(status, descriptors):
    os._exit(status)


def kills_itself(descriptors):
    os.kill(os.getpid(), signal.SIGKILL)


def leaves(path):
    """What a server does after a process has ended."""
    Path(path).touch()


class StartsThreads:
    """An object whose making starts a thread."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        return np.full(3, index, np.float32), index

    def __setstate__(self, state):
        self.__dict__.update(state)
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


class Refuses:
    """An object that can be taken apart and not put together again."""

    def __reduce__(self):
        return int, ("no number",)
