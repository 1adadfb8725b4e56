"""Sharding: replicas divide what belongs to a parameter, section by section.

What a member does not own of a section is not a number until it is gathered.
"""

import numpy as np
from tests.executor.layers import Layer, Row, cross_entropy
from tests.executor.rings import axes
from tests.executor.strategies.data import part, share_statistics
from tests.executor.training import RATE, flat, learned, weighty

OPTIMIZER, GRADIENTS, PARAMETERS = 1, 2, 3


class Section(Layer):
    """The layers of a section, whose parameters a group divides as far as `kind` says."""

    def __init__(self, layers, group, *, kind, reshard):
        super().__init__()
        self.layers, self._group, self._kind, self._reshard = layers, group, kind, reshard
        self.weight = np.split(self._weights(), group.size)[group.place]
        self.gradient = np.zeros_like(self.weight)
        if kind == PARAMETERS:
            self._put(np.full(group.size * self.weight.size, np.nan))

    def inner(self):
        return weighty(self.layers)

    def forward(self, values):
        if self._kind == PARAMETERS and np.isnan(self._weights()).any():
            self.gather()
        for layer in self.layers:
            values = layer.forward(values)
        self._drop()
        return values

    def backward(self, gradient):
        if self._kind == PARAMETERS and self._reshard:
            self.gather()
        for layer in reversed(self.layers):
            gradient = layer.backward(gradient)
        self._drop()
        if self._kind >= GRADIENTS:
            self.reduce()
        return gradient

    def reduce(self):
        """Add up what the passes left, each owner its part, and clear it."""
        parts = np.split(flat(self.layers), self._group.size)
        self.gradient += self._group.reduce_scatter(parts, "gradients shard")
        for layer in weighty(self.layers):
            for values in layer.gradients.values():
                values[...] = 0.0

    def gather(self):
        self._put(np.concatenate(self._group.all_gather(self.weight, "parameters shard")))

    def own(self):
        """Say what this member owns and nothing else."""
        row = np.full((self._group.size, self.weight.size), np.nan)
        row[self._group.place] = self.weight
        self._put(row.ravel())

    def _drop(self):
        if self._kind == PARAMETERS and self._reshard:
            self._put(np.full(self._group.size * self.weight.size, np.nan))

    def _weights(self):
        found = [values.ravel() for each in self.inner() for values in each.weights.values()]
        return np.concatenate(found)

    def _put(self, row):
        for layer in self.inner():
            for values in layer.weights.values():
                values[...] = row[: values.size].reshape(values.shape)
                row = row[values.size :]


def train(member, network, replicas, shard, kind, reshard, micro_batches):
    groups = axes(member, {"shard": shard, "across": replicas // shard, "data": 1})
    everybody = axes(member, {"data": replicas})["data"]
    sections = [
        Section(layers, groups["shard"], kind=kind, reshard=reshard)
        for layers in network.sections()
    ]
    for section in sections:
        share_statistics(section.layers, everybody)
    loss = _passes(sections, network, everybody, micro_batches)
    for section in sections:
        if kind == OPTIMIZER:
            section.reduce()
        gradient = groups["across"].all_reduce(section.gradient, "gradients across")
        section.weight -= RATE * gradient
        if kind < PARAMETERS:
            section.gather()
        else:
            section.own()
    return loss, learned(sections)


def _passes(sections, network, everybody, micro_batches):
    loss = 0.0
    inputs, targets = part(network.inputs, everybody), part(network.targets, everybody)
    pairs = zip(np.split(inputs, micro_batches), np.split(targets, micro_batches), strict=True)
    row = Row(*sections)
    for values, told in pairs:
        found, gradient = cross_entropy(row.forward(values), told, count=network.targets.size)
        loss += found
        row.backward(gradient)
    return loss
