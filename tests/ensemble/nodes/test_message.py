import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.needs import needs

from foretrain.ensemble.nodes.groups import ALIGNMENT, failure, length_of, packed, unpacked
from foretrain.ensemble.nodes.leader import NodeFailed
from foretrain.errors import InputError

torch = needs("torch")

TYPES = [torch.uint8, torch.bool, torch.float16, torch.bfloat16, torch.float64, torch.int64]
shapes = st.lists(st.integers(0, 4), max_size=3)
tensors = st.builds(
    lambda shape, dtype: torch.ones(shape).to(dtype), shapes, st.sampled_from(TYPES)
)
plain = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
batches = st.recursive(
    tensors | plain,
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.lists(inside, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=5), inside, max_size=3)
    ),
    max_leaves=6,
)


def same(one, other):
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, list | tuple):
        alike = type(one) is type(other) and len(one) == len(other)
        return alike and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return one == other


@given(batch=batches)
@few(50)
def test_what_is_packed_is_unpacked(batch):
    assert same(batch, unpacked(packed(batch)))


@given(batch=batches)
@few(50)
def test_message_fills_whole_lines_so_that_the_next_one_begins_with_a_line(batch):
    assert packed(batch).numel() % ALIGNMENT == 0


def test_tensors_of_a_message_lie_in_its_memory():
    message = packed((torch.zeros(3), torch.zeros(5, dtype=torch.uint8)))
    found, _ = unpacked(message)
    message.fill_(255)
    assert torch.isnan(found).all()


def test_arrays_come_out_as_tensors():
    numbers, half = unpacked(packed([np.arange(3), np.float32(0.5)]))
    assert numbers.tolist() == [0, 1, 2]
    assert half.item() == 0.5


def test_tensor_that_is_a_view_travels_as_what_it_shows():
    view = torch.arange(12).reshape(3, 4).T[1:]
    assert torch.equal(unpacked(packed(view)), view)


@pytest.mark.parametrize(("content", "where"), [
    ({"a": [1, {2}]}, r"batch\['a'\]\[1\] is a set"),
    ((object(),), r"batch\[0\] is a object"),
    ({1: 2}, "batch is a dict"),
])  # fmt: skip
def test_what_cannot_travel_is_refused_with_its_place(content, where):
    with pytest.raises(InputError, match=where):
        packed(content)


def test_failure_is_raised_where_it_is_unpacked():
    with pytest.raises(NodeFailed, match="no such file: ä"):
        unpacked(failure("no such file: ä"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"int64"', b'"_load"'),
        (b'"int64", [4]', b'"int64", [9]'),
        (b'"int64", [4], 0', b'"int64", [4],-8'),
        (b'{"tensor": 0}', b'{"tensor": 9}'),
        (b'{"tensor": 0}', b'{"tensor":-1}'),
        (b'"tree"', b'"true"'),
    ],
)
def test_what_is_no_block_is_an_error_and_is_not_read_past(before, after):
    whole = bytes(packed(torch.arange(4)).numpy())
    assert before in whole
    changed = torch.frombuffer(bytearray(whole.replace(before, after)), dtype=torch.uint8)
    with pytest.raises(NodeFailed, match="no block"):
        unpacked(changed)
    assert unpacked(torch.frombuffer(bytearray(whole), dtype=torch.uint8)).tolist() == [0, 1, 2, 3]


def test_a_length_that_no_message_has_is_not_waited_for():
    claims = torch.frombuffer(bytearray((1 << 62).to_bytes(8, "little") * 2), dtype=torch.uint8)
    with pytest.raises(NodeFailed, match="no message"):
        length_of(claims)
