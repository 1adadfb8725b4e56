"""Loops as people write them: peeking, leaving early, two at once, epoch after epoch."""

from itertools import islice

import pytest
from tests.batchcast import corpus
from tests.batchcast.at_work import alone, together
from tests.batchcast.corpus import COUNT, Of, Sized, Stream, same
from tests.needs import needs

from batchcast.errors import SampleFailed, StreamError, StreamOver
from batchcast.messages import Kind

torch = needs("torch")
pytestmark = pytest.mark.usefixtures("in_threads")
DataLoader = torch.utils.data.DataLoader


def loaded(**arguments):
    return DataLoader(Of(corpus.image), batch_size=4, **arguments)


def padded():
    return DataLoader(Of(corpus.ragged), batch_size=4, collate_fn=corpus.pad)


SOURCES = {
    "data set": (lambda: Of(corpus.image), {"shuffle": False}, 4, loaded),
    "loader": (loaded, {}, None, loaded),
    "loader that pads": (padded, {}, None, padded),
    "iterable": (lambda: Stream(corpus.image), {}, 4, loaded),
}


def first(loader):
    return next(iter(loader))


def peeks(loader):
    """A look at the first batch, twice, then whole epochs."""
    return [first(loader), first(loader), list(loader), list(loader)]


def limits(loader):
    """So many batches of every epoch."""
    return [list(islice(loader, 3)), list(islice(loader, 2)), list(loader)]


