"""Pipeline parallelism: stages of sections, one forward and one backward pass in turn.

With a single micro-batch nothing overlaps: that is a split by layers without a pipeline.
"""

from itertools import accumulate

import numpy as np
from tests.executor.layers import Row, cross_entropy
from tests.executor.rings import axes
from tests.executor.strategies.data import part
from tests.executor.training import add_up_gradients, learned, update, weighty


class Stage:
    """The sections of one member, and its neighbours."""

    def __init__(self, sections, network, group, micro_batches, samples):
        self.row = Row(*(layer for section in sections for layer in section))
        self.loss = 0.0
        self._group, self._count = group, network.targets.size
        self._inputs, self._targets = (np.split(each, micro_batches) for each in samples)
        self._given = []

    def forward(self):
        place, last = self._group.place, self._group.size - 1
        values = self._inputs.pop(0) if place == 0 else self._group.receive(place - 1)
        values = self.row.forward(values)
        if place < last:
            self._group.send(place + 1, values, "pipeline forward")
            return
        loss, gradient = cross_entropy(values, self._targets.pop(0), count=self._count)
        self.loss += loss
        self._given.append(gradient)

    def backward(self):
        place, last = self._group.place, self._group.size - 1
        gradient = self._given.pop(0) if place == last else self._group.receive(place + 1)
        gradient = self.row.backward(gradient)
        if place > 0:
            self._group.send(place - 1, gradient, "pipeline backward")


def train(member, network, cut, micro_batches, data=1):
    groups = axes(member, {"data": data, "pipeline": len(cut)})
    group = groups["pipeline"]
    ends = [0, *accumulate(cut)]
    sections = network.sections()
    before = [layer for section in sections[: ends[group.place]] for layer in section]
    mine = sections[ends[group.place] : ends[group.place + 1]]
    samples = [part(each, groups["data"]) for each in network.samples]
    stage = Stage(mine, network, group, micro_batches, samples)
    ahead = min(group.size - 1 - group.place, micro_batches)
    for _ in range(ahead):
        stage.forward()
    for _ in range(micro_batches - ahead):
        stage.forward()
        stage.backward()
    for _ in range(ahead):
        stage.backward()
    add_up_gradients([stage.row], groups["data"])
    update([stage.row])
    return stage.loss, learned([stage.row], first=len(weighty(before)))
