"""A mixture of experts: a router sends each token to a few of them, which its scores weigh.

Which experts a token has is given by its place in the sample, such that all have as many tokens:
the router's scores decide how much each counts, and are learned. Messages can then be counted
beforehand. Source: roller2021 (choice by hashing), whose weights are not learned.
"""

import numpy as np
from tests.executor.layers import Layer


def chosen_by_place(tokens, *, experts, chosen):
    """One or two of an even number of experts for each token of a sample. [token, chosen]

    The first goes around. The second is in one round the neighbour of the first (0 with 1, 2 with
    3), which two members that share the experts have together, and in the next one of the others.
    """
    place = np.arange(tokens)
    first = place % experts
    return np.stack([first, first ^ (1 + place // experts % 2)], axis=1)[:, :chosen]


class Experts(Layer):
    """Router, and two products of each expert with a ReLU between them.

    Args:
        router: [value, expert]
        first, second: [expert, value, value]
        chosen: experts of a token.
    """

    def __init__(self, router, first, second, *, chosen):
        super().__init__(router=router, first=first, second=second)
        self.chosen, self.count = chosen, router.shape[1]
        self._kept_work = []

    def forward(self, values):
        samples, tokens, width = values.shape
        choice = chosen_by_place(tokens, experts=self.count, chosen=self.chosen)
        choice = np.tile(choice, (samples, 1))
        rows = values.reshape(-1, width)
        scores = np.take_along_axis(rows @ self.weights["router"], choice, axis=1)
        exponents = np.exp(scores - scores.max(axis=1, keepdims=True))
        gates = exponents / exponents.sum(axis=1, keepdims=True)
        if self.chosen == 1:
            # A single score would always weigh 1 and teach the router nothing.
            gates = 1.0 / (1.0 + np.exp(-scores))
        self.keep(rows, choice, gates)
        return self.run(rows, choice, gates).reshape(values.shape)

    def backward(self, gradient):
        rows, choice, gates = self.kept()
        back, slopes = self.run_back(gradient.reshape(rows.shape), choice)
        if self.chosen == 1:
            inner = slopes * gates * (1.0 - gates)
        else:
            inner = gates * (slopes - (slopes * gates).sum(axis=1, keepdims=True))
        scores = np.zeros((len(rows), self.count))
        np.put_along_axis(scores, choice, inner, axis=1)
        self.add(router=rows.T @ scores)
        back = back + scores @ self.weights["router"].T
        return back.reshape(gradient.shape)

    def run(self, rows, choice, gates):
        """What the experts make of the tokens, weighed and added up."""
        weights = np.zeros((len(rows), self.count))
        np.put_along_axis(weights, choice, gates, axis=1)
        return self.work(rows, weights)

    def run_back(self, gradient, choice):
        """The gradients of the tokens and of the weights of their experts."""
        back, slopes = self.work_back(gradient)
        return back, np.take_along_axis(slopes, choice, axis=1)

    def work(self, rows, weights):
        """The same for experts that are here. `weights` [token, expert] are 0 where not chosen."""
        output, kept = np.zeros_like(rows), []
        for expert in range(len(self.weights["first"])):
            mine = np.flatnonzero(weights[:, expert])
            inside = np.maximum(rows[mine] @ self.weights["first"][expert], 0.0)
            given = inside @ self.weights["second"][expert]
            output[mine] += weights[mine, expert, np.newaxis] * given
            kept.append((mine, rows[mine], inside, given))
        self._kept_work.append((weights, kept))
        return output

    def work_back(self, gradient):
        weights, kept = self._kept_work.pop(0)
        back, slopes = np.zeros_like(gradient), np.zeros_like(weights)
        for expert, (mine, rows, inside, given) in enumerate(kept):
            slopes[mine, expert] = (gradient[mine] * given).sum(axis=1)
            out = weights[mine, expert, np.newaxis] * gradient[mine]
            self.gradients["second"][expert] += inside.T @ out
            slope = (out @ self.weights["second"][expert].T) * (inside > 0)
            self.gradients["first"][expert] += rows.T @ slope
            back[mine] += slope @ self.weights["first"][expert].T
        return back, slopes
