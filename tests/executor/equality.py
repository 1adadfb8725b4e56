"""Whether members together have learned what one process alone learns."""

import numpy as np
from tests.executor.training import serial, weighty

NEAR = 1e-10


def assert_equal_to_serial(results, network):
    """Every weight of every member, and each weight of the network by some member.

    Args:
        results: of each member its share of the loss, and its weights; what it does not own of a
            weight is not a number.
        network: what was trained.
    """
    loss, weights = serial(network)
    assert abs(sum(share for share, _ in results) - loss) < NEAR
    said = {key: np.zeros(values.shape, bool) for key, (_, values) in weights.items()}
    for _, learned in results:
        for key, (part, values) in learned.items():
            whole = weights[key][1][part]
            owned = ~np.isnan(values)
            assert values.shape == whole.shape
            assert np.abs(values - whole)[owned].max(initial=0.0) < NEAR, key
            said[key][part] |= owned
    assert all(each.all() for each in said.values())
    assert _moved(network, weights)


def _moved(network, weights):
    """Whether the step has changed every weight of the network at all."""
    fresh = [values for layer in weighty(network.layers()) for values in layer.weights.values()]
    trained = (values for _, values in weights.values())
    return all((old != new).any() for old, new in zip(fresh, trained, strict=True))