def counts(loader):
    """An epoch's batches by their number, which leaves its end unseen."""
    return [list(islice(loader, -(-COUNT // 4))) for _ in range(3)]


def breaks(loader):
    got = []
    for _ in range(3):
        for place, batch in enumerate(loader):
            got.append(batch)
            if place == 2:
                break
    return got


def one_iterator(loader):
    """A loop that goes on with the iterator that another one left."""
    loop = iter(loader)
    return [next(loop), list(islice(loop, 2)), list(loop), list(loop), list(loader)]


def spoils(loader):
    """A first batch that is changed in place is whole when it comes again."""
    first(loader)[0].zero_()
    first(loader)[0].zero_()
    return list(loader)


SCRIPTS = (peeks, limits, counts, breaks, one_iterator, spoils)


@pytest.mark.parametrize(
    ("name", "memory"),
    [
        *((name, "400 KiB") for name in SOURCES),
        ("data set", "40 KiB"),
        ("loader that pads", "40 KiB"),
    ],
)
def test_scripts_get_what_a_private_loader_gives_them(name, memory):
    source, arguments, batch_size, private = SOURCES[name]
    with alone(source(), batch_size, memory=memory, **arguments) as loader:
        wrong = [each.__name__ for each in SCRIPTS if not same(each(loader), each(private()))]
    assert not wrong


def test_lent_batches_are_looped_over_in_the_same_way():
    source, arguments, batch_size, private = SOURCES["loader that pads"]
    with alone(source(), batch_size, lend=True, **arguments) as loader:
        got = [[batch[0].clone() for batch in epoch] for epoch in limits(loader)]
        looked, again = first(loader), first(loader)
        assert torch.equal(looked[0].clone(), again[0].clone())
        assert len(list(loader)) == len(list(private()))
    assert same(got, [[batch[0] for batch in epoch] for epoch in limits(private())])


def test_a_stream_whose_epochs_were_all_begun_says_so():
    with alone(loaded(), None, epochs=1) as loader:
        next(iter(loader))
        list(islice(loader, 2))
        with pytest.raises(StreamOver, match="A loop that is left early ends its epoch"):
            list(loader)


def test_two_loops_at_once_over_one_reader_are_refused():
    with alone(loaded(), None, epochs=2) as loader:
        one = iter(loader)
        next(one)
        two = iter(loader)
        next(two)
        with pytest.raises(StreamError, match="Attach a second reader"):
            next(one)
        assert len(list(two)) == 5


@pytest.mark.parametrize(
    ("source", "batch_size", "length"),
    [
        (loaded(drop_last=True), None, 5),
        (DataLoader(Sized(corpus.ragged), 4, collate_fn=corpus.pad), None, 6),
        (Of(corpus.image), 10, 3),
    ],
)
def test_a_length_is_that_of_the_private_loader(source, batch_size, length):
    with alone(source, batch_size, epochs=1) as loader:
        assert len(loader) == len(list(loader)) == length


def test_what_has_no_length_has_none_here_either():
    with alone(Stream(corpus.image), 4) as loader, pytest.raises(TypeError, match="no length"):
        len(loader)


def test_a_state_after_a_look_is_at_the_beginning_once_the_loop_begins():
    with alone(loaded(), None, epochs=2) as loader:
        next(iter(loader))
        assert loader.state_dict()["position"] == 4
        iter(loader)
        assert loader.state_dict()["position"] == 0


def test_a_look_after_a_state_was_loaded_costs_no_epoch():
    with alone(Of(corpus.image), 4, epochs=1, shuffle=False) as loader:
        list(islice(loader, 2))
        state = loader.state_dict()
    with alone(Of(corpus.image), 4, epochs=1, shuffle=False, state=state) as loader:
        assert next(iter(loader))[1].tolist() == [8, 9, 10, 11]
        assert next(batch[1].tolist() for batch in loader) == [8, 9, 10, 11]


MANY = 4000


@pytest.mark.parametrize(
    "source", [Of(corpus.image, MANY), DataLoader(Of(corpus.image, MANY), batch_size=4)]
)
def test_what_every_reader_left_is_not_prepared(source):
    with together(source, 4, 8, epochs=3, memory="80 KiB") as (stream, readers):
        for _ in range(2):
            list(islice(zip(*readers, strict=True), 3))
        one, two = next(zip(*readers, strict=True))
        assert one[1].tolist() == two[1][:4].tolist()
        assert sum(stream.stats()["worker_seconds"].values()) < 1
        assert stream.stats()["prepared"] < 1500


def nothing(samples):
    """A batch that is nothing every now and then."""
    return None if samples[0][1] % 8 else samples


def test_a_batch_may_be_nothing():
    def private():
        return DataLoader(Of(corpus.image), 4, collate_fn=nothing)

    with alone(private(), None, epochs=2) as loader:
        assert same([list(loader), list(loader)], [list(private())] * 2)


def fails(index):
    if index == 9:
        raise ValueError(index)
    return index


def test_who_goes_on_after_an_error_is_told_again():
    with alone(DataLoader(Of(fails), batch_size=4), None, epochs=2) as loader:
        loop = iter(loader)
        with pytest.raises(SampleFailed, match="ValueError: 9"):
            list(loop)
        for _ in range(3):
            with pytest.raises(SampleFailed, match="ValueError: 9"):
                next(loop)


def goes_on(loader, *, leaves):
    """Epochs without an end, each to its own or left early."""
    while True:
        for place, _ in enumerate(loader):
            if leaves and place == 3:
                break


@pytest.mark.parametrize("kind", [Kind.GRANT, Kind.ENDED, Kind.SEEK])
def test_who_goes_on_after_ctrl_c_gets_whole_epochs(kind, monkeypatch):
    with alone(loaded(), None, memory="40 KiB") as loader:
        answer, interrupted = loader._line.answer, []

        def interrupts(*kinds):
            if kind in kinds and loader._given > 2 and not interrupted:
                interrupted.append(kind)
                raise KeyboardInterrupt
            return answer(*kinds)

        monkeypatch.setattr(loader._line, "answer", interrupts)
        with pytest.raises(KeyboardInterrupt):
            goes_on(loader, leaves=kind is Kind.SEEK)
        assert interrupted == [kind]
        for _ in range(2):
            assert same(list(loader), list(loaded()))


def test_epochs_of_a_loader_without_length_may_have_any():
    with alone(DataLoader(corpus.Shrinking(), batch_size=3), None, epochs=2) as loader:
        assert [len(list(loader)), len(list(loader))] == [4, 3]
