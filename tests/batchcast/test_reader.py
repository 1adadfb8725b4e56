"""A reader: an unmodified training loop gets whole epochs, and may go on later or elsewhere."""

from itertools import islice, zip_longest

import pytest
from tests.batchcast.at_work import Numbers, alone, flat, ids_of, loader_of, shared, together
from tests.needs import needs

from batchcast.attachment import attach
from batchcast.errors import ArgumentError, StreamOver, StreamVersion

torch = needs("torch")
pytestmark = pytest.mark.usefixtures("in_threads")


def test_readers_with_batches_of_10_15_and_25_get_every_sample_once_an_epoch():
    with together(Numbers(103), 10, 15, 25, epochs=2, memory="48 KiB", workers=2) as (_, readers):
        first, second = (in_turns(readers), in_turns(readers))
    for epoch in (first, second):
        assert [len(batches[-1]) for batches in epoch] == [3, 13, 3]
        assert sorted(flat(epoch[0])) == list(range(103))
        assert flat(epoch[0]) == flat(epoch[1]) == flat(epoch[2])
    assert flat(first[0]) != flat(second[0])


def in_turns(readers):
    """Ids of the batches of an epoch, of readers that take one batch after the other."""
    turns = list(zip_longest(*readers))
    return [[turn[n][1].tolist() for turn in turns if turn[n]] for n in range(len(readers))]


def test_lengths_are_those_of_the_batches_that_come():
    with shared(Numbers(23), epochs=2) as stream:
        with attach(stream.name, batch_size=5, drop_last=True) as loader:
            assert len(loader) == len(ids_of(loader)) == 4
        with attach(stream.name, batch_size=5) as loader:
            assert len(loader) == len(ids_of(loader)) == 5


def test_a_last_batch_can_be_left_out_of_an_arena_that_holds_no_batch():
    with alone(Numbers(17), 10, drop_last=True, epochs=2, memory=33_000) as loader:
        assert [list(map(len, ids_of(loader))) for _ in range(2)] == [[10], [10]]


def test_batches_that_are_kept_stay_right_while_the_stream_goes_on():
    with alone(Numbers(200), 8, epochs=3, memory="34 KiB", lend=True) as loader:
        kept = [list(loader) for _ in range(3)]
        assert loader.stats()["copies"] > 0
    for epoch in kept:
        assert sorted(flat(labels.tolist() for _, labels in epoch)) == list(range(200))
        assert all((numbers == labels[:, None]).all() for numbers, labels in epoch)


def test_batches_that_are_kept_after_their_reader_has_left_stay_right():
    with shared(Numbers(100), epochs=9, memory="34 KiB") as stream:
        with attach(stream.name, batch_size=10, lend=True) as loader:
            kept = list(islice(loader, 4))
        with attach(stream.name, batch_size=10, start="now") as loader:
            for _ in range(3):
                ids_of(loader)
        assert all((numbers == labels[:, None]).all() for numbers, labels in kept)


def test_samples_that_are_lent_lie_where_they_were_decoded_and_others_can_be_written():
    with shared(Numbers(40), epochs=2) as stream:
        with attach(stream.name, batch_size=10, lend=True) as loader:
            ids_of(loader)
            assert loader.stats()["copies"] == 0
        with attach(stream.name, batch_size=10) as loader:
            for numbers, labels in loader:
                numbers.add_(1)
                assert (numbers == labels[:, None] + 1).all()


@pytest.mark.parametrize("source", [Numbers(37), loader_of(37, 8, shuffle=True)])
def test_a_reader_goes_on_behind_the_last_batch_it_got(source):
    with alone(source, 5, epochs=2, seed=7) as loader:
        whole = [ids_of(loader) for _ in range(2)]
    with alone(source, 5, epochs=2, seed=7) as loader:
        before = [labels.tolist() for _, labels in islice(loader, 3)]
        state = loader.state_dict()
    with alone(source, 4, state=state, epochs=2, seed=7) as loader:
        after = [ids_of(loader) for _ in range(2)]
    assert flat(before) + flat(after[0]) == flat(whole[0])
    assert flat(after[1]) == flat(whole[1])


def test_a_state_can_be_loaded_while_batches_are_in_use():
    with (
        shared(Numbers(60), epochs=2) as stream,
        attach(stream.name, batch_size=6, lend=True) as loader,
    ):
        loop = iter(loader)
        kept = [next(loop) for _ in range(3)]
        state = loader.state_dict()
        rest = ids_of(loop)
        loader.load_state_dict(state)
        assert ids_of(loader) == rest
        assert all((numbers == labels[:, None]).all() for numbers, labels in kept)


def test_a_state_about_other_data_is_refused():
    with shared(Numbers(10), seed=1) as stream, attach(stream.name, batch_size=5) as loader:
        state = loader.state_dict()
    with shared(Numbers(11), seed=1) as stream:
        with pytest.raises(StreamVersion, match="Share the same data"):
            attach(stream.name, batch_size=5, state=state)
        with (
            attach(stream.name, batch_size=5) as loader,
            pytest.raises(StreamVersion, match="this stream serves"),
        ):
            loader.load_state_dict(state)


def test_a_stream_that_is_over_is_told():
    with shared(Numbers(20), epochs=1) as stream, attach(stream.name, batch_size=5) as loader:
        assert sorted(flat(ids_of(loader))) == list(range(20))
        with pytest.raises(StreamOver, match="has begun and ended them all"):
            iter(loader)


@pytest.mark.usefixtures("in_processes")
def test_a_private_transform_draws_what_its_sample_and_member_say_and_disturbs_nobody():
    def noisy(sample):
        return sample[0] + torch.rand(3), sample[1]

    def drawn(model, workers, batch):
        with (
            shared(Numbers(12), epochs=2, workers=workers) as stream,
            attach(stream.name, batch_size=batch, private=noisy, model=model) as loader,
        ):
            return [
                {int(y): x.tolist() for xs, ys in loader for x, y in zip(xs, ys, strict=True)}
                for _ in "ab"
            ]

    torch.manual_seed(5)
    one = drawn("a", 1, 4)
    drawn_after = torch.rand(4)
    torch.manual_seed(5)
    for _ in "ab":
        list(torch.utils.data.DataLoader(Numbers(12), shuffle=True))
    assert torch.equal(torch.rand(4), drawn_after)
    assert drawn("a", 2, 5) == one
    assert drawn("b", 1, 4)[0][3] != one[0][3]
    assert one[0][3] != one[1][3]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"batch_size": 0}, "at least 1"), ({"policy": "wait"}, "block"), ({"start": "x"}, "epoch")],
)
def test_arguments_that_cannot_be_used_are_refused(wrong, told):
    with pytest.raises(ArgumentError, match=told):
        attach("nobody", **{"batch_size": 1, **wrong})
