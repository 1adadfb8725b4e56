"""What a source counts as memory: handed out, held, or the whole device."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measured.runs import GPT

from foretrain.measured.lore import MemoryCount, counted_of, share


@pytest.mark.parametrize(
    ("notes", "counted"),
    [
        ("peak allocated by torch, per GPU", MemoryCount.ALLOCATED),
        ("peak active memory; cumulative: baseline", MemoryCount.ALLOCATED),
        ("torch.cuda.max_memory_allocated", MemoryCount.ALLOCATED),
        ("maximum reserved memory", MemoryCount.RESERVED),
        ("quantity as the source says: GPU memory per device", MemoryCount.DEVICE),
        ("device memory in use when the run failed (out of memory)", MemoryCount.DEVICE),
        ("nvidia-smi", MemoryCount.DEVICE),
        ("nothing of it", MemoryCount.DEVICE),
    ],
)
def test_notes_say_what_is_counted(notes, counted):
    assert counted_of(replace(GPT, notes=notes)) is counted


@given(st.floats(1e6, 1e11), st.floats(0.0, 0.2), st.floats(0.0, 3e9))
def test_what_is_held_lies_between_what_is_handed_out_and_the_device(allocated, part, reserve):
    total = allocated * (1.0 + part) + reserve
    known = {"allocated": allocated, "total": total}
    low, middle, high = (share(each, **known) for each in MemoryCount)
    assert low <= middle <= high * (1 + 1e-12)
    assert high == 1.0
