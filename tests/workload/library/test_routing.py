"""Routing: capacity and imbalance reach every expert, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.workload.library.entries import find
from foretrain.workload.library.variants import Routing, routed
from foretrain.workload.parts.language_model import language_model

MIXTRAL = find("mixtral-8x7b").shape


def operators(routing):
    shape = routed(MIXTRAL, routing)
    return [each for _, each in language_model("mixtral", shape, sequence=64).operators]


def test_routing_that_says_nothing_changes_nothing():
    assert not Routing()
    assert routed(MIXTRAL, Routing()) == MIXTRAL


@given(imbalance=st.floats(1, 8))
def test_imbalance_reaches_every_expert_and_every_exchange(imbalance):
    for operator in operators(Routing(imbalance=imbalance)):
        mine = operator.experts > 0 or operator.routed > 0
        assert operator.imbalance == (imbalance if mine else 1)


@given(capacity=st.floats(0.5, 4))
def test_experts_work_and_exchange_in_proportion_to_their_capacity(capacity):
    for before, after in zip(
        operators(Routing()), operators(Routing(capacity=capacity)), strict=True
    ):
        factor = capacity if before.experts or before.routed else 1
        assert after.flop == pytest.approx(factor * before.flop)
        assert after.routed == pytest.approx(factor * before.routed)
        assert after.weights == before.weights


@pytest.mark.parametrize("name", ["llama-3-8b", "t5-small", "resnet-50"])
def test_model_without_experts_is_refused(name):
    with pytest.raises(InputError, match="it has no experts; leave out expert_capacity"):
        routed(find(name).shape, Routing(capacity=1.25))


def test_capacity_and_imbalance_exclude_each_other():
    with pytest.raises(InputError, match="give one of them"):
        routed(MIXTRAL, Routing(capacity=1.25, imbalance=2))
