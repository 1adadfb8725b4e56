"""Layouts: found from a few samples, and the same after a journey as JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batchcast.corpus import same
from tests.needs import needs

from batchcast.errors import SampleFailed
from batchcast.layout import Layout, as_array, collated, fields, form_of, layout_of, nested
from batchcast.packing import pack, unpack

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


def test_a_batch_is_nested_as_pytorch_does_it():
    sample = {"a": (1, "x"), "b": ["y", torch.zeros(2)], "c": "z"}
    form = form_of(sample)
    batch = torch.utils.data.default_collate([sample, sample])
    assert nested(collated(form), fields(collated(form), batch)) == batch
    assert type(batch["a"][1]) is tuple
    assert collated(form)[1][0][1] == ["list", [["leaf", "tuple"], ["leaf", "tuple"]]]


@pytest.mark.parametrize(
    ("value", "dtype", "kind"),
    [
        (True, "bool", "bool"),
        (3, "int64", "int"),
        (1 << 70, "uint8", "object"),
        (np.float32(1.5), "float32", "number"),
        (np.ones(2, np.int8), "int8", "array"),
        (np.array(["a"]), "uint8", "object"),
        (None, "uint8", "object"),
        ([1, 2], "uint8", "object"),
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
    assert layout_of([sample, other], most=500).sample_bytes == 500 + 500 + 500
    assert layout_of([sample, other], most=None).leaves[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("samples", "form"),
    [
        ([(1, 2), (1, 2, 3)], ["leaf"]),
        ([{"a": 1}, [1]], ["leaf"]),
        ([(1, "a"), (1.5, "b")], ["tuple", [["leaf"], ["leaf"]]]),
        ([np.zeros(2), np.zeros((2, 2))], ["leaf"]),
        ([{"a": (1, 2)}, {"a": [3]}], ["dict", [["a", ["leaf"]]]]),
        ([object()], ["leaf"]),
    ],
)
def test_fields_that_have_nothing_in_common_are_packed(samples, form):
    layout = layout_of(samples, most=None)
    assert layout.form == form
    assert layout.leaves[0].kind == "object"
    assert not layout.is_stackable


def test_what_is_longer_than_it_was_said_to_be_is_told():
    with pytest.raises(SampleFailed, match="longest=800"):
        layout_of([np.zeros(2), np.zeros(50)], most=100)


@given(value=trees, memory=st.integers(1, 100))
def test_what_is_packed_comes_back_though_it_lies_in_pieces(value, memory):
    value = {"x": value, "t": torch.arange(5), "a": np.arange(7.0)}
    packed = pack(value)
    pieces = [np.zeros(memory, np.uint8) for _ in range(-(-packed.size // memory))]
    for place, piece in enumerate(pieces):
        packed.write(piece, begin=place * memory)
    got = unpack(np.concatenate(pieces))
    assert same(got, value)
    got["t"].add_(1)
    got["a"] += 1
    assert same(unpack(packed.whole()), value)


def test_a_batch_that_goes_on_with_another_batch_is_told():
    one, other = (pack({"x": torch.ones(40), "name": name}).whole() for name in ("ab", "ba"))
    with pytest.raises(SampleFailed, match="Let its order and its random numbers depend"):
        unpack(np.concatenate([one[:100], other[100:]]))
