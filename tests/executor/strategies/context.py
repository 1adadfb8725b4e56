"""Context parallelism: members share the tokens of each sample, in a ring, all keys or by heads.

A member has one block of tokens from the front and one from the back of a sample.
"""

import numpy as np
from tests.executor.attention import Attention, attend, attend_back
from tests.executor.layers import Row
from tests.executor.rings import axes
from tests.executor.training import add_up_gradients, both_passes, learned, update

FORWARD, BACKWARD = "context forward", "context backward"


def places_of(place, members, tokens):
    """Tokens of a member."""
    blocks = np.split(np.arange(tokens), 2 * members)
    return np.concatenate([blocks[place], blocks[2 * members - 1 - place]])


class Ring:
    """Keys and values go round, and in the backward pass their gradients behind them."""

    def __init__(self, group, tokens):
        self._group = group
        self._places = [places_of(each, group.size, tokens) for each in range(group.size)]
        self._kept = []

    def forward(self, query, key, value):
        mine, members = self._group.place, self._group.size
        block, output, logarithm = np.stack([key, value]), 0.0, -np.inf
        for step in range(members):
            places = (self._places[mine], self._places[(mine - step) % members])
            found, seen = attend(query, *block, places=places)
            both = np.logaddexp(logarithm, seen)
            output = output * np.exp(logarithm - both) + found * np.exp(seen - both)
            logarithm = both
            if step < members - 1:
                block = self._group.turn(block, FORWARD)
        self._kept.append((query, key, value, output, logarithm))
        return output

    def backward(self, gradient):
        """The gradients of a block start behind its owner and reach it last, complete."""
        query, key, value, *results = self._kept.pop(0)
        mine, members = self._group.place, self._group.size
        block, partial, slope = np.stack([key, value]), 0.0, 0.0
        for step in range(members):
            other = (mine - step - 1) % members
            block = np.stack([key, value]) if other == mine else self._group.turn(block, BACKWARD)
            places = (self._places[mine], self._places[other])
            of_query, *of_block = attend_back(gradient, (query, *block), results, places=places)
            slope = slope + of_query
            partial = partial + np.stack(of_block)
            if step < members - 1:
                partial = self._group.turn(partial, BACKWARD)
        return slope, *partial


class Gathered:
    """Keys and values of all are gathered in either pass, sums of gradients scattered."""

    def __init__(self, group, tokens):
        self._group = group
        order = [places_of(each, group.size, tokens) for each in range(group.size)]
        self._places = (order[group.place], np.concatenate(order))
        self._kept = []

    def forward(self, query, key, value):
        results = attend(query, *self._all(key, value, FORWARD), places=self._places)
        self._kept.append((query, key, value, *results))
        return results[0]

    def backward(self, gradient):
        query, key, value, *results = self._kept.pop(0)
        inputs = (query, *self._all(key, value, BACKWARD))
        slope, *of_all = attend_back(gradient, inputs, results, places=self._places)
        parts = np.split(np.stack(of_all), self._group.size, axis=3)
        return slope, *self._group.reduce_scatter(parts, BACKWARD)

    def _all(self, key, value, purpose):
        return np.concatenate(self._group.all_gather(np.stack([key, value]), purpose), axis=3)


class Heads:
    """Members exchange their tokens for heads, and back."""

    def __init__(self, group, tokens):
        self._group = group
        order = [places_of(each, group.size, tokens) for each in range(group.size)]
        self._places = (np.concatenate(order),) * 2
        self._kept = []

    def forward(self, *heads):
        inputs = tuple(self._to_heads(each, FORWARD) for each in heads)
        results = attend(*inputs, places=self._places)
        self._kept.append((inputs, results))
        return self._to_tokens(results[0], FORWARD)

    def backward(self, gradient):
        inputs, results = self._kept.pop(0)
        given = self._to_heads(gradient, BACKWARD)
        found = attend_back(given, inputs, results, places=self._places)
        return tuple(self._to_tokens(each, BACKWARD) for each in found)

    def _to_heads(self, values, purpose):
        parts = np.split(values, self._group.size, axis=1)
        return np.concatenate(self._group.all_to_all(parts, purpose), axis=2)

    def _to_tokens(self, values, purpose):
        parts = np.split(values, self._group.size, axis=2)
        return np.concatenate(self._group.all_to_all(parts, purpose), axis=1)


def tokens_of(network, group):
    """Places of the tokens that a member has of every sample."""
    return places_of(group.place, group.size, network.tokens)


def share_tokens(layers, network, group, core=Ring):
    """Let the queries of a member meet the keys of all."""
    for residual in (each for each in layers if isinstance(each, Row)):
        if isinstance(residual.layers[1], Attention):
            residual.layers[1].core = core(group, network.tokens)


def train(member, network, context, core):
    group = axes(member, {"context": context})["context"]
    mine = tokens_of(network, group)
    layers = network.layers()
    share_tokens(layers, network, group, core)
    inputs, targets = network.inputs[:, mine], network.targets[:, mine]
    loss = both_passes(layers, inputs, targets, count=network.targets.size)
    add_up_gradients(layers, group)
    update(layers)
    return loss, learned(layers)
