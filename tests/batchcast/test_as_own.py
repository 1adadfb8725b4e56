"""A batch for one more reader of a process: equal, and nobody sees what another one writes."""

import numpy as np
import pytest
from tests.batchcast.corpus import same
from tests.needs import needs

from batchcast.batch import as_own

torch = needs("torch")

WRITES = {
    "in place": lambda tensor: tensor.add_(1),
    "through a view": lambda tensor: tensor[1:].zero_(),
    "past autograd": lambda tensor: tensor.data.fill_(7),
    "as an array": lambda tensor: tensor.numpy().fill(7),
    "by an operation's argument": lambda tensor: torch.add(tensor, 1, out=tensor),
    "by a network": lambda tensor: torch.nn.functional.relu(tensor, inplace=True),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_is_seen_by_who_writes_alone(write):
    batch = [torch.linspace(-1, 1, 10).reshape(5, 2), ["a", "b"]]
    kept = batch[0].tolist()
    first, second = as_own(batch), as_own(batch)
    view = first[0][2:]
    write(first[0])
    assert batch[0].tolist() == second[0].tolist() == kept != first[0].tolist()
    assert view.tolist() == first[0][2:].tolist()


def test_what_is_no_tensor_is_copied_too():
    batch = {"array": np.arange(3), "texts": ("x", "y"), "set": {1}, "none": None, "number": 2}
    own = as_own(batch)
    assert same(own, batch)
    own["array"][0] = 9
    own["set"].add(5)
    assert batch["array"][0] == 0
    assert batch["set"] == {1}


def test_without_the_means_tensors_are_copied_at_once(monkeypatch):
    monkeypatch.delattr(torch, "_lazy_clone")
    tensor = torch.zeros(3)
    own = as_own(tensor)
    own += 1
    assert tensor.tolist() == [0, 0, 0]


def test_nothing_is_copied_before_somebody_writes():
    tensor = torch.zeros(1 << 20)
    own = as_own(tensor)
    assert float(own.sum()) == 0.0
    assert torch._C._is_cow_tensor(own)
    own[0] = 1
    assert not torch._C._is_cow_tensor(own)
