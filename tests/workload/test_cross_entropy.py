"""Losses of logits, by their kernels."""

import pytest
from tests.by_hand.networks import network

from foretrain.workload.execution import CrossEntropy, computed

TOKENS, VOCABULARY = 24, 88


def loss(how):
    *_, head = computed(network().model, how).layers
    return next(each for each in head.operators if each.name == "loss")


def moved(size):
    """Bytes in 16 bits for each logit."""
    return (2 * size.values + size.fixed) / (TOKENS * VOCABULARY)


@pytest.mark.parametrize(
    ("how", "forward", "backward"),
    [
        # Widened to fp32, a softmax that reads twice and writes; its gradient from two, narrowed.
        (CrossEntropy.SOFTMAX, 18, 14),
        # Widened 6; then 4 for the maximum, 8 to take it off, 8 for exponentials, 4 for a sum, 8
        # for shares. Back 8 for a product, 6 to make it narrow.
        (CrossEntropy.APART, 38, 14),
        # Read; read and overwritten.
        (CrossEntropy.FUSED, 2, 4),
        # Read; read and overwritten; back a product in place.
        (CrossEntropy.AT_ONCE, 6, 4),
    ],
)
def test_bytes_of_a_loss_are_those_of_its_kernels(how, forward, backward):
    found = loss(how)
    assert (moved(found.forward), moved(found.backward)) == (forward, backward)


def test_one_kernel_is_one_whatever_the_software_makes_of_others():
    assert loss(CrossEntropy.FUSED).single
    assert loss(CrossEntropy.FUSED).kernels == 1
    assert not loss(CrossEntropy.APART).single


def test_nothing_but_the_loss_changes():
    model = network().model
    assert computed(model, CrossEntropy.SOFTMAX) is model
    changed = computed(model, CrossEntropy.APART)
    assert changed.layers[:-1] == model.layers[:-1]
    before, after = model.layers[-1].operators, changed.layers[-1].operators
    assert [one.name for one, other in zip(before, after, strict=True) if one != other] == ["loss"]
