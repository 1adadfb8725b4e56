"""Orders of every kind: by length, weight, rank and epoch, or own ones; workers that draw."""

import random

import members
import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    Sampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    get_worker_info,
)

COUNT = 23


class Rows(Dataset):
    """Rows with noise, which a worker draws from all three generators."""

    def __init__(self, *, noisy=False):
        self.noisy = noisy

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        row = torch.tensor([float(index), index % 3])
        if self.noisy:
            row += torch.rand(2) + random.random() + np.random.rand()
        return row, index


class ByLength(Sampler):
    """Batches of rows that are about as long, in numbers that differ."""

    def __iter__(self):
        yield from ([0, 5, 10], [1], [2, 3, 4, 6, 7])

    def __len__(self):
        return 3


class Shuffled(Sampler):
    """An order that goes on from epoch to epoch by itself."""

    def __init__(self):
        self.epoch = 0

    def __iter__(self):
        order = list(range(COUNT))
        random.Random(self.epoch).shuffle(order)
        self.epoch += 1
        return iter(order)

    def __len__(self):
        return COUNT


def seeded(worker):
    """Each worker has generators of its own, as forums advise."""
    assert get_worker_info().id == worker
    np.random.seed(100 + worker)
    random.seed(worker)
    torch.manual_seed(worker)


def generator():
    return torch.Generator().manual_seed(3)


def loaders():
    weights = torch.arange(COUNT) + 1.0
    by_weight = WeightedRandomSampler(weights, 30, generator=generator())
    some = SubsetRandomSampler(range(5, 20), generator=generator())
    rank = DistributedSampler(Rows(), num_replicas=2, rank=1, seed=3)
    drawing = {"num_workers": 2, "worker_init_fn": seeded, "persistent_workers": True}
    return {
        "by length": DataLoader(Rows(), batch_sampler=ByLength()),
        "by weight": DataLoader(Rows(), 4, sampler=by_weight),
        "some": DataLoader(Rows(), 4, sampler=some),
        "own": DataLoader(Rows(), 4, sampler=Shuffled()),
        "a rank's": DataLoader(Rows(), 4, sampler=rank),
        "drawn": DataLoader(Rows(noisy=True), 4, shuffle=True, generator=generator(), **drawing),
    }


def train(loaders):
    torch.manual_seed(0)
    seen = []
    for name, loader in loaders.items():
        for epoch in range(members.EPOCHS):
            if hasattr(loader.sampler, "set_epoch"):
                loader.sampler.set_epoch(epoch)
            seen += [(name, rows.tolist(), places.tolist()) for rows, places in loader]
        seen.append((len(loader), len(loader.dataset)))
    return [*seen, torch.rand(()).item()]


if __name__ == "__main__":
    members.main(loaders, train)
