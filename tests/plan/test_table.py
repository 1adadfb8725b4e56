"""Tables of plans: what goes in comes out, row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from foretrain.plan import table
from foretrain.plan.enumeration import ORDERS
from foretrain.plan.plan import ContextExchange, Offload, Plan, Recompute, Schedule, Sends, Sharding
from foretrain.plan.table import (
    constant,
    distinct,
    is_constant,
    one_under_the_other,
    packed,
    packed_together,
    table_of,
    taken,
)
from foretrain.workload.operator import Attention

degrees = st.integers(1, 4096)
plans = st.builds(
    Plan,
    data=degrees,
    tensor=degrees,
    pipeline=degrees,
    interleaving=degrees,
    micro_batch=degrees,
    sequence_parallel=st.booleans(),
    sharding=st.sampled_from(Sharding),
    recompute=st.sampled_from(Recompute),
    attention=st.sampled_from(Attention),
    context=degrees,
    expert=degrees,
    expert_tensor=degrees,
    exchange=st.sampled_from(ContextExchange),
    shard=st.integers(0, 64),
    reshard=st.booleans(),
    recompute_layers=st.integers(0, 64),
    offload=st.sampled_from(Offload),
    schedule=st.sampled_from(Schedule),
    cut=st.sampled_from(["even", "balanced", (1, 2), (2, 1)]),
    sends=st.sampled_from(Sends),
    order=st.sampled_from(ORDERS),
)


@st.composite
def columns(draw):
    """One to four columns of the same length, with few or with many different values."""
    rows, top = draw(st.integers(1, 40)), draw(st.sampled_from([1, 3, 100, 5000]))
    values = st.integers(0, top).map(float)
    return draw(st.lists(arrays(float, rows, elements=values), min_size=1, max_size=4))


@given(st.lists(plans, min_size=1, max_size=20))
def test_plans_come_back_from_their_table(many):
    found = table_of(many)
    assert len(found) == len(many)
    assert [found.plan(row) for row in range(len(found))] == many
    assert found.devices.tolist() == [plan.devices for plan in many]
    assert found.replicas.tolist() == [plan.data * plan.context for plan in many]


@given(st.lists(plans, min_size=1, max_size=20), st.data())
def test_rows_are_taken_in_the_order_asked_for(many, data):
    rows = data.draw(st.lists(st.integers(0, len(many) - 1), max_size=30))
    some = table_of(many).take(np.array(rows, np.intp))
    assert [some.plan(row) for row in range(len(some))] == [many[row] for row in rows]


@given(st.lists(plans, min_size=1, max_size=20), st.data())
def test_rows_are_taken_by_flags_too(many, data):
    flags = data.draw(arrays(bool, len(many)))
    some = table_of(many).take(flags)
    expected = [plan for plan, flag in zip(many, flags, strict=True) if flag]
    assert [some.plan(row) for row in range(len(some))] == expected


@pytest.mark.parametrize("sparse", [0, 1000], ids=["sorted", "marked"])
@given(many=columns())
def test_distinct_combinations_are_those_that_numpy_finds(sparse, many):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "SPARSE", sparse)
        rows, index = distinct(many)
    _, expected_rows, expected_index = np.unique(
        np.stack(many), axis=1, return_index=True, return_inverse=True
    )
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_array_equal(index, expected_index.ravel())


@pytest.mark.parametrize(("top", "count"), [(2, 70), (5000, 10)])
def test_columns_of_more_combinations_than_integers_are_told_apart_in_order(top, count):
    many = np.random.default_rng(0).integers(0, top, (count, 30)).astype(float)
    many[: count // 2, 10:] = many[: count // 2, :1]
    rows, index = distinct([*many])
    _, expected_rows, expected_index = np.unique(
        many, axis=1, return_index=True, return_inverse=True
    )
    assert (rows.tolist(), index.tolist()) == (expected_rows.tolist(), expected_index.tolist())


@given(columns())
def test_columns_are_gathered_from_their_distinct_rows(many):
    rows, index = distinct(many)
    for column in many:
        np.testing.assert_array_equal(column[rows][index], column)


@given(st.lists(plans, min_size=1, max_size=20), st.data())
def test_packed_plans_are_taken_as_from_their_table(many, data):
    rows = np.array(data.draw(st.lists(st.integers(0, 2 * len(many) - 1), max_size=30)), np.intp)
    whole = table_of(many)
    some = packed_together([packed(whole), packed(whole)]).take(rows)
    assert [some.plan(row) for row in range(len(some))] == [many[row % len(many)] for row in rows]


@given(st.integers(0, 9), st.integers(1, 5), st.integers(1, 5))
def test_columns_of_one_value_stay_such_and_refuse_to_be_written_to(value, first, second):
    one, same = constant(value, first), constant(value, second)
    for column in (taken(one, np.zeros(second, np.intp)), one_under_the_other([one, same])):
        assert is_constant(column)
        assert (column == value).all()
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1.0
    other = one_under_the_other([one, constant(value + 1, second)])
    assert other.tolist() == [value] * first + [value + 1] * second
    assert is_constant(one_under_the_other([one, np.zeros(0)]))


def test_one_row_is_its_own_combination():
    rows, index = distinct([np.array([7.0]), np.array([0.0])])
    assert (rows.tolist(), index.tolist()) == ([0], [0])
