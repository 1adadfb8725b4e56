"""What these scripts have in common: the same training over a loader of its own, or over a stream.

    python image_folder.py private     # as the script was before
    python image_folder.py shared      # two members over one stream

A script has `loader()`, which is what its author wrote, and `train(loader)`, whose loop is the same
over either.
"""

import multiprocessing
import sys
import uuid

from foretrain import attach, share
from foretrain.errors import missing

try:
    import torch
except ModuleNotFoundError:
    sys.exit(missing("torch", what="this example"))

EPOCHS = 2

# What a loss comes to, to the last bit, hangs on the number of threads that add up.
torch.set_num_threads(1)


def member(train, *, name, results, number):
    """A process that trains over the stream; nothing in it knows of the others."""
    with attach(name, model=f"member-{number}") as loader:
        results.put((number, train(loader)))


def trained(train, loader, *, count=2, epochs=EPOCHS, **shared):
    """What each of so many members came to, over one stream of this loader."""
    # A process that computed already must not be forked: its threads would be missing.
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["torch"])
    results, name = server.SimpleQueue(), f"scripts-{uuid.uuid4().hex[:12]}"
    with share(loader, name=name, epochs=epochs, readers=count, **shared):
        started = [
            server.Process(
                target=member,
                args=(train,),
                kwargs={"name": name, "results": results, "number": number},
            )
            for number in range(count)
        ]
        for each in started:
            each.start()
        found = dict(results.get() for _ in started)
        for each in started:
            each.join()
    return [found[number] for number in range(count)]


def main(loader, train, **shared):
    """Train in the way that the command line says, and print what it came to."""
    if sys.argv[1:] == ["private"]:
        print(train(loader()))
    else:
        for found in trained(train, loader(), **shared):
            print(found)
