"""What scripts look at of a loader besides its batches: numbers are told, the rest in words."""

import copy
import pickle

import pytest
from tests.batchcast import corpus
from tests.batchcast.at_work import alone
from tests.batchcast.corpus import COUNT, Of, same
from tests.needs import needs

from batchcast.errors import StreamError
from batchcast.source import source_of

torch = needs("torch")
pytestmark = pytest.mark.usefixtures("in_threads")
DataLoader = torch.utils.data.DataLoader
DistributedSampler = torch.utils.data.DistributedSampler


def replica():
    """The share of one of two ranks, in an order of its own for each epoch."""
    data = Of(corpus.image)
    return DataLoader(data, 4, sampler=DistributedSampler(data, num_replicas=2, rank=0))


def by_epochs(loader):
    epochs = []
    for epoch in range(2):
        loader.sampler.set_epoch(epoch)
        epochs.append(list(loader))
    return epochs


def test_lengths_are_told():
    with alone(replica(), None, epochs=1) as reader:
        assert (len(reader), len(reader.dataset), len(reader.sampler)) == (3, COUNT, 12)
    with alone(Of(corpus.image), 4, epochs=1) as reader:
        assert (len(reader), len(reader.dataset), len(reader.sampler)) == (6, COUNT, COUNT)
    with alone(corpus.Stream(corpus.image), 4, epochs=1) as reader, pytest.raises(TypeError):
        len(reader.dataset)


def test_an_order_by_epochs_is_the_loader_s():
    with alone(replica(), None, epochs=2) as reader:
        assert same(by_epochs(reader), by_epochs(replica()))


def test_another_epoch_than_the_next_loop_s_is_told():
    with alone(replica(), None, epochs=3) as reader:
        sampler = reader.sampler
        with pytest.raises(StreamError, match=r"set_epoch\(1\), and the next loop .* epoch 0"):
            sampler.set_epoch(1)
        next(iter(reader))
        sampler.set_epoch(0)  # a first batch that was looked at comes again
        for _ in zip(range(2), reader, strict=False):
            pass
        sampler.set_epoch(1)
        list(reader)
        sampler.set_epoch(2)


def test_whether_a_last_batch_is_left_out_is_told():
    with alone(DataLoader(Of(corpus.image), 4, drop_last=True), None, epochs=1) as reader:
        assert reader.drop_last
    with alone(replica(), None, epochs=1) as reader:
        assert not reader.drop_last


def test_what_only_the_loader_has_is_told_in_words():
    with alone(DataLoader(Of(corpus.image), 4), None, epochs=1) as reader:
        assert not hasattr(reader.sampler, "set_epoch")
        assert getattr(reader, "collate_fn", None) is None
        for wrong, told in (
            (lambda: reader.dataset[0], "cannot give samples"),
            (lambda: list(reader.dataset), "cannot give samples"),
            (lambda: reader.dataset.classes, "cannot tell its 'classes'"),
            (lambda: reader.collate_fn, "A reader has no 'collate_fn'"),
        ):
            with pytest.raises(StreamError, match=told):
                wrong()
        with pytest.raises(AttributeError, match="no attribute 'other'"):
            _ = reader.other


class ByEpoch(Of):
    """Samples that depend on the epoch, as the data set is told it."""

    epoch = None

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __getitem__(self, index):
        return super().__getitem__(index), self.epoch


def told_data(loader):
    epochs = []
    for epoch in range(2):
        loader.dataset.set_epoch(epoch)
        epochs.append(list(loader))
    return epochs


def test_a_data_set_by_epochs_is_told_as_over_a_loader():
    def private():
        return DataLoader(ByEpoch(corpus.image), 4)

    with alone(private(), None, epochs=2) as reader:
        assert same(told_data(reader), told_data(private()))
        with pytest.raises(StreamError, match=r"set_epoch\(5\), and the next loop"):
            reader.dataset.set_epoch(5)
        assert not hasattr(reader, "set_epoch")
        assert not hasattr(reader.sampler, "set_epoch")


def test_numbers_of_the_loader_are_told():
    private = DataLoader(Of(corpus.image), 4)
    with alone(private, None, epochs=1) as reader:
        assert [reader.num_workers, reader.persistent_workers, reader.pin_memory] == [0] * 3
        assert len(reader.batch_sampler) == len(private.batch_sampler)
        assert not hasattr(reader, "prefetch_factor")
    with_workers = DataLoader(Of(corpus.image), 4, num_workers=2, persistent_workers=True)
    told = source_of(with_workers, shared=None, seed=0, longest=None).told
    assert [told[each] for each in ("num_workers", "persistent_workers", "prefetch_factor")] == [
        2,
        1,
        2,
    ]


@pytest.mark.parametrize("doubled", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_reader_is_not_doubled(doubled):
    with (
        alone(DataLoader(Of(corpus.image), 4), None, epochs=1) as reader,
        pytest.raises(StreamError, match="cannot be copied or sent"),
    ):
        doubled(reader)
