"""Layers in NumPy, forward and backward written out, in the precision of their input.

Pictures are [sample, channel, side...], of one or more sides.

A layer keeps what its backward pass needs of each pass until that pass comes, first in, first out;
gradients of weights add up over the passes. `parts` says which part of a weight a member has, as an
index into the whole one.
"""

from copy import copy

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

WHOLE = ...


class Layer:
    """Weights, their gradients, and what passes have kept."""

    def __init__(self, **weights):
        self.weights = weights
        self.gradients = {name: np.zeros_like(values) for name, values in weights.items()}
        self.parts = dict.fromkeys(weights, WHOLE)
        self._kept = []

    def keep(self, *values):
        self._kept.append(values)

    def kept(self):
        return self._kept.pop(0)

    def add(self, **gradients):
        for name, values in gradients.items():
            self.gradients[name] += values

    def inner(self):
        """This layer and those that it is made of."""
        return [self]


class Row(Layer):
    """Layers one after the other."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = layers

    def forward(self, values):
        for layer in self.layers:
            values = layer.forward(values)
        return values

    def backward(self, gradient):
        for layer in reversed(self.layers):
            gradient = layer.backward(gradient)
        return gradient

    def inner(self):
        return [each for layer in self.layers for each in layer.inner()]


class Residual(Row):
    """What a row of layers makes of a value is added to it."""

    def forward(self, values):
        return values + super().forward(values)

    def backward(self, gradient):
        return gradient + super().backward(gradient)


class Through(Layer):
    """A function of values in each direction, without weights."""

    def __init__(self, forward, backward):
        super().__init__()
        self.forward, self.backward = forward, backward


class Linear(Layer):
    """A fully connected layer over the last dimension."""

    def __init__(self, weight, bias=None):
        super().__init__(weight=weight, **({} if bias is None else {"bias": bias}))

    def forward(self, values):
        self.keep(values)
        return values @ self.weights["weight"] + self.weights.get("bias", 0.0)

    def backward(self, gradient):
        [values] = self.kept()
        rows, given = values.reshape(-1, values.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
        self.add(weight=rows.T @ given)
        if "bias" in self.weights:
            self.add(bias=given.sum(axis=0))
        return gradient @ self.weights["weight"].T


class Relu(Layer):
    def forward(self, values):
        self.keep(values > 0)
        return np.maximum(values, 0.0)

    def backward(self, gradient):
        [positive] = self.kept()
        return gradient * positive


class Flatten(Layer):
    def forward(self, values):
        self.keep(values.shape)
        return values.reshape(len(values), -1)

    def backward(self, gradient):
        [shape] = self.kept()
        return gradient.reshape(shape)


def covered(size, dilation):
    """Pixels from the first to the last that a window reads, along one dimension."""
    return dilation * (size - 1) + 1


def windows(picture, size, *, stride, dilation=1):
    """What the windows read of pictures. [sample, channel, place..., place in the window...]"""
    dimensions = sides_of(picture)
    reach = (covered(size, dilation),) * len(dimensions)
    found = sliding_window_view(picture, reach, axis=dimensions)
    places = [slice(None, None, stride)] * len(dimensions)
    taps = [slice(None, None, dilation)] * len(dimensions)
    return found[:, :, *places, *taps]


def spread(values, sides, *, stride, dilation=1):
    """The pixels that windows read, added up from what each gives: `windows` turned around."""
    places, taps = values.shape[2 : 2 + len(sides)], values.shape[2 + len(sides) :]
    found = np.zeros((*values.shape[:2], *sides))
    for tap in np.ndindex(taps):
        starts = [dilation * one for one in tap]
        ends = [start + stride * count for start, count in zip(starts, places, strict=True)]
        pixels = [slice(*each, stride) for each in zip(starts, ends, strict=True)]
        found[:, :, *pixels] += values[..., *tap]
    return found


def sides_of(picture):
    """The dimensions of [sample, channel, side...] along which there are pixels."""
    return tuple(range(2, picture.ndim))


class Window(Layer):
    """What convolutions and poolings have in common: a window that slides over a padded picture."""

    outside = 0.0
    """What stands around a picture."""

    def __init__(self, size, *, stride=1, padding=0, dilation=1, **weights):
        super().__init__(**weights)
        self.size, self.stride, self.padding, self.dilation = size, stride, padding, dilation

    @property
    def reach(self):
        return covered(self.size, self.dilation)

    def forward(self, picture):
        return self.over(self.pad(picture))

    def pad(self, picture):
        around = [(self.padding,) * 2 for _ in sides_of(picture)]
        return np.pad(picture, [(0, 0), (0, 0), *around], constant_values=self.outside)

    def backward(self, gradient):
        padded = self.under(gradient)
        inside = [slice(self.padding, -self.padding or None) for _ in sides_of(padded)]
        return padded[:, :, *inside]


class Convolution(Window):
    """Weights [filter, channel, side...], and a bias for each filter.

    The `first` one reads samples, which need no gradient.
    """

    def __init__(self, weight, bias, *, stride=1, padding=0, dilation=1, first=False):
        super().__init__(
            weight.shape[-1],
            stride=stride,
            padding=padding,
            dilation=dilation,
            weight=weight,
            bias=bias,
        )
        self.first = first

    def part(self, index):
        """The same with some of the filters, or some channels of all of them."""
        found = copy(self)
        weight, bias = (values.copy() for values in self.weights.values())
        whole = isinstance(index, tuple)
        Layer.__init__(found, weight=weight[index].copy(), bias=bias if whole else bias[index])
        found.parts = {"weight": index, "bias": WHOLE if whole else index}
        return found

    def over(self, padded):
        """The output of a picture that has its borders."""
        return self.products(padded) + maps(self.weights["bias"], padded)

    def products(self, padded):
        """The same without the bias."""
        read = windows(padded, self.size, stride=self.stride, dilation=self.dilation)
        self.keep(padded)
        sides = sides_of(padded)
        taps = [len(sides) + side for side in sides]
        found = np.tensordot(read, self.weights["weight"], axes=((1, *taps), (1, *sides)))
        return np.moveaxis(found, -1, 1)

    def learn(self, gradient):
        """The gradients of the weights, from that of the output; returns the padded sides."""
        [padded] = self.kept()
        read = windows(padded, self.size, stride=self.stride, dilation=self.dilation)
        self.add(
            weight=np.tensordot(gradient, read, axes=[(0, *sides_of(gradient))] * 2),
            bias=gradient.sum(axis=(0, *sides_of(gradient))),
        )
        return padded.shape[2:]

    def back(self, gradient, sides):
        """The gradient of a padded input of those sides."""
        read = np.tensordot(gradient, self.weights["weight"], axes=(1, 0))
        given = np.moveaxis(read, 1 + len(sides), 1)
        return spread(given, sides, stride=self.stride, dilation=self.dilation)

    def backward(self, gradient):
        if not self.first:
            return super().backward(gradient)
        self.learn(gradient)
        return None

    def under(self, gradient):
        return self.back(gradient, self.learn(gradient))


class MaxPool(Window):
    outside = -np.inf

    def over(self, padded):
        read = windows(padded, self.size, stride=self.stride)
        flat = read.reshape(*read.shape[: padded.ndim], -1)
        self.keep(flat.argmax(axis=-1), padded.shape[2:])
        return flat.max(axis=-1)

    def under(self, gradient):
        largest, sides = self.kept()
        taps = [self.size for _ in sides]
        ones = np.arange(np.prod(taps)) == largest[..., np.newaxis]
        shape = (*gradient.shape, *taps)
        given = (ones * gradient[..., np.newaxis]).reshape(shape)
        return spread(given, sides, stride=self.stride)


class Average(Layer):
    """The mean of each map over all its pixels, those of the other members of `group` too."""

    group = None

    def forward(self, picture):
        self.keep(picture.shape)
        sums = picture.sum(axis=sides_of(picture))
        if self.group:
            sums = self.group.all_reduce(sums, "grid forward")
        return sums / self._pixels(picture.shape)

    def backward(self, gradient):
        [shape] = self.kept()
        each = (gradient / self._pixels(shape)).reshape(*shape[:2], *(1 for _ in shape[2:]))
        return np.broadcast_to(each, shape)

    def _pixels(self, shape):
        return np.prod(shape[2:]) * (self.group.size if self.group else 1)


class BatchNorm(Layer):
    """Statistics over all samples and pixels, those of the other members of `group` too."""

    group = None

    def __init__(self, scale, shift):
        super().__init__(scale=scale, shift=shift)

    def forward(self, picture):
        count = picture[:, 0].size * (self.group.size if self.group else 1)
        rest = (0, *sides_of(picture))
        sums = np.stack([picture.sum(axis=rest), (picture**2).sum(axis=rest)])
        mean, square = self._of_all(sums) / count
        deviation = np.sqrt(square - mean**2 + 1e-5)
        normal = (picture - maps(mean, picture)) / maps(deviation, picture)
        self.keep(normal, deviation, count)
        scale, shift = (maps(each, picture) for each in self.weights.values())
        return normal * scale + shift

    def backward(self, gradient):
        normal, deviation, count = self.kept()
        rest = (0, *sides_of(gradient))
        mine = np.stack([gradient.sum(axis=rest), (gradient * normal).sum(axis=rest)])
        self.add(shift=mine[0], scale=mine[1])
        mean, slope = self._of_all(mine) / count
        inner = gradient - maps(mean, gradient) - normal * maps(slope, gradient)
        return inner * maps(self.weights["scale"] / deviation, gradient)

    def _of_all(self, sums):
        return self.group.all_reduce(sums, "statistics") if self.group else sums


def maps(numbers, picture):
    """A number per channel, as wide as pictures."""
    return numbers.reshape(-1, *(1 for _ in sides_of(picture)))


def cross_entropy(scores, targets, *, count):
    """The loss, and its gradient, of these targets; `count` are averaged over in all."""
    largest = scores.max(axis=-1, keepdims=True)
    exponents = np.exp(scores - largest)
    total = exponents.sum(axis=-1, keepdims=True)
    hit = np.arange(scores.shape[-1]) == targets[..., np.newaxis]
    loss = (np.log(total) + largest).sum() - scores[hit].sum()
    return loss / count, (exponents / total - hit) / count
