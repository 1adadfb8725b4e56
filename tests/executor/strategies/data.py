"""Data parallelism: replicas share the samples and add up their gradients."""

import numpy as np
from tests.executor.layers import BatchNorm
from tests.executor.rings import axes
from tests.executor.training import add_up_gradients, both_passes, learned, update


def part(values, group):
    """A member's samples."""
    return np.split(values, group.size)[group.place]


def share_statistics(layers, group):
    """Synchronised batch normalisation among the members of a group."""
    for layer in layers:
        if isinstance(layer, BatchNorm):
            layer.group = group


def train(member, network, data):
    group = axes(member, {"data": data})["data"]
    layers = network.layers()
    share_statistics(layers, group)
    inputs, targets = part(network.inputs, group), part(network.targets, group)
    loss = both_passes(layers, inputs, targets, count=network.targets.size)
    add_up_gradients(layers, group)
    update(layers)
    return loss, learned(layers)
