"""Scripts that seed PyTorch at their beginning, and shuffle, draw, look and leave as they like."""

import random

import members
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler, WeightedRandomSampler

ROWS = 41


class Rows(Dataset):
    """Rows of numbers, to which an augmentation adds what these generators draw."""

    def __init__(self, *drawn):
        self.drawn = drawn

    def __len__(self):
        return ROWS

    def __getitem__(self, index):
        noise = {"torch": lambda: torch.rand(()).item(), "numpy": np.random.rand}
        noise["python"] = lambda: random.gauss(0, 1)
        return torch.tensor([index / ROWS, sum(noise[each]() for each in self.drawn), 1.0])


def loaders():
    """By name, each as its author wrote it; what follows the dash is what the script does."""
    every = ("torch", "numpy", "python")
    weights = [1.0] * (ROWS - 8) + [4.0] * 8
    return {
        "shuffled": DataLoader(Rows(), 6, shuffle=True),
        "shuffled - drops": DataLoader(Rows(), 6, shuffle=True, num_workers=2),
        "augmented": DataLoader(Rows(*every), 6, shuffle=True),
        "augmented - mixes": DataLoader(Rows("python"), 6, drop_last=True),
        "augmented by workers - drops, mixes": DataLoader(
            Rows(*every), 6, shuffle=True, num_workers=2
        ),
        "workers that stay - drops": DataLoader(
            Rows(*every), 6, shuffle=True, num_workers=1, persistent_workers=True
        ),
        "weighted - drops, leaves": DataLoader(
            Rows(), 6, sampler=WeightedRandomSampler(weights, ROWS)
        ),
        "subset - looks, leaves": DataLoader(Rows(), 6, sampler=SubsetRandomSampler(range(20))),
    }


def train(loaders):
    """Each from the same seed, as if it were a script of its own."""
    losses = []
    for name, loader in loaders.items():
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        does = name.partition(" - ")[2]
        if "looks" in does:
            losses += next(iter(loader)).sum(0).tolist()
        model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.3 if "drops" in does else 0.0))
        for _ in range(members.EPOCHS):
            for number, rows in enumerate(loader):
                if "leaves" in does and number == 3:
                    break
                mixed = rows * (np.random.beta(2.0, 2.0) if "mixes" in does else 1.0)
                losses.append(model(mixed).square().mean().item())
        losses += [torch.rand(()).item(), np.random.rand(), random.random()]
    return losses


if __name__ == "__main__":
    for name, each in loaders().items():
        print(name)
        members.main(lambda name=name, each=each: {name: each}, train)
