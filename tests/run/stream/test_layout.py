"""Layouts: found from a few samples, and the same after a journey as JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.needs import needs

from foretrain.run.stream.errors import SampleFailed
from foretrain.run.stream.layout import Layout, as_array, fields, form_of, layout_of, nested

torch = needs("torch")

trees = st.recursive(
    st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(tree=trees)
def test_a_tree_is_its_form_and_its_leaves(tree):
    form = json.loads(json.dumps(form_of(tree)))
    assert nested(form, fields(form, tree)) == tree


@pytest.mark.parametrize(
    ("value", "dtype", "kind"),
    [
        (True, "bool", "tensor"),
        (3, "int64", "tensor"),
        (np.float32(1.5), "float32", "tensor"),
        (torch.ones(2, dtype=torch.bfloat16), "bfloat16", "tensor"),
        (torch.ones(2, dtype=torch.float8_e5m2), "float8_e5m2", "tensor"),
        ("", "uint8", "text"),
        (b"ab", "uint8", "bytes"),
    ],
)
def test_a_leaf_has_a_type_and_a_kind(value, dtype, kind):
    assert as_array(value)[1:] == (dtype, kind)


def test_a_layout_travels_and_knows_its_size():
    sample = {"x": torch.zeros(2, 3), "text": "abc", "ragged": np.zeros(4)}
    other = {"x": torch.zeros(2, 3), "text": "abcd", "ragged": np.zeros(40)}
    layout = layout_of([sample, other], most=None)
    assert Layout.from_json(json.loads(json.dumps(layout.as_json()))) == layout
    assert layout.sample_bytes == 24 + 256 + 640
    assert layout_of([sample, other], most=500).sample_bytes == 24 + 500 + 500


@pytest.mark.parametrize(
    ("samples", "told"),
    [
        ([(1, 2), (1, 2, 3)], "all samples must have the same fields"),
        ([{"a": 1}, [1]], "all samples must have the same fields"),
        ([1, 1.5], "int64 in one sample and float64"),
        ([np.zeros(2), np.zeros((2, 2))], "numbers of dimensions"),
        ([object()], "cannot carry"),
    ],
)
def test_samples_that_have_no_common_layout_are_told(samples, told):
    with pytest.raises(SampleFailed, match=told):
        layout_of(samples, most=None)
