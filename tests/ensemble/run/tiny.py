"""An ensemble so small that a test can train it; studies name its functions."""

import os
import random
import signal

import numpy as np
import torch
from torch import nn

SAMPLES, WIDTH = 24, 4


class Points(torch.utils.data.Dataset):
    def __init__(self, broken=None):
        self.broken = broken

    def __len__(self):
        return SAMPLES

    def __getitem__(self, place):
        if place == self.broken:
            raise ValueError("this sample is torn")
        return np.full(WIDTH, place / SAMPLES, np.float32), np.float32(place % 2)


def points():
    return Points()


def torn():
    return Points(broken=7)


def absent():
    raise FileNotFoundError("there is no folder of pictures")


def loader():
    return torch.utils.data.DataLoader(Points(), batch_size=5)


def beside(samples):
    """A collate function of the user's own."""
    return torch.utils.data.default_collate(samples)


def collated():
    return torch.utils.data.DataLoader(Points(), batch_size=5, collate_fn=beside)


def jitter(sample):
    values, wanted = sample
    return values + np.float32(random.gauss(0, 1)), wanted


def own(sample):
    values, wanted = sample
    return torch.as_tensor(values) + torch.rand(()), wanted


def build(width=3):
    layers = [nn.Linear(WIDTH, width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, 1)]
    return nn.Sequential(*layers, nn.Flatten(0))


def broken_model():
    raise RuntimeError("no such layer")


def no_model():
    return "a text"


class Dies(nn.Module):
    """Its process is killed in the middle of the first epoch."""

    def __init__(self):
        super().__init__()
        self.inner = build()
        self.steps = 0

    def forward(self, values):
        self.steps += 1
        if self.steps == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.inner(values)


class Draws(nn.Module):
    """Draws from every generator in each step, and writes into what it is given."""

    def __init__(self, seed):
        super().__init__()
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - as scripts do
        self.inner = build()

    def forward(self, values):
        values.mul_(1 + random.gauss(0, 0.1))
        values.data.add_(np.random.randn() + torch.rand(()).item())  # noqa: NPY002
        return self.inner(values)


def squared(model, batch):
    values, wanted = batch
    return ((model(values) - wanted) ** 2).mean()
