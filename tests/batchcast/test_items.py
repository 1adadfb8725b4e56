"""What a feeder takes an iterable's items for, and how it cuts them."""

from itertools import islice

import numpy as np
import pytest
from tests.needs import needs

from batchcast.errors import SampleFailed
from batchcast.items import PROBED, One, Stack, Whole, first_items, taken_apart
from batchcast.layout import layout_of, layout_of_bytes
from batchcast.packing import pack
from batchcast.source import Source

torch = needs("torch")


class Recorded:
    """Stands for the arena, and notes what is written into it."""

    def __init__(self):
        self.said = []

    def write(self, slot, sample, *, number, sample_id):
        self.said.append((slot, sample, number, sample_id))

    def write_run(self, slots, parts, *, numbers, first_id):
        self.said.append((slots, [list(part) for part in parts], numbers, first_id))

    def write_bytes(self, slots, packed, at, *, numbers, first_id):
        self.said.append((slots, at, numbers, first_id))


def stored(item, slots, begin, numbers, first_id):
    columns = Recorded()
    item.store(columns, slots, begin, numbers=numbers, first_id=first_id)
    (said,) = columns.said
    return said


def source_of(batches, *, yields, **others):
    return Source(**{
        "samples_of": None, "batches_of": batches, "shared": None, "seed": 3, "longest": None,
        "yields": yields, "whole": "", "batch": 2, "batches": None, "pinned": False, "slot": 4096,
        **others,
    })  # fmt: skip


def test_a_sample_goes_into_the_slot_that_it_is_given():
    assert len(One("x")) == 1
    assert stored(One("x"), slice(5, 6), 0, range(70, 71), 9) == (5, "x", 70, 9)


def test_a_stack_is_cut_where_its_slots_begin_and_end():
    stack = Stack(["tuple", [["leaf"], ["leaf"]]], [np.arange(6), list("abcdef")])
    assert len(stack) == 6
    assert stack.sample(2) == [2, "c"]
    slots, parts, numbers, first_id = stored(stack, slice(3, 5), 2, range(40, 42), 12)
    assert (slots, parts) == (slice(3, 5), [[2, 3], ["c", "d"]])
    assert (numbers, first_id) == (range(40, 42), 12)


@pytest.mark.parametrize("slot", [64, 100, 4096])
def test_a_whole_batch_takes_as_many_slots_as_its_bytes_need(slot):
    packed = pack({"x": torch.zeros(50)})
    item = Whole(packed, slot)
    assert (len(item) - 1) * slot < packed.size <= len(item) * slot
    assert stored(item, slice(0, 1), 2, range(9, 10), 4) == (slice(0, 1), 2 * slot, range(9, 10), 4)


@pytest.mark.parametrize(
    ("batch", "form", "samples"),
    [
        (torch.zeros(3, 2), ["leaf"], 3),
        ([torch.zeros(3), ["a", "b", "c"]], ["list", [["leaf"], ["leaf"]]], 3),
        ((torch.zeros(4), ("a", "b", "c", "d")), ["tuple", [["leaf"], ["leaf", "tuple"]]], 4),
        ({"x": torch.zeros(2), "y": [b"a", b"b"]}, ["dict", [["x", ["leaf"]], ["y", ["leaf"]]]], 2),
        ([[torch.zeros(2)], [1, 2]], None, None),
    ],
)
def test_a_batch_is_taken_apart_into_what_has_an_entry_for_each_sample(batch, form, samples):
    if form is None:
        with pytest.raises(SampleFailed, match="has no samples"):
            taken_apart(batch)
    else:
        stack = taken_apart(batch)
        assert (stack.form, len(stack)) == (form, samples)


def test_fields_of_different_lengths_cannot_be_cut():
    with pytest.raises(SampleFailed, match=r"have \[2, 3\] samples"):
        taken_apart([torch.zeros(2), torch.zeros(3)])


def found(batches, **asked):
    source = source_of(batches, **asked)
    items, told = first_items(source, iter(batches))
    return list(items), told


def test_samples_of_an_iterable_are_laid_out_by_the_first_of_them_and_none_is_lost():
    samples = [torch.full((2,), float(n)) for n in range(PROBED + 3)]
    items, told = found(samples, yields="samples")
    assert [item.sample.tolist() for item in items] == [sample.tolist() for sample in samples]
    assert told.layout == layout_of(samples, most=None)
    assert not told.layout.whole
    again = told.of(iter(samples), epoch=1)
    assert len(list(islice(again, 4))) == 4


def test_batches_that_stack_are_laid_out_as_their_samples():
    batches = [(torch.arange(2.0) + n, ["a", "bc"]) for n in range(3)]
    items, told = found(batches, yields="stacks")
    assert [len(item) for item in items] == [2, 2, 2]
    assert items[2].leaves[0].tolist() == [2.0, 3.0]
    assert told.layout.form == ["tuple", [["leaf"], ["leaf"]]]
    assert told.layout.batch == ["tuple", [["leaf"], ["leaf"]]]
    with pytest.raises(SampleFailed, match="nested differently in epoch 4"):
        list(told.of(iter([[torch.zeros(2), ["a", "b"]]]), epoch=4))


@pytest.mark.parametrize(
    ("batch", "strange"),
    [
        ((torch.zeros(2), 7), "a int"),
        ({"x": torch.zeros(2), "y": np.zeros(2)}, "a ndarray"),
        ([torch.zeros(2), []], "an empty list"),
        (torch.tensor(1.0), "a Tensor"),
        ({"x": {"y": [torch.zeros(2), {1: object}]}}, "a type"),
        ((torch.zeros(2), ["a", "b"], {"z": (torch.ones(2),)}), ""),
    ],
)
def test_batches_that_would_not_come_back_from_cutting_stay_whole(batch, strange):
    told = first_items(source_of([batch], yields="stacks"), iter([batch]))[1]
    assert told.layout.whole == (f"its batches hold {strange}" if strange else "")


def test_whole_batches_are_packed_into_slots():
    batches = [torch.zeros(n) for n in (1, 1500)]
    items, told = found(batches, yields="batches", whole="its collate_fn is pad", slot=4096)
    assert told.layout == layout_of_bytes(4096, whole="its collate_fn is pad")
    assert [len(item) for item in items] == [1, 2]
    with pytest.raises(SampleFailed, match="A batch of the loader cannot be handed on"):
        list(told.of(iter([lambda: 1]), epoch=0))


@pytest.mark.parametrize("yields", ["samples", "stacks", "batches"])
def test_nothing_is_told_at_once(yields):
    with pytest.raises(SampleFailed, match="gave nothing in its first epoch"):
        found([], yields=yields, whole="x" if yields == "batches" else "")


def test_a_shared_transform_draws_what_the_epoch_and_the_place_say_and_disturbs_nobody():
    def noisy(sample):
        return sample + torch.rand(2)

    samples = [torch.zeros(2)] * (PROBED + 2)
    source = source_of(samples, yields="samples", shared=noisy)
    torch.manual_seed(5)
    undisturbed = torch.rand(3)
    torch.manual_seed(5)
    items, told = first_items(source, iter(samples))
    first = [item.sample.tolist() for item in items]
    assert torch.equal(torch.rand(3), undisturbed)
    again = [item.sample.tolist() for item in told.of(iter(samples), epoch=0)]
    other = [item.sample.tolist() for item in told.of(iter(samples), epoch=1)]
    assert first == again
    assert len({str(each) for each in first + other}) == 2 * len(samples)
