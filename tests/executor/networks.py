"""Small networks as data: every process builds the same weights and samples from a description."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from tests.executor.attention import Attention, Embedding, FeedForward, Norm
from tests.executor.experts import Experts
from tests.executor.layers import (
    Average,
    BatchNorm,
    Convolution,
    Flatten,
    Linear,
    MaxPool,
    Relu,
    Residual,
)


@dataclass(frozen=True)
class Pooling:
    size: int
    stride: int
    padding: int = 0


@dataclass(frozen=True)
class Stage:
    """A convolution, its norm if the network has norms, a ReLU, and a pooling."""

    channels: int
    size: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    pooling: Pooling | None = None


class Network:
    """Sections of layers, and samples with their targets."""

    def layers(self):
        return [layer for section in self.sections() for layer in section]

    @property
    def inputs(self):
        return self.samples[0]

    @property
    def targets(self):
        return self.samples[1]


@dataclass(frozen=True)
class Pictures(Network):
    """Convolutions with and without strides, and a fully connected layer that tells classes."""

    norms: bool
    average: bool = False
    batch: int = 8
    channels: int = 3
    side: int = 16
    dimensions: int = 2
    classes: int = 8
    stages: tuple[Stage, ...] = (
        Stage(channels=8, size=3, padding=1, pooling=Pooling(size=2, stride=2)),
        Stage(channels=8, size=3, stride=2, padding=1),
        Stage(channels=16, size=3, padding=1),
    )

    def sides(self):
        """Pixels of a side after each stage."""
        side, found = self.side, []
        for stage in self.stages:
            reach = stage.dilation * (stage.size - 1) + 1
            side = (side + 2 * stage.padding - reach) // stage.stride + 1
            if stage.pooling:
                pool = stage.pooling
                side = (side + 2 * pool.padding - pool.size) // pool.stride + 1
            found.append(side)
        return found

    @cached_property
    def samples(self):
        chance = np.random.default_rng(1)
        pictures = chance.standard_normal(
            (self.batch, self.channels, *[self.side] * self.dimensions)
        )
        return pictures, chance.integers(self.classes, size=self.batch)

    def sections(self):
        chance, channels, found = np.random.default_rng(2), self.channels, []
        for stage in self.stages:
            found.append(self._stage(chance, stage, channels))
            channels = stage.channels
        values = channels * (1 if self.average else self.sides()[-1] ** self.dimensions)
        weight = chance.standard_normal((values, self.classes)) / values**0.5
        head = Linear(weight, 0.1 * chance.standard_normal(self.classes))
        return [*found, [Average() if self.average else Flatten(), head]]

    def _stage(self, chance, stage, channels):
        shape = (stage.channels, channels, *[stage.size] * self.dimensions)
        weight = chance.standard_normal(shape) / np.prod(shape[1:]) ** 0.5
        convolution = Convolution(
            weight,
            0.1 * chance.standard_normal(stage.channels),
            stride=stage.stride,
            padding=stage.padding,
            dilation=stage.dilation,
            first=channels == self.channels,
        )
        found = [convolution]
        if self.norms:
            scale = 1.0 + 0.1 * chance.standard_normal(stage.channels)
            found.append(BatchNorm(scale, 0.1 * chance.standard_normal(stage.channels)))
        found.append(Relu())
        if stage.pooling:
            pool = stage.pooling
            found.append(MaxPool(pool.size, stride=pool.stride, padding=pool.padding))
        return found


@dataclass(frozen=True)
class Text(Network):
    """A decoder with grouped queries; dense, or with experts of which a token has a few."""

    batch: int = 4
    tokens: int = 16
    hidden: int = 16
    heads: int = 4
    kv_heads: int = 2
    width: int = 4
    feed_forward: int = 32
    vocabulary: int = 24
    blocks: int = 2
    experts: int = 0
    chosen: int = 1

    @cached_property
    def samples(self):
        words = np.random.default_rng(3).integers(self.vocabulary, size=(self.batch, self.tokens))
        return words, np.roll(words, -1, axis=1)

    def sections(self):
        chance = np.random.default_rng(4)
        blocks = [self._block(chance) for _ in range(self.blocks)]
        logits = Linear(self._matrix(chance, self.hidden, self.vocabulary))
        table = Embedding(chance.standard_normal((self.vocabulary, self.hidden)))
        return [[table], *blocks, [self._norm(chance), logits]]

    def _block(self, chance):
        query, keys = self.heads * self.width, self.kv_heads * self.width
        attention = Attention(
            query=self._matrix(chance, self.hidden, query),
            key=self._matrix(chance, self.hidden, keys),
            value=self._matrix(chance, self.hidden, keys),
            output=self._matrix(chance, query, self.hidden),
            width=self.width,
        )
        working = self._experts(chance) if self.experts else self._feed_forward(chance)
        return [
            Residual(self._norm(chance), attention),
            Residual(self._norm(chance), working),
        ]

    def _feed_forward(self, chance):
        return FeedForward(
            first=self._matrix(chance, self.hidden, self.feed_forward),
            second=self._matrix(chance, self.feed_forward, self.hidden),
        )

    def _experts(self, chance):
        into = [self._matrix(chance, self.hidden, self.feed_forward) for _ in range(self.experts)]
        out = [self._matrix(chance, self.feed_forward, self.hidden) for _ in range(self.experts)]
        return Experts(
            router=self._matrix(chance, self.hidden, self.experts),
            first=np.stack(into),
            second=np.stack(out),
            chosen=self.chosen,
        )

    def _norm(self, chance):
        return Norm(1.0 + 0.1 * chance.standard_normal(self.hidden))

    @staticmethod
    def _matrix(chance, inputs, outputs):
        return chance.standard_normal((inputs, outputs)) / inputs**0.5
