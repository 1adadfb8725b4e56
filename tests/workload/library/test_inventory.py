from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.errors import InputError
from foretrain.workload.convolution.operators import Picture
from foretrain.workload.operator import KernelFamily, Matrices
from foretrain.workload.totals import Convolution, Inventory, Move, Product, Traffic

STEM = Convolution(
    picture=Picture(channels=3, sides=(8, 8)),
    result=Picture(channels=16, sides=(4, 4)),
    window=(3, 3),
)
DEPTHWISE = Convolution(
    picture=Picture(channels=16, sides=(4, 4)),
    result=Picture(channels=16, sides=(4, 4)),
    window=(3, 3),
    groups=16,
    count=2,
)
CLASSES = Product(matrices=Matrices(rows=1, depth=16, columns=10), weights=True)
NORM = Move(
    name="batch norm",
    forward=Traffic(half=768, full=2, kernels=3),
    backward=Traffic(half=1280, kernels=5),
)
NETWORK = Inventory(
    name="small",
    image=8,
    parameters=1000,
    kept=4096,
    convolutions=(STEM, DEPTHWISE),
    products=(CLASSES,),
    moves=(NORM,),
)


def operators(inventory):
    return {operator.name: operator for _, operator in inventory.model.operators}


def test_flop_are_those_of_all_convolutions_and_products():
    by_hand = 2 * 16 * 16 * 27 + 2 * (2 * 16 * 16 * 9) + 2 * 16 * 10
    assert NETWORK.flop == by_hand


def test_parameters_are_those_stated_whatever_the_list_names():
    assert NETWORK.model.parameters == 1000


def test_a_model_keeps_what_was_counted():
    kept = sum(operator.kept.fixed for _, operator in NETWORK.model.operators)
    assert kept == 4096


@given(count=st.integers(1, 50))
@few(20)
def test_equal_operators_are_one_layer_that_repeats(count):
    many = replace(NETWORK, convolutions=(replace(DEPTHWISE, count=count),), parameters=1e6)
    assert len(many.model.layers) == 4
    assert many.model.layers[0].repeats == count


def test_the_first_convolution_reads_samples_which_need_no_gradient():
    found = operators(NETWORK)
    assert found["convolution 1"].first
    assert not found["convolution 2"].first


def test_convolutions_and_norms_have_the_kernels_of_their_families():
    found = operators(NETWORK)
    assert found["convolution 1"].family is KernelFamily.CONVOLUTION
    assert found["convolution 2"].family is KernelFamily.DEPTHWISE
    assert found["batch norm"].family is KernelFamily.NORM


def test_values_of_32_bits_keep_their_size_at_any_precision():
    moved = operators(NETWORK)["batch norm"]
    assert moved.forward.values == 768
    assert moved.forward.fixed == 8


def test_an_operator_launches_the_mean_of_both_passes():
    assert operators(NETWORK)["batch norm"].kernels == 4


def test_a_network_that_computes_nothing_is_refused():
    with pytest.raises(InputError, match="computes nothing"):
        replace(NETWORK, convolutions=(), products=())
