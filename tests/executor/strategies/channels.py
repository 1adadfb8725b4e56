"""Filter and channel parallelism: members share the channels that convolutions make, or read.

Between convolutions every member has whole pictures. A fully connected layer is a convolution of
the whole picture.
"""

import numpy as np
from tests.executor.layers import Convolution, Linear, Row, maps
from tests.executor.rings import axes
from tests.executor.strategies.data import part, share_statistics
from tests.executor.strategies.tensor import BACKWARD, FORWARD, slice_of
from tests.executor.training import add_up_gradients, both_passes, learned, update


class Filters(Row):
    """Some of the filters: the result is gathered, gradients of the input are added up."""

    def __init__(self, whole, group):
        self._group = group
        self._mine = slice_of(len(whole.weights["bias"]), group)
        super().__init__(whole.part(self._mine))

    def forward(self, picture):
        return np.concatenate(self._group.all_gather(super().forward(picture), FORWARD), axis=1)

    def backward(self, gradient):
        back = super().backward(gradient[:, self._mine])
        return None if back is None else self._group.all_reduce(back, BACKWARD)


class Channels(Row):
    """Some channels of every filter: results are added up, gradients of the input gathered."""

    def __init__(self, whole, group):
        self._group = group
        self._mine = slice_of(whole.weights["weight"].shape[1], group)
        super().__init__(whole.part((slice(None), self._mine)))

    def forward(self, picture):
        [own] = self.layers
        partial = own.products(own.pad(picture[:, self._mine]))
        total = self._group.all_reduce(partial, FORWARD)
        return total + maps(own.weights["bias"], picture)

    def backward(self, gradient):
        return np.concatenate(self._group.all_gather(super().backward(gradient), BACKWARD), axis=1)


class FilterLinear(Linear):
    """Some outputs of a fully connected layer."""

    def __init__(self, whole, group):
        weight, bias = whole.weights.values()
        mine = slice_of(len(bias), group)
        super().__init__(weight[:, mine].copy(), bias[mine].copy())
        self.parts = {"weight": (slice(None), mine), "bias": mine}
        self._group, self._mine = group, mine

    def forward(self, values):
        return np.concatenate(self._group.all_gather(super().forward(values), FORWARD), axis=1)

    def backward(self, gradient):
        return self._group.all_reduce(super().backward(gradient[:, self._mine]), BACKWARD)


class ChannelLinear(Linear):
    """Some inputs of a fully connected layer."""

    def __init__(self, whole, group):
        weight, bias = whole.weights.values()
        mine = slice_of(len(weight), group)
        super().__init__(weight[mine].copy(), bias)
        self.parts["weight"] = mine
        self._group, self._mine = group, mine

    def forward(self, values):
        mine = values[:, self._mine]
        self.keep(mine)
        return self._group.all_reduce(mine @ self.weights["weight"], FORWARD) + self.weights["bias"]

    def backward(self, gradient):
        return np.concatenate(self._group.all_gather(super().backward(gradient), BACKWARD), axis=1)


def train(member, network, data, tensor, kind, split):
    groups = axes(member, {"tensor": tensor, "data": data})
    sections = network.sections()
    front = split or len(sections)
    layers = [
        divided(layer, groups["tensor"], kind) if place < front else layer
        for place, section in enumerate(sections)
        for layer in section
    ]
    share_statistics(layers, groups["data"])
    inputs, targets = part(network.inputs, groups["data"]), part(network.targets, groups["data"])
    loss = both_passes(layers, inputs, targets, count=network.targets.size)
    add_up_gradients(layers, groups["data"])
    update(layers)
    return loss / tensor, learned(layers)


def divided(layer, group, kind):
    """Samples have too few channels to divide."""
    if isinstance(layer, Linear):
        return {Filters: FilterLinear, Channels: ChannelLinear}[kind](layer, group)
    if not isinstance(layer, Convolution):
        return layer
    return layer if kind is Channels and layer.first else kind(layer, group)
