"""What these scripts have in common: the same training over a loader of its own, or over a stream.

    python image_folder.py private     # as the script was before
    python image_folder.py shared      # two members over one stream

A script has `loader()`, which is what its author wrote, and `train(loader)`, whose loop is the same
over either; or `loaders()`, by name, and `train(loaders)`.
"""

import multiprocessing
import sys
import uuid
from contextlib import ExitStack

from foretrain import attach, share
from foretrain.errors import missing

try:
    import torch
except ModuleNotFoundError:
    sys.exit(missing("torch", what="this example"))

EPOCHS = 2

# What a loss comes to, to the last bit, hangs on the number of threads that add up.
torch.set_num_threads(1)


def member(train, *, names, results, number):
    """A process that trains over one stream, or several; nothing in it knows of the others."""
    with ExitStack() as stack:
        loaders = {
            key: stack.enter_context(attach(name, model=f"member-{number}"))
            for key, name in names.items()
        }
        results.put((number, train(loaders.get("", loaders))))


def trained(train, loader, *, count=2, epochs=EPOCHS, **shared):
    """What each of so many members came to, over one stream of this loader, or of each of these."""
    # A process that computed already must not be forked: its threads would be missing.
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["torch"])
    results = server.SimpleQueue()
    loaders = loader if isinstance(loader, dict) else {"": loader}
    names = {key: f"scripts-{uuid.uuid4().hex[:12]}" for key in loaders}
    with ExitStack() as stack:
        for key, each in loaders.items():
            stack.enter_context(
                share(each, name=names[key], epochs=epochs, readers=count, **shared)
            )
        started = [
            server.Process(
                target=member,
                args=(train,),
                kwargs={"names": names, "results": results, "number": number},
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
