"""Networks as users write them: nothing of foretrain is imported."""

import torch
from torch import nn


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions beside a shortcut."""

    def __init__(self, inputs, width, *, stride=1):
        super().__init__()
        outputs = 4 * width
        self.reduce = nn.Conv2d(inputs, width, 1, bias=False)
        self.reduce_norm = nn.BatchNorm2d(width)
        self.convolve = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.convolve_norm = nn.BatchNorm2d(width)
        self.expand = nn.Conv2d(width, outputs, 1, bias=False)
        self.expand_norm = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = None
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, picture):
        out = self.relu(self.reduce_norm(self.reduce(picture)))
        out = self.relu(self.convolve_norm(self.convolve(out)))
        out = self.expand_norm(self.expand(out))
        out += picture if self.shortcut is None else self.shortcut(picture)
        return self.relu(out)


class ResNet(nn.Module):
    """ResNet v1.5: the second convolution of a block strides."""

    def __init__(self, blocks, *, classes=1000):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.stem_norm = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        groups, inputs = [], 64
        for place, count in enumerate(blocks):
            width = 64 << place
            members = [Bottleneck(inputs, width, stride=1 if place == 0 else 2)]
            members += [Bottleneck(4 * width, width) for _ in range(count - 1)]
            groups.append(nn.Sequential(*members))
            inputs = 4 * width
        self.groups = nn.Sequential(*groups)
        self.classes = nn.Linear(inputs, classes)

    def forward(self, picture):
        out = self.pool(self.relu(self.stem_norm(self.stem(picture))))
        return self.classes(self.groups(out).mean((2, 3)))


def resnet_50():
    return ResNet((3, 4, 6, 3))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.feed_norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, stream):
        asked = self.norm(stream)
        stream = stream + self.attention(asked, asked, asked, need_weights=False)[0]
        return stream + self.feed(self.feed_norm(stream))


class SmallEncoder(nn.Module):
    """Tokens in, one class out; `sequence` of the study says how many tokens a sample has."""

    def __init__(self, *, vocabulary=32_000, width=512, heads=8, layers=6, longest=4096):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.zeros(longest, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.classes = nn.Linear(width, 10)

    def forward(self, tokens):
        stream = self.tokens(tokens) + self.positions[: tokens.shape[1]]
        for block in self.blocks:
            stream = block(stream)
        return self.classes(stream.mean(1))


def small_encoder():
    return SmallEncoder()
