"""Whether members together have learned what one process alone learns, and what they sent."""

import numpy as np
from tests.executor.training import serial, weighty

NEAR = 1e-10


BESIDE = ("statistics", "loss", "norms", "gates")
"""What members exchange that the cost model leaves out: sums of synchronised batch normalisation,
three numbers per token where members share the vocabulary, gradients of norms whose tokens they
share, and the weights that a router gives to experts elsewhere."""


def trained(processes, program, network, *arguments, members):
    """Train a step, compare with serial training, and give what each member sent and got.

    Args:
        processes: the members.
        program: of the strategy.
        network: what is trained.
        arguments: of the program.
        members: how many take part.
    """
    answers = processes.run(program, members, network, *arguments)
    assert_equal_to_serial([each.returned for each in answers], network)
    return answers


def sent_by(answers):
    """Bytes that each member sent, by purpose."""
    return [_known(each.sent) for each in answers]


def busiest(answers):
    """The most bytes that came to any member, by purpose."""
    purposes = {purpose for each in answers for purpose in each.received}
    most = {name: max(each.received.get(name, 0) for each in answers) for name in purposes}
    return _known(most)


def _known(sizes):
    return {name: size for name, size in sizes.items() if name not in BESIDE}


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
    """Whether the step has changed every weight; a norm takes away what a bias before it adds."""
    fresh = weighty(network.layers())
    return all(
        name == "bias" or (fresh[place].weights[name] != values).any()
        for (place, name), (_, values) in weights.items()
    )
