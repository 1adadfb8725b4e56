"""Spatial parallelism: members of a grid share the pixels of each sample.

A window at the edge of a part reaches into the parts beside it. Members hand one another what they
have of it dimension by dimension, so that the second one brings the corners of the first along.
"""

from math import prod

import numpy as np
from tests.executor.layers import Average, Convolution, MaxPool, Through
from tests.executor.rings import axes
from tests.executor.strategies.channels import divided
from tests.executor.strategies.data import part, share_statistics
from tests.executor.training import add_up_gradients, both_passes, learned, update, weighty

NAMES = ("first side of the grid", "second side of the grid", "third side of the grid")


class Grid:
    """The members that share a picture, as one of them sees them."""

    def __init__(self, member, grid, data, tensor):
        members, inner = prod(grid), {"tensor": tensor}
        sides = [*zip(NAMES, grid, strict=False)]
        found = axes(member, inner | dict(reversed(sides)))
        self.lines = [found[name] for name, _ in sides]
        self.tensor = found["tensor"]
        self.whole = axes(member, inner | {"grid": members})["grid"]
        self.replicas = axes(member, inner | {"grid": members, "data": data})["data"]
        self.everybody = axes(member, inner | {"all": members * data})["all"]
        # By name, and the dimension of pictures [sample, channel, side...] that it divides.
        self._along = [*zip(NAMES, range(2, 2 + len(grid)), self.lines, strict=False)]

    def part(self, pictures):
        """A member's pixels."""
        for _, dimension, line in self._along:
            pictures = np.split(pictures, line.size, axis=dimension)[line.place]
        return pictures

    def gather(self, pictures):
        """The whole pictures, of everybody's parts."""
        parts = self.whole.all_gather(pictures, "grid forward")
        for _, dimension, line in reversed(self._along):
            rows = range(0, len(parts), line.size)
            parts = [np.concatenate(parts[row : row + line.size], dimension) for row in rows]
        return parts[0]

    def with_borders(self, values, planes, *, outside, phase):
        """A part with what its windows read of others, and with what stands around a picture."""
        for name, dimension, line in self._along:
            lower, upper = _met(line, planes)
            to_lower, to_upper = _edges(values, planes, dimension)
            if line.place > 0 and planes[1]:
                line.send(line.place - 1, to_lower, f"{name} {phase}")
            if line.place + 1 < line.size and planes[0]:
                line.send(line.place + 1, to_upper, f"{name} {phase}")
            before = [line.receive(line.place - 1)] if lower else []
            after = [line.receive(line.place + 1)] if upper else []
            values = np.concatenate([*before, values, *after], axis=dimension)
        return np.pad(values, self._around(planes), constant_values=outside)

    def returned(self, values, planes, *, phase):
        """A part to which others have added what they have of its edges: the way back."""
        inside = zip(self._around(planes), values.shape, strict=True)
        values = values[tuple(slice(low, size - high) for (low, high), size in inside)]
        for name, dimension, line in reversed(self._along):
            lower, upper = _met(line, planes)
            ends = [lower, values.shape[dimension] - upper]
            before, values, after = np.split(values, ends, axis=dimension)
            if lower:
                line.send(line.place - 1, before, f"{name} {phase}")
            if upper:
                line.send(line.place + 1, after, f"{name} {phase}")
            of_lower, of_upper = _edges(values, planes, dimension)
            if line.place > 0 and planes[1]:
                of_lower += line.receive(line.place - 1)
            if line.place + 1 < line.size and planes[0]:
                of_upper += line.receive(line.place + 1)
        return values

    def _around(self, planes):
        """Planes before and after a part, along every dimension, that nobody has."""
        met = [_met(line, planes) for line in self.lines]
        missing = [(planes[0] - lower, planes[1] - upper) for lower, upper in met]
        return [(0, 0), (0, 0), *missing]


def _met(line, planes):
    """Planes that a member gets of the one before it and of the one after it."""
    lower, upper = planes
    return lower * (line.place > 0), upper * (line.place + 1 < line.size)


