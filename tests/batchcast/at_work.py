"""Streams that run, for tests: data sets that tell which sample is which, and other processes."""

import json
import os
import signal
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.batchcast.names import new_name
from tests.needs import needs

from batchcast.addresses import candidates
from batchcast.attachment import attach
from batchcast.stream import share

torch = needs("torch")

READERS_OWN = ("model", "private", "collate", "policy", "start", "drop_last", "lend")


def three(index):
    """A sample that holds its own id."""
    return torch.full((3,), float(index)), index


class Numbers:
    """Samples that hold their own id; a function makes them, which stands in a module."""

    def __init__(self, samples, sample=three):
        self.samples, self.sample = samples, sample

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        return self.sample(index)


def loader_of(samples, batch_size, **arguments):
    """A DataLoader over such samples."""
    return torch.utils.data.DataLoader(Numbers(samples), batch_size=batch_size, **arguments)


@contextmanager
def shared(source, **arguments):
    """A stream under a name of its own."""
    with share(source, name=new_name(), **arguments) as stream:
        yield stream


@contextmanager
def together(source, *batches, **arguments):
    """A stream and a reader in this process for each batch size; they wait for each other."""
    with ExitStack() as stack:
        stream = stack.enter_context(shared(source, readers=len(batches), **arguments))
        with ThreadPoolExecutor(len(batches)) as pool:
            futures = [
                pool.submit(attach, stream.name, batch_size=batch, model=f"m{index}")
                for index, batch in enumerate(batches)
            ]
            readers = [stack.enter_context(future.result()) for future in futures]
        yield stream, readers


@contextmanager
def alone(source, batch_size, *, state=None, **arguments):
    """A reader that has a stream for itself; its own arguments may be among those of the stream."""
    own = {key: arguments.pop(key) for key in READERS_OWN if key in arguments}
    with (
        shared(source, **arguments) as stream,
        attach(stream.name, batch_size=batch_size, state=state, **own) as loader,
    ):
        yield loader


def ids_of(loader):
    """Ids of the next epoch, a list for each batch; samples must be whole."""
    batches = []
    for numbers, labels in loader:
        assert (numbers == labels[:, None]).all()
        batches.append(labels.tolist())
    return batches


def flat(batches):
    """All ids of some batches."""
    return [each for batch in batches for each in batch]


class Elsewhere:
    """A function in a process of its own; what it yields can be waited for."""

    def __init__(self, function, *arguments, **named):
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if not self.pid:
            os.close(read)
            self._live(write, lambda: function(*arguments, **named))
        os.close(write)
        self._lines = os.fdopen(read)

    def _live(self, write, function):
        try:
            for value in function():
                os.write(write, (json.dumps(value) + "\n").encode())
        except BaseException as error:
            os.write(write, (json.dumps(f"{type(error).__name__}: {error}") + "\n").encode())
        finally:
            os._exit(0)

    def next(self):
        """What it yields next; nothing at its end."""
        line = self._lines.readline()
        return json.loads(line) if line else None

    def rest(self):
        """All that it yields until its end."""
        return [json.loads(line) for line in self._lines]

    def kill(self, number=signal.SIGKILL):
        """Send a signal."""
        os.kill(self.pid, number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._lines.close()
        for number in (signal.SIGCONT, signal.SIGKILL):
            self.kill(number)
        os.waitpid(self.pid, 0)


def read_elsewhere(name, **arguments):
    """Attach and yield the ids of every batch of every epoch."""
    epochs, pause = arguments.pop("epochs", 1), arguments.pop("pause", 0)
    with attach(name, **arguments) as loader:
        while loader.epoch < epochs:
            for _, labels in loader:
                yield labels.tolist()
                time.sleep(pause)


def children_of(pid):
    """Processes that this one started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def workers_of(stream):
    """Workers of a stream, or its feeder: the children of its zygote."""
    (zygote,) = children_of(stream.pid)
    return children_of(zygote)


def below(pid):
    """All processes that this one started, and those that they did."""
    return [each for child in children_of(pid) for each in (child, *below(child))]


def wait_until(true, seconds=5.0):
    """Seconds until something is so."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, "it never is"
        time.sleep(0.002)
    return time.monotonic() - began


def files_of(name):
    """What lies where this user's streams are found."""
    return [path for folder in candidates() for path in folder.glob(f"{name}*")]
