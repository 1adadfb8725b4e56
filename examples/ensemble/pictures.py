"""Pictures that are made up, and a small network that tells what is in them.

Each is stored compressed, as a photo would be; unpacking, cropping and scaling it takes a few
milliseconds, which is most of the work of training on it.
"""

import sys
import zlib

import numpy as np

from foretrain.errors import missing

try:
    import torch
    from torch import nn
except ModuleNotFoundError:
    sys.exit(missing("torch", what="this example"))

SIDE, CROP, KINDS = 256, 224, 4


class Pictures(torch.utils.data.Dataset):
    """Stripes in four directions, under noise."""

    def __init__(self, count=96):
        self.packed = [packed(place) for place in range(count)]

    def __len__(self):
        return len(self.packed)

    def __getitem__(self, place):
        return decode((self.packed[place], place % KINDS))


class PackedPictures(Pictures):
    """The same as bytes, which `decode` unpacks: reading and decoding apart."""

    def __getitem__(self, place):
        return self.packed[place], place % KINDS


def packed(place):
    """One picture as bytes."""
    random = np.random.default_rng(place)
    rows, columns = np.mgrid[:SIDE, :SIDE] / 2.0
    angle = np.pi * (place % KINDS) / KINDS
    stripes = np.sin(np.cos(angle) * columns + np.sin(angle) * rows + random.uniform(0, 6.3))
    noise = random.integers(0, 60, (SIDE, SIDE, 3))
    picture = (98 + 60 * stripes[..., None] + noise).astype(np.uint8) // 16 * 16
    return zlib.compress(picture.tobytes(), 1)


def decode(sample):
    """Unpack a picture, cut a piece out of it at random, perhaps mirror it, and scale it."""
    content, kind = sample
    picture = np.frombuffer(zlib.decompress(content), np.uint8).reshape(SIDE, SIDE, 3)
    top, left = np.random.randint(0, SIDE - CROP, 2)
    piece = picture[top : top + CROP, left : left + CROP]
    piece = piece[:, ::-1] if np.random.random() < 0.5 else piece
    return (piece.transpose(2, 0, 1).astype(np.float32) - 128) / 64, kind


def dataset():
    """What all members train on."""
    return PackedPictures()


def brighter(sample):
    """A transform of one member's own: a picture in another light."""
    picture, kind = sample
    return picture + torch.randn(()) / 4, kind


def build(width=8):
    """A network of one convolution."""
    return nn.Sequential(
        nn.Conv2d(3, width, 9, stride=8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(16 * width, KINDS),
    )
