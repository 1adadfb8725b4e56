"""Packing: what comes back is what went, however it lies, or it is said why it does not."""

import pickle
import sys
from types import ModuleType

import numpy as np
import pytest
from tests.batchcast.corpus import same
from tests.needs import needs

from batchcast.errors import SampleFailed
from batchcast.packing import lent_tensor, pack, size_at, unpack

torch = needs("torch")

PLAIN = torch.arange(24.0).reshape(2, 3, 4)
FORMS = {
    "plain": PLAIN,
    "every other": PLAIN[:, :, ::2],
    "a corner": PLAIN[1:, 1:, 2:],
    "turned": PLAIN.permute(2, 0, 1),
    "spread": torch.ones(1).expand(5),
    "nothing": PLAIN[:0],
    "one": torch.tensor(7),
    "short": torch.arange(5, dtype=torch.uint8),
    "wants a gradient": torch.ones(3, requires_grad=True),
    "conjugated": torch.ones(3, dtype=torch.complex64).conj(),
    "negative": torch.ones(3, dtype=torch.complex64).conj().imag,
    "array": np.arange(6.0).reshape(2, 3)[:, ::2],
}


def stored(value):
    """The memory that a value is packed into, with bytes behind it that are not its own."""
    packed = pack(value)
    memory = np.full(packed.size + 100, 255, np.uint8)
    packed.write(memory, begin=0)
    assert size_at(memory) == packed.size
    return memory


@pytest.mark.parametrize("name", FORMS)
def test_a_tensor_comes_back_however_it_lies(name):
    value = FORMS[name]
    found = unpack(stored(value))
    if isinstance(value, torch.Tensor):
        assert torch.equal(found, value)
        assert (found.requires_grad, found.dtype) == (value.requires_grad, value.dtype)
    else:
        assert same(found, value)


def test_a_value_written_in_pieces_is_the_value():
    value = {"x": FORMS["plain"], "y": np.arange(40), "z": [1, "text", FORMS["turned"]]}
    packed = pack(value)
    memory = np.zeros(-(-packed.size // 50) * 50, np.uint8)
    for begin in range(0, len(memory), 50):
        packed.write(memory[begin : begin + 50], begin=begin)
    assert same(unpack(memory), value)


def test_what_two_feeders_gave_differently_is_told():
    memory = stored({"x": torch.arange(500.0)})
    memory[size_at(memory) - 8] ^= 1
    with pytest.raises(SampleFailed, match="the loader gave another one"):
        unpack(memory)


def test_what_cannot_be_imported_by_who_reads_is_told(monkeypatch):
    module = ModuleType("of_one_process")
    module.Fact = type("Fact", (), {"__module__": "of_one_process"})
    monkeypatch.setitem(sys.modules, "of_one_process", module)
    memory = stored(module.Fact())
    assert type(unpack(memory)) is module.Fact
    monkeypatch.delitem(sys.modules, "of_one_process")
    with pytest.raises(SampleFailed, match="cannot be made in this process"):
        unpack(memory)


def test_what_does_not_pickle_is_told():
    with pytest.raises(SampleFailed, match="nor could a worker of a DataLoader give it"):
        pack(lambda: 1)
    with pytest.raises(SampleFailed, match=r"Call detach\(\)"):
        pack([torch.ones(3, requires_grad=True) * 2])
    assert pickle.loads(pickle.dumps(FORMS["plain"])).equal(unpack(stored(FORMS["plain"])))


def rows():
    """A tensor, some of its rows and columns, its bytes, and what lies beside it in no memory."""
    table = torch.arange(12.0).reshape(3, 4)
    return [table, table[1:], table.t(), table.view(torch.uint8), table[2], torch.ones(12)]


def lent(buffer, form):
    return lent_tensor(buffer, form)


@pytest.mark.parametrize("tensor", [None, lent])
def test_tensors_that_lay_in_one_memory_do_so_again(tensor):
    found = unpack(stored(rows()), tensor=tensor)
    assert same(found, rows())
    found[1].zero_()
    found[2][0] = 7
    expected = rows()
    expected[1].zero_()
    expected[2][0] = 7
    assert same(found, expected)
    assert not any(each._is_view() for each in found[:5])
    assert same(found[5], torch.ones(12))


def test_columns_of_a_large_table_are_carried_without_it():
    table = torch.zeros(1000, 100)
    assert pack([table[:, 3], table[:, 5]]).size < 20_000
    assert pack([table[:10], table[10:20]]).size < 20_000
    assert pack([table, table[:, 3]]).size < 500_000


def test_numbers_of_other_sizes_in_one_memory_begin_where_they_may():
    memory = torch.arange(64, dtype=torch.uint8)
    value = [memory[3:], memory[8:24].view(torch.float64), memory[4:12].view(torch.int32)]
    assert same(unpack(stored(value)), value)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_nested_tensors_come_back():
    nested = torch.nested.nested_tensor([torch.ones(2), torch.arange(3.0)])
    found = unpack(stored([nested]))[0]
    assert found.is_nested
    assert same(list(found.unbind()), list(nested.unbind()))
