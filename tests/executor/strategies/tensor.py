"""Tensor and sequence parallelism: members share heads, columns and vocabulary, and the tokens.

Between the divided parts every member has all tokens; with sequence parallelism its part of them,
and each all-reduce is a reduce-scatter and an all-gather. The gathered inputs of products are kept
until the backward pass, which so has nothing to gather again.
"""

import numpy as np
from tests.executor.attention import Attention, Embedding
from tests.executor.layers import Linear, Residual, Row, Through
from tests.executor.rings import axes
from tests.executor.strategies.context import share_tokens, tokens_of
from tests.executor.strategies.data import part
from tests.executor.training import add_up_gradients, learned, update

FORWARD, BACKWARD = "tensor forward", "tensor backward"


def train(member, network, tensor, sequence, context=1, data=1):
    groups = axes(member, {"tensor": tensor, "context": context, "data": data})
    replicas = axes(member, {"tensor": tensor, "replicas": context * data})["replicas"]
    group = groups["tensor"]
    [table], *blocks, [norm, logits] = network.sections()
    begin, end = _ends(group, sequence=sequence)
    share_tokens([part for block in blocks for part in block], network, groups["context"])
    layers = [
        _vocabulary(table, group),
        end(),
        *(_divided(part, group, (begin(), end())) for block in blocks for part in block),
        norm,
        begin(),
        _columns(logits, group),
    ]
    inputs, targets = (
        part(each, groups["data"])[:, tokens_of(network, groups["context"])]
        for each in network.samples
    )
    row = Row(*layers)
    loss, gradient = _cross_entropy(row.forward(inputs), targets, group, network.targets.size)
    row.backward(gradient)
    if sequence:
        norms = [norm, *(part.layers[0] for block in blocks for part in block)]
        add_up_gradients(norms, group, "norms")
    add_up_gradients(layers, replicas)
    update(layers)
    return loss / group.size, learned(layers)


def _ends(group, *, sequence):
    """What stands before and after what is divided; each way of one is the other's way back."""

    def add_up(purpose):
        return lambda values: group.all_reduce(values, purpose)

    def gather(purpose):
        return lambda values: np.concatenate(group.all_gather(values, purpose), axis=1)

    def scatter(purpose):
        return lambda values: group.reduce_scatter(np.split(values, group.size, axis=1), purpose)

    def same(values):
        return values

    if sequence:
        return (
            lambda: Through(gather(FORWARD), scatter(BACKWARD)),
            lambda: Through(scatter(FORWARD), gather(BACKWARD)),
        )
    return lambda: Through(same, add_up(BACKWARD)), lambda: Through(add_up(FORWARD), same)


def _divided(residual, group, ends):
    norm, work = residual.layers
    begin, end = ends
    inner = _heads(work, group) if isinstance(work, Attention) else _pair(work, group)
    return Residual(norm, begin, inner, end)


def slice_of(size, group):
    """A member's part of so many."""
    part = size // group.size
    assert part * group.size == size
    return slice(group.place * part, (group.place + 1) * part)


def _columns(linear, group):
    mine = (slice(None), slice_of(linear.weights["weight"].shape[1], group))
    return _part_of(linear, mine)


def _rows(linear, group):
    return _part_of(linear, (slice_of(linear.weights["weight"].shape[0], group), slice(None)))


def _part_of(linear, index):
    found = Linear(linear.weights["weight"][index].copy())
    found.parts["weight"] = index
    return found


def _pair(work, group):
    first, activation, second = work.layers
    work.layers = (_columns(first, group), activation, _rows(second, group))
    return work


def _heads(work, group):
    work.query, work.key, work.value = (
        _columns(each, group) for each in (work.query, work.key, work.value)
    )
    work.output = _rows(work.output, group)
    return work


def _vocabulary(table, group):
    mine = slice_of(len(table.weights["table"]), group)
    found = Embedding(table.weights["table"][mine].copy(), first=mine.start)
    found.parts["table"] = mine
    return found


def _cross_entropy(scores, targets, group, count):
    """The loss over scores of which each member has some columns: three numbers per token go round.

    The loss is that of all members, the gradient that of a member's own columns.
    """
    first = scores.shape[-1] * group.place
    hit = first + np.arange(scores.shape[-1]) == targets[..., np.newaxis]
    largest = scores.max(axis=-1)
    total = np.exp(scores - largest[..., np.newaxis]).sum(axis=-1)
    told = np.stack([largest, total, (scores * hit).sum(axis=-1)])
    every = np.stack(group.all_gather(told, "loss"))
    most = every[:, 0].max(axis=0)
    whole = (every[:, 1] * np.exp(every[:, 0] - most)).sum(axis=0)
    logarithm = np.log(whole) + most
    loss = (logarithm - every[:, 2].sum(axis=0)).sum()
    chances = np.exp(scores - logarithm[..., np.newaxis])
    return loss / count, (chances - hit) / count
