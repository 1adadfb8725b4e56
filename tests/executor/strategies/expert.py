"""Expert parallelism: replicas share the experts, and send tokens to those who have theirs.

A token goes once to each member that has any of its experts, which adds up what they make of it.
"""

import numpy as np
from tests.executor.experts import Experts
from tests.executor.layers import Row
from tests.executor.rings import axes
from tests.executor.strategies.data import part
from tests.executor.strategies.tensor import slice_of
from tests.executor.training import add_up_gradients, both_passes, learned, update

FORWARD, BACKWARD = "expert forward", "expert backward"


class SharedExperts(Experts):
    """A member's experts, and the way to those of the others."""

    def __init__(self, whole, group):
        mine = slice_of(whole.count, group)
        super().__init__(
            whole.weights["router"],
            whole.weights["first"][mine].copy(),
            whole.weights["second"][mine].copy(),
            chosen=whole.chosen,
        )
        self.parts["first"] = self.parts["second"] = mine
        self._group = group
        self._kept_way = []

    def run(self, rows, choice, gates):
        weights = np.zeros((len(rows), self.count))
        np.put_along_axis(weights, choice, gates, axis=1)
        columns = np.split(weights, self._group.size, axis=1)
        sent = [np.flatnonzero(each.any(axis=1)) for each in columns]
        told = [each[mine] for each, mine in zip(columns, sent, strict=True)]
        came = self._group.all_to_all([rows[mine] for mine in sent], FORWARD)
        weighed = self._group.all_to_all(told, "gates")
        self._kept_way.append((sent, [len(each) for each in came], len(rows)))
        made = self.work(np.concatenate(came), np.concatenate(weighed))
        return self._returned(made, FORWARD, self._kept_way[-1])

    def run_back(self, gradient, choice):
        way = self._kept_way.pop(0)
        sent, lengths, tokens = way
        came = self._group.all_to_all([gradient[mine] for mine in sent], BACKWARD)
        back, slopes = self.work_back(np.concatenate(came))
        found = self._returned(back, BACKWARD, way)
        parts = self._group.all_to_all(np.split(slopes, np.cumsum(lengths)[:-1]), "gates")
        every = np.zeros((tokens, self._group.size, parts[0].shape[1]))
        for place, (mine, values) in enumerate(zip(sent, parts, strict=True)):
            every[mine, place] = values
        return found, np.take_along_axis(every.reshape(tokens, -1), choice, axis=1)

    def _returned(self, rows, purpose, way):
        """What came back of each token, added up."""
        sent, lengths, tokens = way
        parts = self._group.all_to_all(np.split(rows, np.cumsum(lengths)[:-1]), purpose)
        found = np.zeros((tokens, rows.shape[1]))
        for mine, values in zip(sent, parts, strict=True):
            found[mine] += values
        return found


def train(member, network, data, expert):
    groups = axes(member, {"expert": expert, "copies": data // expert})
    everybody = axes(member, {"data": data})["data"]
    layers = network.layers()
    for residual in (each for each in layers if isinstance(each, Row)):
        if isinstance(residual.layers[1], Experts):
            shared = SharedExperts(residual.layers[1], groups["expert"])
            residual.layers = (residual.layers[0], shared)
    inputs, targets = part(network.inputs, everybody), part(network.targets, everybody)
    loss = both_passes(layers, inputs, targets, count=network.targets.size)
    _add_up(layers, everybody, groups["copies"])
    update(layers)
    return loss, learned(layers)


def _add_up(layers, everybody, copies):
    """The gradients of experts over those that have the same, all others over all."""
    experts = [each for layer in layers for each in layer.inner() if isinstance(each, Experts)]
    mine = [_Only(each, ("first", "second")) for each in experts]
    rest = [
        _Only(each, [name for name in each.weights if name not in ("first", "second")])
        if isinstance(each, Experts)
        else each
        for layer in layers
        for each in layer.inner()
    ]
    add_up_gradients(rest, everybody)
    add_up_gradients(mine, copies)


class _Only:
    """Some of the weights of a layer."""

    def __init__(self, layer, names):
        self.weights = {name: layer.weights[name] for name in names}
        self.gradients = {name: layer.gradients[name] for name in names}

    def inner(self):
        return [self]
