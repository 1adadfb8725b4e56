"""The arena: as large as asked for at most, and every sample comes back from its slot."""

import errno
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batchcast import corpus
from tests.needs import needs

from batchcast.arena import MOST, Columns, arena_bytes, available_memory, make_arena, slots_within
from batchcast.errors import ArgumentError, SampleFailed, StreamError, StreamGarbled
from batchcast.layout import Layout, Leaf, layout_of

torch = needs("torch")


def layout(size, varying=False):
    leaf = Leaf(dtype="uint8", shape=(size,), most=size if varying else 0)
    return Layout(form=["leaf"], batch=["leaf"], leaves=(leaf, Leaf(dtype="int64", shape=())))


def columns_for(sample, slots=4, most=None):
    form = layout_of([sample], most=most)
    descriptor = make_arena(form, slots)
    columns = Columns(descriptor, form, slots=slots, writable=True)
    os.close(descriptor)
    return columns


@given(memory=st.integers(60_000, 10**9), size=st.integers(1, 5000), together=st.integers(1, 300))
def test_an_arena_never_exceeds_its_bound_and_wastes_little(memory, size, together):
    slots = slots_within(memory, layout(size, varying=True), together=together)
    assert arena_bytes(layout(size, varying=True), slots) <= memory
    assert slots % together == 0 or slots < together
    larger = slots + 2 * together + 40_000 // size
    assert slots > MOST - together or arena_bytes(layout(size, varying=True), larger) > memory


def test_an_arena_that_holds_less_than_two_samples_is_refused_with_what_it_takes():
    with pytest.raises(ArgumentError, match=r"a memory of \d+ bytes") as told:
        slots_within(33_000, layout(1000), together=1)
    enough = int(str(told.value).split("memory of ")[1].split()[0])
    assert slots_within(enough, layout(1000), together=1) == 2


def test_an_arena_larger_than_memory_is_refused():
    with pytest.raises(ArgumentError, match="smaller memory"):
        make_arena(layout(available_memory()), 2)


def test_samples_come_back_from_their_slots():
    columns = columns_for(("äb", np.arange(6).reshape(2, 3)))
    columns.write(2, ("xyz", np.arange(6).reshape(2, 3)), number=7, sample_id=9)
    assert columns.varying(0, 2).tobytes() == b"xyz"
    assert columns.fixed(1)[2].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (columns.numbers[2], columns.ids[2]) == (7, 9)
    copy = [np.array(part) for part in columns.record(2)]
    for part, value in zip(columns.record(1), copy, strict=True):
        part[...] = value
    assert columns.varying(0, 1).tobytes() == b"xyz"


@pytest.mark.parametrize(
    ("sample", "told"),
    [
        (("x" * 257, np.zeros(2)), "longest=514"),
        (("x", np.zeros(3)), r"the shape \[3\] and the first samples had \[2\].*longest=48"),
        (("x", np.zeros(2, np.float32)), "is float32"),
        (("x", torch.zeros(2)), "is tensor and that of the first samples was array"),
        (("x",), "same fields"),
        (("x", torch.zeros(2, device="meta")), "lies on meta"),
    ],
)
def test_a_sample_that_does_not_fit_is_told(sample, told):
    with pytest.raises(SampleFailed, match=told):
        columns_for(("x", np.zeros(2))).write(0, sample, number=0, sample_id=0)


@pytest.mark.parametrize("shape", [(-1, 1), (-1, -1), (3, 3), (1 << 40, 1)])
def test_a_shape_that_no_sample_has_is_not_read(shape):
    columns = columns_for(torch.zeros(2, 2), most=32)
    columns.write(1, torch.ones(2, 2), number=0, sample_id=0)
    assert (columns.varying(0, 1) == 1).all()
    columns.record(1)[2][:2] = shape
    with pytest.raises(StreamGarbled, match="exceeds its 32 bytes"):
        columns.varying(0, 1)


def test_an_arena_that_a_process_may_not_map_is_told_with_what_to_raise(monkeypatch):
    def refused(*_, **__):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr("batchcast.arena._Map", refused)
    with pytest.raises(StreamError, match="ulimit -v"):
        columns_for(torch.zeros(3))


@pytest.mark.parametrize("sample", [*corpus.STACKED, *corpus.STRANGE, *corpus.LOOSE])
def test_many_samples_are_stored_like_each(sample):
    samples = [sample(index) for index in range(9)]
    form = layout_of(samples, most=None)
    stored = []
    for together in (False, True):
        descriptor = make_arena(form, 12)
        columns = Columns(descriptor, form, slots=12, writable=True)
        os.close(descriptor)
        slots, ids = np.array([9, 10, 11, 0, 1, 2, 3, 4, 5]), np.arange(9) * 7
        if together:
            columns.write_many(slots, samples, first=40, ids=ids)
        else:
            for number, (slot, each) in enumerate(zip(slots, samples, strict=True)):
                columns.write(slot, each, number=40 + number, sample_id=7 * number)
        stored.append([part.tobytes() for slot in range(12) for part in columns.record(slot)])
    assert stored[0] == stored[1]


def test_many_samples_of_which_one_is_another_s_kind_are_refused():
    columns = columns_for((torch.zeros(3), 1), slots=8)
    slots, ids = np.arange(4), np.arange(4)
    good = (torch.zeros(3), 1)
    for bad in (
        (torch.zeros(4), 1),
        (torch.zeros(3, dtype=torch.float64), 1),
        (torch.zeros(3), 1.0),
        (torch.zeros(3), 1 << 70),
        (torch.zeros(3, requires_grad=True), 1),
        (torch.zeros(3), 1, 2),
        [torch.zeros(3)],
        {"a": 1},
    ):
        with pytest.raises((SampleFailed, ValueError)):
            columns.write_many(slots, [good, good, bad, good], first=0, ids=ids)
