"""Batches that are lent: whatever would write into one raises, and whatever reads goes on."""

import copy
import pickle

import numpy as np
import pytest
from tests.batchcast import corpus
from tests.batchcast.at_work import alone
from tests.batchcast.corpus import Of
from tests.needs import needs

from batchcast.errors import ReadOnly

torch = needs("torch")
pytestmark = pytest.mark.usefixtures("in_threads")
nn, functional = torch.nn, torch.nn.functional


class Scaled(nn.Module):
    """A module that scales its input in place, as normalisations with `inplace=True` do."""

    def forward(self, x):
        return x.sub_(0.5).div_(2.0)


def set_to_nothing(x):
    x[:] = 0


def set_one(x):
    x[0, 0, 0, 0] = 1


def set_where(x):
    x[x > 0] = 1


def added(x):
    x += 1


def into_an_array(x):
    x.numpy()[:] = 0


def into_what_numpy_sees(x):
    np.asarray(x)[0] = 0


WRITES = {
    "div_": lambda x: x.div_(2),
    "x[:] = 0": set_to_nothing,
    "x[0] = 1": set_one,
    "x[mask] = 1": set_where,
    "x += 1": added,
    "out=": lambda x: torch.add(x, 1, out=x),
    "ReLU": nn.ReLU(inplace=True),
    "relu": lambda x: functional.relu(x, inplace=True),
    "Dropout": nn.Dropout(0.5, inplace=True),
    "Hardtanh": nn.Hardtanh(inplace=True),
    "a network": nn.Sequential(nn.Identity(), nn.ReLU(inplace=True), nn.Conv2d(3, 2, 2)),
    "Normalize": Scaled(),
    "views": lambda x: x[1:].permute(1, 0, 2, 3).flatten(2)[0].zero_(),
    "detach": lambda x: x.detach().zero_(),
    "data": lambda x: x.data.zero_(),
    "chunks": lambda x: [each.zero_() for each in x.chunk(2)],
    "rows": lambda x: [row.zero_() for row in x],
    "contiguous": lambda x: x.contiguous().zero_(),
    "to": lambda x: x.to("cpu").float().zero_(),
    "reshape": lambda x: x.reshape(-1).zero_(),
    "many": lambda x: torch._foreach_add_([x], 1),
    "init": nn.init.zeros_,
    "random": lambda x: x.uniform_(),
    "copy_": lambda x: x.copy_(torch.zeros_like(x)),
    "index": lambda x: x.index_fill_(0, torch.tensor([0]), 0.0),
    "resize": lambda x: x.resize_(2),
    "storage": lambda x: x.untyped_storage().fill_(0),
    "old storage": lambda x: x.storage().fill_(0),
    "dlpack": lambda x: torch.from_dlpack(x).zero_(),
    "numpy": into_an_array,
    "asarray": into_what_numpy_sees,
}


@pytest.fixture(scope="module")
def lent():
    """A batch that lies in the arena of a stream, and its first numbers."""
    with alone(Of(corpus.image), 8, epochs=1, shuffle=False, lend=True) as loader:
        (x, y), *_ = batches = list(loader)
        assert loader.stats()["copies"] == 0
        yield x, y
        del batches


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_into_a_lent_batch_raises_and_changes_nothing(lent, write):
    x, y = lent
    with pytest.raises((ReadOnly, ValueError), match=r"batch that is lent|read-only"):
        write(x)
    assert (x == y.view(-1, 1, 1, 1)).all()


def test_what_raises_says_what_to_write(lent):
    x, _ = lent
    with pytest.raises(ReadOnly, match=r"batch\.clone\(\).*without lend=True"):
        x.div_(2)
    assert x.clone().div_(2).sum() == x.sum() / 2


def test_a_lent_batch_is_read_like_any_other(lent):
    x, y = lent
    plain = x.clone()
    assert type(plain) is torch.Tensor
    network = nn.Sequential(
        nn.Conv2d(3, 2, 2), nn.ReLU(inplace=True), nn.Flatten(), nn.LazyLinear(3)
    )
    assert torch.equal(network(x), network(plain))
    functional.cross_entropy(network(x), y % 3).backward()
    got = [x + 1, x[:, :, ::2], x.mean(), x.to(torch.float64), torch.cat([x, x]), x.numpy().copy()]
    want = [plain + 1, plain[:, :, ::2], plain.mean(), plain.double(), torch.cat([plain] * 2)]
    for left, right in zip(got, [*want, plain.numpy()], strict=True):
        assert (torch.as_tensor(left) == torch.as_tensor(right)).all()
    assert x.tolist() == plain.tolist()
    assert repr(x) == repr(plain)
    assert y[3].item() == 3
    assert (x.shape, x.dtype, x.stride(), len(x)) == (plain.shape, plain.dtype, plain.stride(), 8)


def test_a_gradient_of_a_lent_batch_can_be_had(lent):
    x = lent[0].detach().requires_grad_(True)
    (x * x).sum().backward()
    assert torch.equal(x.grad, 2 * lent[0].clone())


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_of_a_lent_batch_is_ones_own(lent, copied):
    own = copied(lent[0])
    assert type(own) is torch.Tensor
    own.zero_()
    assert lent[0].sum() > 0


def test_lent_batches_of_a_loader_that_pads_cannot_be_written():
    source = torch.utils.data.DataLoader(
        Of(corpus.image), batch_size=4, collate_fn=corpus.with_facts
    )
    with alone(source, None, epochs=1, lend=True) as loader:
        for batch in loader:
            assert batch["y"].tolist() == batch["np"].tolist() == batch["box"].values.tolist()
            with pytest.raises(ReadOnly):
                batch["x"].zero_()
            with pytest.raises(ReadOnly):
                batch["box"].values[0] = 1
            with pytest.raises(ValueError, match="read-only"):
                batch["np"][0] = 1
        assert loader.stats()["copies"] == 0


def test_in_lending_copies_cannot_be_written_either():
    with alone(Of(corpus.image), 20, epochs=1, memory="36 KiB", lend=True) as loader:
        for x, _ in loader:
            with pytest.raises(ReadOnly):
                x.zero_()
        assert loader.stats()["copies"]


@pytest.mark.parametrize("name", ["data set", "loader", "whole"])
def test_a_batch_that_is_not_lent_is_changed_in_place_and_spoils_nobody_s(name):
    collate = corpus.batch if name == "whole" else None
    private = torch.utils.data.DataLoader(Of(corpus.image), batch_size=4, collate_fn=collate)
    source = Of(corpus.image) if name == "data set" else private
    arguments = {"shuffle": False} if name == "data set" else {}
    size = 4 if name == "data set" else None
    with alone(source, size, memory="80 KiB", **arguments) as reader:
        for write in ("div_", "x[:] = 0", "ReLU", "a network", "Normalize", "out="):
            for got, want in zip(reader, private, strict=True):
                assert torch.equal(got[0], want[0])
                WRITES[write](got[0])
                WRITES[write](want[0])
                assert torch.equal(got[0], want[0])
