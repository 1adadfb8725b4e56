"""Parts of a transformer: embedding, norm, causal attention with grouped queries, feed-forward."""

import numpy as np
from tests.executor.layers import Layer, Linear, Relu, Row


class Embedding(Layer):
    """Rows of a table; rows that are not `first` to `first` + its own give zeros."""

    def __init__(self, table, *, first=0):
        super().__init__(table=table)
        self._first = first

    def forward(self, words):
        place = words - self._first
        mine = (place >= 0) & (place < len(self.weights["table"]))
        self.keep(place, mine)
        return self.weights["table"][np.where(mine, place, 0)] * mine[..., np.newaxis]

    def backward(self, gradient):
        place, mine = self.kept()
        np.add.at(self.gradients["table"], place[mine], gradient[mine])


class Norm(Layer):
    """Root mean square norm of each token, with a scale per value."""

    def __init__(self, scale):
        super().__init__(scale=scale)

    def forward(self, values):
        size = np.sqrt((values**2).mean(axis=-1, keepdims=True) + 1e-6)
        self.keep(values / size, size)
        return values / size * self.weights["scale"]

    def backward(self, gradient):
        normal, size = self.kept()
        self.add(scale=(gradient * normal).reshape(-1, normal.shape[-1]).sum(axis=0))
        inner = gradient * self.weights["scale"]
        return (inner - normal * (inner * normal).mean(axis=-1, keepdims=True)) / size


class FeedForward(Row):
    def __init__(self, first, second):
        super().__init__(Linear(first), Relu(), Linear(second))


class Attention(Layer):
    """Products around a core, in which queries meet keys.

    Args:
        query, key, value, output: the weights.
        width: of one head.
        core: what lets queries meet keys; here that of one process.
    """

    def __init__(self, query, key, value, output, *, width, core=None):
        super().__init__()
        self.width, self.core = width, core or Core()
        self.query, self.key, self.value, self.output = map(Linear, (query, key, value, output))

    def inner(self):
        return [self.query, self.key, self.value, self.output]

    def forward(self, values):
        heads = (self._heads(each.forward(values)) for each in (self.query, self.key, self.value))
        return self.output.forward(self._flat(self.core.forward(*heads)))

    def backward(self, gradient):
        given = self.core.backward(self._heads(self.output.backward(gradient)))
        products = (self.query, self.key, self.value)
        return sum(
            each.backward(self._flat(heads)) for each, heads in zip(products, given, strict=True)
        )

    def _heads(self, values):
        """[sample, head, token, value]"""
        shape = (*values.shape[:2], -1, self.width)
        return values.reshape(shape).transpose(0, 2, 1, 3)

    @staticmethod
    def _flat(heads):
        samples, _, tokens, _ = heads.shape
        return heads.transpose(0, 2, 1, 3).reshape(samples, tokens, -1)


class Core:
    """Causal attention of all tokens at once, in the order in which they stand."""

    def __init__(self):
        self._kept = []

    def forward(self, query, key, value):
        places = np.arange(query.shape[2])
        output, logarithm = attend(query, key, value, places=(places, places))
        self._kept.append((query, key, value, output, logarithm))
        return output

    def backward(self, gradient):
        query, key, value, output, logarithm = self._kept.pop(0)
        places = np.arange(query.shape[2])
        return attend_back(
            gradient, (query, key, value), (output, logarithm), places=(places, places)
        )


def _weights(query, key, places):
    """Scores of every query with every key, those of later tokens minus infinity.

    Query heads are grouped by the key head that they share: [sample, key head, group, query, key].
    """
    samples, _, tokens, width = query.shape
    grouped = query.reshape(samples, key.shape[1], -1, tokens, width)
    scores = grouped @ key[:, :, np.newaxis].swapaxes(-1, -2) / width**0.5
    return np.where(places[0][:, np.newaxis] >= places[1], scores, -np.inf), grouped


def attend(query, key, value, *, places):
    """The output of these keys alone, and the logarithm of the sum of their weights.

    Args:
        query, key, value: [sample, head, token, value]
        places: of the queries and of the keys in the sample.
    """
    scores, _ = _weights(query, key, places)
    largest = np.maximum(scores.max(axis=-1, keepdims=True), -1e30)
    exponents = np.exp(scores - largest)
    total = exponents.sum(axis=-1, keepdims=True)
    seen = total > 0
    output = exponents @ value[:, :, np.newaxis] / np.where(seen, total, 1.0)
    logarithm = np.where(seen, np.log(np.where(seen, total, 1.0)) + largest, -np.inf)
    return output.reshape(query.shape), logarithm.reshape(*query.shape[:3], 1)


def attend_back(gradient, inputs, results, *, places):
    """Gradients of queries, keys and values, where the softmax went over more keys than these.

    Args:
        gradient: of the output of all keys.
        inputs: queries, keys and values.
        results: the output of all keys, and the logarithm of the sum of their weights.
        places: of the queries and of the keys in the sample.
    """
    (query, key, value), (output, logarithm) = inputs, results
    scores, grouped = _weights(query, key, places)
    shape = grouped.shape
    chances = np.exp(scores - logarithm.reshape(*shape[:4], 1))
    given = gradient.reshape(shape)
    inner = (gradient * output).sum(axis=-1).reshape(*shape[:4], 1)
    slope = chances * (given @ value[:, :, np.newaxis].swapaxes(-1, -2) - inner)
    slope = slope / query.shape[-1] ** 0.5
    return (
        (slope @ key[:, :, np.newaxis]).reshape(query.shape),
        (slope.swapaxes(-1, -2) @ grouped).sum(axis=2),
        (chances.swapaxes(-1, -2) @ given).sum(axis=2),
    )
