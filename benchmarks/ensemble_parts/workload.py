"""The workload of every row: small pictures on disk, their preprocessing, a light network.

Preprocessing is what a training script usually does with Pillow and NumPy; the network is so light
that what is measured is the way in which samples reach it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import Dataset

PICTURES, EDGE, CROP = 2_000, 256, 224
BATCH = 25
CLASSES = 10
QUALITY, NOISE, COARSE = 85, 12.0, 16
"""JPEG quality, deviation of the noise (grey levels) and edge of the pattern: about 20 kB each."""

DARKEST, APART, LEVELS = 72, 16, 8
"""Grey levels: a picture's brightness tells its number modulo LEVELS, so content can be checked."""

MEAN = np.array([0.485, 0.456, 0.406])
DEVIATION = np.array([0.229, 0.224, 0.225])

PLAIN, LIGHT = 4, 6
"""Every how manieth pixel of a row and column the network sees."""


def draw(folder: Path, count: int = PICTURES) -> None:
    """Writes the pictures, always the same ones."""
    drawn = np.random.default_rng(0)
    for number in range(count):
        coarse = drawn.integers(0, 128, (COARSE, COARSE, 3), dtype=np.uint8)
        smooth = Image.fromarray(coarse).resize((EDGE, EDGE), Image.Resampling.BICUBIC)
        pixels = np.asarray(smooth) + drawn.normal(0, NOISE, (EDGE, EDGE, 3))
        pixels += DARKEST + APART * (number % LEVELS) - pixels.mean((0, 1))
        shown = pixels.clip(0, 255).astype(np.uint8)
        Image.fromarray(shown).save(_path(folder, number), quality=QUALITY)


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:05}.jpg"


class Pictures(Dataset):  # type: ignore[type-arg, misc]
    """Decoded, randomly cropped and flipped, normalised pictures with their numbers."""

    def __init__(self, folder: Path, count: int = PICTURES) -> None:
        self._paths = [str(_path(folder, number)) for number in range(count)]

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        """Float32, channels first, and the number of the picture."""
        with Image.open(self._paths[number]) as picture:
            pixels = np.asarray(picture.convert("RGB"))
        top, left = random.randrange(EDGE - CROP + 1), random.randrange(EDGE - CROP + 1)
        pixels = pixels[top : top + CROP, left : left + CROP]
        if random.random() < 0.5:
            pixels = pixels[:, ::-1]
        normal = ((pixels / 255.0 - MEAN) / DEVIATION).astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(normal.transpose(2, 0, 1))), number


def network(every: int) -> Callable[[Tensor, Tensor], None]:
    """One step of a new network that sees every so manieth pixel; takes pictures and numbers."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, CLASSES)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(pictures: Tensor, numbers: Tensor) -> None:
        seen = pictures[:, :, ::every, ::every].contiguous()
        loss = nn.functional.cross_entropy(model(seen), numbers % CLASSES)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def is_its_number(picture: Tensor, number: int) -> bool:
    """Whether the brightness of a preprocessed picture is the one that its number asks for."""
    red = float(picture[0, ::8, ::8].mean()) * DEVIATION[0] + MEAN[0]
    return round((255.0 * red - DARKEST) / APART) == number % LEVELS


ROWS, WIDTH, ROWS_BATCH = 20_000, 16, 100
"""Light data: rows of so many numbers, and so many of them in a batch."""


class Rows(Dataset):  # type: ignore[type-arg, misc]
    """Rows of numbers that are in memory already, each filled with its own number."""

    def __init__(self, count: int = ROWS) -> None:
        self._values = torch.arange(count, dtype=torch.float32)[:, None].repeat(1, WIDTH)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        """Float32, and the number of the row."""
        return self._values[number], number


def looked_at() -> Callable[[Tensor, Tensor], None]:
    """A step that only looks at a batch."""

    def step(rows: Tensor, numbers: Tensor) -> None:
        assert rows.shape[0] == len(numbers)

    return step


def is_its_row(row: Tensor, number: int) -> bool:
    """Whether a row is filled with its number."""
    return bool((row == number).all())
