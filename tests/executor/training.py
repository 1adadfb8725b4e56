"""One step of SGD: on one process alone, and what every strategy does to it at the end."""

import numpy as np
from tests.executor.layers import cross_entropy

RATE = 0.1


def both_passes(layers, inputs, targets, *, count):
    """Forward and backward through layers; the loss of these targets, of `count` in all."""
    values = inputs
    for layer in layers:
        values = layer.forward(values)
    loss, gradient = cross_entropy(values, targets, count=count)
    for layer in reversed(layers):
        gradient = layer.backward(gradient)
    return loss


def weighty(layers):
    """The layers that have weights, those inside others too, in order."""
    return [each for layer in layers for each in layer.inner() if each.weights]


def update(layers):
    for layer in weighty(layers):
        for name in layer.weights:
            layer.weights[name] -= RATE * layer.gradients[name]


def learned(layers, first=0):
    """Every weight by place and name, with the part of the whole weight that it is."""
    return {
        (first + place, name): (layer.parts[name], values)
        for place, layer in enumerate(weighty(layers))
        for name, values in layer.weights.items()
    }


def serial(network):
    """The loss and the weights after one step of one process."""
    layers = network.layers()
    count = network.targets.size
    loss = both_passes(layers, network.inputs, network.targets, count=count)
    update(layers)
    return loss, learned(layers)


def flat(layers):
    """All gradients in one row."""
    return np.concatenate(
        [each.gradients[name].ravel() for each in weighty(layers) for name in each.weights]
    )


def unflat(layers, row):
    """The gradients of `flat` put back."""
    for layer in weighty(layers):
        for values in layer.gradients.values():
            values[...] = row[: values.size].reshape(values.shape)
            row = row[values.size :]


def add_up_gradients(layers, group, purpose="gradients replicas"):
    """One all-reduce of all gradients."""
    unflat(layers, group.all_reduce(flat(layers), purpose))
