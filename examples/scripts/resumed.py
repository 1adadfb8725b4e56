"""A training that stops within an epoch and goes on in another process, at the next batch."""

import multiprocessing
import sys
import uuid

from foretrain import attach, share
from foretrain.errors import missing

try:
    import torch
    from torch.utils.data import DataLoader, TensorDataset
except ModuleNotFoundError:
    sys.exit(missing("torch", what="this example"))

STOP = 4
"""Batches after which it stops."""


def loader():
    return DataLoader(TensorDataset(torch.arange(26.0)), batch_size=4)


def first_half(name, results):
    with attach(name, model="resumed") as loader:
        seen = []
        for (batch,) in loader:
            seen.append(batch.tolist())
            if len(seen) == STOP:
                break
        results.put((seen, loader.state_dict()))


def second_half(name, state, results):
    with attach(name, model="resumed", state=state) as loader:
        results.put([batch.tolist() for (batch,) in loader])


def in_a_process(function, *arguments):
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["torch"])
    results = server.SimpleQueue()
    process = server.Process(target=function, args=(*arguments, results))
    process.start()
    found = results.get()
    process.join()
    return found


def halves():
    """What each half saw; between them nothing of the stream is left."""
    name = f"resumed-{uuid.uuid4().hex[:12]}"
    with share(loader(), name=name, epochs=1):
        seen, state = in_a_process(first_half, name)
    with share(loader(), name=name, epochs=1):
        return seen, in_a_process(second_half, name, state)


if __name__ == "__main__":
    print(halves())