def _edges(values, planes, dimension):
    """What the member before and the one after read of a part: views, also of no plane."""
    lower, upper = planes
    ends = [upper, values.shape[dimension] - lower]
    if ends[0] <= ends[1]:
        first, _, last = np.split(values, ends, axis=dimension)
    else:
        # Both read the same planes of a part that is hardly as wide as a window.
        first, last = (np.split(values, [end], axis=dimension) for end in ends)
        first, last = first[0], last[1]
    return first, last


def _read(window):
    """Planes beyond the lower and the upper edge that windows read of the input."""
    return window.padding, max(0, window.reach - window.stride - window.padding)


class PartConvolution(Convolution):
    """A convolution of a part; the gradients of its input come from windows of other parts too."""

    def __init__(self, whole, grid):
        super().__init__(
            *whole.weights.values(),
            stride=whole.stride,
            padding=whole.padding,
            dilation=whole.dilation,
            first=whole.first,
        )
        self._grid = grid

    def pad(self, picture):
        return self._grid.with_borders(picture, _read(self), outside=0.0, phase="forward")

    def backward(self, gradient):
        self.learn(gradient)
        if self.first:
            return None
        stride, padding = self.stride, self.padding
        lower, upper = (self.reach - 1 - padding) // stride, (padding + stride - 1) // stride
        wide = self._grid.with_borders(gradient, (lower, upper), outside=0.0, phase="backward")
        start = stride * lower + padding
        inside = [slice(start, start + stride * side) for side in gradient.shape[2:]]
        sides = [
            max((count - 1) * stride + self.reach, each.stop)
            for count, each in zip(wide.shape[2:], inside, strict=True)
        ]
        return self.back(wide, sides)[:, :, *inside]


class PartMaxPool(MaxPool):
    """A pooling of a part. Who owns a window knows where its largest value is, and sends back."""

    def __init__(self, whole, grid):
        super().__init__(whole.size, stride=whole.stride, padding=whole.padding)
        self._grid = grid

    def pad(self, picture):
        return self._grid.with_borders(picture, _read(self), outside=-np.inf, phase="forward")

    def backward(self, gradient):
        return self._grid.returned(self.under(gradient), _read(self), phase="backward")


def train(member, network, data, sides, split, tensor=1, kind=None):
    """Spatial parallelism, and of its parts filter or channel parallelism."""
    grid = Grid(member, sides, data, tensor)
    sections = network.sections()
    front = split or len(network.stages) + network.average
    covered = [_in_parts(layer, grid) for section in sections[:front] for layer in section]
    if front <= len(network.stages):
        covered.append(Through(grid.gather, grid.part))
    behind = [layer for section in sections[front:] for layer in section]
    if kind:
        covered = [divided(layer, grid.tensor, kind) for layer in covered]
        behind = behind if split else [divided(layer, grid.tensor, kind) for layer in behind]
    share_statistics(covered, grid.everybody)
    share_statistics(behind, grid.replicas)
    inputs = grid.part(part(network.inputs, grid.replicas))
    targets = part(network.targets, grid.replicas)
    layers = [*covered, *behind]
    loss = both_passes(layers, inputs, targets, count=network.targets.size)
    for layer in _repeated(covered, behind):
        for name in layer.gradients:
            layer.gradients[name] /= grid.whole.size
    add_up_gradients(layers, grid.everybody)
    update(layers)
    return loss / (grid.whole.size * tensor), learned(layers)


def _in_parts(layer, grid):
    if isinstance(layer, Convolution):
        return PartConvolution(layer, grid)
    if isinstance(layer, MaxPool):
        return PartMaxPool(layer, grid)
    if isinstance(layer, Average):
        layer.group = grid.whole
    return layer


def _repeated(covered, behind):
    """Layers whose gradients all members of a grid have whole: what follows the whole picture."""
    averaged = [place for place, layer in enumerate(covered) if isinstance(layer, Average)]
    return weighty([*(covered[averaged[0] :] if averaged else []), *behind])
