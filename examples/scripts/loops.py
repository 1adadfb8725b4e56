"""Loops of every kind: endless, by steps, over two loaders, in a thread; epochs that differ."""

import queue
import threading
from itertools import chain, cycle, islice

import members
import torch
from torch.utils.data import ChainDataset, DataLoader, IterableDataset, TensorDataset, random_split

EPOCHS = 4
"""That the loops below take of each loader, at most."""


class Lines(IterableDataset):
    """Lines of a file, fewer of them every time that it is read."""

    def __init__(self, first, last):
        self.first, self.last = first, last

    def __iter__(self):
        self.last -= 1
        return iter(range(self.first, self.last))


class Endless(IterableDataset):
    """What a simulator gives."""

    def __iter__(self):
        drawn = torch.Generator().manual_seed(3)
        while True:
            yield torch.rand(2, generator=drawn)


class ByEpoch(TensorDataset):
    """Rows that grow with the epoch."""

    epoch = None

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __getitem__(self, index):
        return super().__getitem__(index)[0] * (self.epoch + 1)


def loaders():
    rows = TensorDataset(torch.arange(46.0).reshape(23, 2))
    train, held_out = random_split(rows, [0.7, 0.3], torch.Generator().manual_seed(0))
    return {
        "train": DataLoader(train, 4),
        "held out": DataLoader(held_out, 2),
        "lines": DataLoader(ChainDataset([Lines(0, 9), Lines(20, 26)]), 3),
        "endless": DataLoader(Endless(), 3),
        "by epoch": DataLoader(ByEpoch(torch.arange(6.0)), 4),
    }


def by_steps(loader):
    """So many steps, whatever an epoch is; gradients of three are put together."""
    steps, total = iter(loader), torch.zeros(2)
    for step in range(1, 10):
        try:
            (rows,) = next(steps)
        except StopIteration:
            steps = iter(loader)
            (rows,) = next(steps)
        total += rows.sum(0)
        if step % 3 == 0:
            yield total.tolist()
            total.zero_()
    yield from (rows.tolist() for (rows,) in steps)  # what is left of the epoch


def in_a_thread(loader):
    """A thread fetches while the loop is at work."""
    fetched = queue.Queue(2)
    fetching = threading.Thread(target=lambda: [fetched.put(each) for each in chain(loader, [0])])
    fetching.start()
    yield from (rows.tolist() for (rows,) in iter(fetched.get, 0))
    fetching.join()


def train(loaders):
    data, held_out = loaders["train"], loaders["held out"]
    seen = [list(by_steps(data)), list(in_a_thread(data))]
    seen.append(
        [(a.tolist(), b.tolist()) for (a,), (b,) in zip(data, cycle(held_out), strict=False)]
    )
    with torch.no_grad():
        mean = sum(rows.sum() for (rows,) in held_out) / len(held_out.dataset)
    seen.append((mean.item(), len(held_out), held_out.batch_size, held_out.num_workers))
    seen += [[rows.tolist() for rows in loaders["lines"]] for _ in range(EPOCHS)]
    seen += [[rows.tolist() for rows in islice(loaders["endless"], many)] for many in (5, 2)]
    for epoch in range(EPOCHS):
        loaders["by epoch"].dataset.set_epoch(epoch)
        seen.append([rows.tolist() for rows in loaders["by epoch"]])
    return seen


if __name__ == "__main__":
    members.main(loaders, train, epochs=EPOCHS)
