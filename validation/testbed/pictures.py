"""Data sets of the test bed: one whose decoding only takes time, one that really decodes."""

from __future__ import annotations

import time
import zlib

import numpy as np
import torch
from torch.utils.data import Dataset

LATE = 0.002
"""Seconds of delay that a paced decoder makes up for; more was a wait for its turn."""


class Paced(Dataset[torch.Tensor]):
    """Samples that take a fixed time each, without a core: nodes may share cores."""

    def __init__(self, *, samples: int, sample_bytes: int, seconds: float) -> None:
        """So many samples of so many bytes, each ready after so many seconds."""
        self.samples, self.seconds = samples, seconds
        self._content = torch.arange(sample_bytes // 8)
        self._due = 0.0

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, number: int) -> torch.Tensor:
        """The sample, at its due time: errors of single sleeps do not add up."""
        now = time.perf_counter()
        self._due = max(self._due, now - LATE) + self.seconds
        time.sleep(max(0.0, self._due - now))
        return self._content + number


class Real(Dataset[torch.Tensor]):
    """Compressed pictures that are decompressed, cropped and mirrored; readers normalise."""

    def __init__(self, *, samples: int, side: int, crop: int) -> None:
        """So many pictures of so many pixels a side; a few different ones, again and again."""
        self.samples, self.side, self.crop = samples, side, crop
        draw = np.random.default_rng(0)
        waves = np.add.outer(np.arange(side), np.arange(side))[..., None] * (1, 2, 3)
        self._stored = [
            zlib.compress((waves + draw.integers(0, 32, waves.shape)).astype(np.uint8).tobytes())
            for _ in range(8)
        ]

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, number: int) -> torch.Tensor:
        """The picture's bytes, its crop and mirror drawn from its number."""
        pixels = np.frombuffer(zlib.decompress(self._stored[number % 8]), np.uint8)
        top, left = np.random.default_rng(number).integers(0, self.side - self.crop, 2)
        cut = pixels.reshape(self.side, self.side, 3)[top:, left:][: self.crop, : self.crop]
        mirrored = cut[:, :: 1 if number % 2 else -1]
        return torch.from_numpy(np.ascontiguousarray(mirrored))
