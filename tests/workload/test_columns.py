"""Columns of operators say what the operators say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.random_models import models

from foretrain.workload.graph import operators_of
from foretrain.workload.operator import OperatorKind, Split

SAME = ("weights", "flop", "backward_flop", "kernels", "sequence", "selective", "output")


@given(model=models)
def test_column_holds_every_operator_s_number_in_order(model):
    operators = [operator for _, operator in model.operators]
    columns = operators_of(model)
    for name in SAME:
        np.testing.assert_array_equal(
            getattr(columns, name)[:, 0], [getattr(operator, name) for operator in operators]
        )
    for kind, flags in (
        (OperatorKind.MATMUL, columns.matmul),
        (OperatorKind.FUSED_ATTENTION, columns.fused),
    ):
        assert flags[:, 0].tolist() == [operator.kind is kind for operator in operators]
    kept = [(operator.kept.values, operator.kept.fixed) for operator in operators]
    np.testing.assert_array_equal(np.hstack([columns.kept_values, columns.kept_fixed]), kept)


@given(model=models)
def test_every_operator_has_one_split(model):
    columns = operators_of(model)
    assert (sum(columns.split_is(split).astype(int) for split in Split) == 1).all()
    assert columns.split_is(*Split).all()


@given(model=models)
def test_products_have_the_flop_of_their_matrices(model):
    columns = operators_of(model)
    # In the order of `Matrices.flop`, so that the two round alike.
    flop = 2 * columns.batch * columns.rows * columns.columns * columns.depth
    np.testing.assert_array_equal(columns.flop[columns.matmul], flop[columns.matmul])


@given(model=models, data=st.data())
def test_taken_operators_are_those_asked_for(model, data):
    columns = operators_of(model)
    rows = data.draw(st.lists(st.integers(0, len(columns.layer) - 1), min_size=1, max_size=5))
    taken = columns.take(np.array(rows))
    assert taken.layer == tuple(columns.layer[row] for row in rows)
    np.testing.assert_array_equal(taken.flop, columns.flop[rows])
