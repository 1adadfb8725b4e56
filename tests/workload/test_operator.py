"""Operators: a dense layer's FLOP and bytes by hand, and what is refused."""

import pytest

from foretrain.errors import InputError
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Matrices, Operator, OperatorKind, Size, Split, matmul

# Four tokens, three input and five output features.
DENSE = Matrices(rows=4, columns=5, depth=3)


def test_multiply_add_is_two_flop():
    assert DENSE.flop == 2 * 4 * 5 * 3 == 120


def test_backward_pass_is_two_products_of_the_same_flop():
    found = matmul("dense", DENSE, weights=15)
    assert (found.flop, found.backward_flop) == (120, 240)


def test_products_of_a_batch_add_up():
    assert Matrices(rows=4, columns=5, depth=3, batch=7).flop == 7 * 120


@pytest.mark.parametrize(
    ("split", "values"), [(Split.NONE, 0), (Split.COLUMNS, 4 * 3), (Split.DEPTH, 4 * 5)]
)
def test_split_by_columns_needs_the_input_whole_and_by_depth_the_output_added_up(split, values):
    assert matmul("dense", DENSE, split=split).output == values


def test_dense_layer_of_gpt_3_by_hand():
    model = build("gpt-3-175b", sequence=2048)
    [found] = [each for _, each in model.operators if each.name == "query-key-value"]
    # 12,288 features in, three times as many out, a bias for each; 2,048 tokens.
    assert found.weights == 12_288 * 36_864 + 36_864 == 453_021_696
    assert found.flop == 2 * 2048 * 12_288 * 36_864 == 1_855_425_871_872
    assert found.backward_flop == 2 * found.flop
    assert found.kept == Size(values=2048 * 12_288)
    # 96 heads of 128 side by side, as many products of 2048 x 128 by 128 x 2048.
    [scores] = [each for _, each in model.operators if each.name == "scores"]
    assert scores.flop == 96 * 2 * 2048 * 2048 * 128


@pytest.mark.parametrize("name", ["rows", "columns", "depth", "batch", "reuse"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_matrix_without_extent_is_refused(name, value):
    sizes = {"rows": 1.0, "columns": 1.0, "depth": 1.0} | {name: value}
    with pytest.raises(InputError, match=rf"Matrices\.{name} must be above 0"):
        Matrices(**sizes)


@pytest.mark.parametrize("name", ["weights", "flop", "backward_flop", "output"])
@pytest.mark.parametrize("value", [-1.0, float("nan")])
def test_negative_count_is_refused(name, value):
    with pytest.raises(InputError, match=f"Operator 'norm': {name} must be at least 0"):
        Operator(name="norm", kind=OperatorKind.MEMORY, **{name: value})


def test_matmul_and_only_a_matmul_has_matrices():
    with pytest.raises(InputError, match="a matmul, and only a matmul, has matrices"):
        Operator(name="dense", kind=OperatorKind.MATMUL)
    with pytest.raises(InputError, match="a matmul, and only a matmul, has matrices"):
        Operator(name="norm", kind=OperatorKind.MEMORY, matrices=DENSE)
