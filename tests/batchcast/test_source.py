"""What is shared is told apart as PyTorch does, or its owner is asked; advice that works."""

from functools import partial

import pytest
from tests.batchcast import corpus
from tests.batchcast.at_work import alone, shared
from tests.batchcast.corpus import COUNT, Of, Stream, same
from tests.batchcast.names import new_name
from tests.needs import needs

from batchcast.attachment import attach
from batchcast.errors import ArgumentError, SampleFailed, StreamError
from batchcast.source import source_of
from batchcast.stream import share

torch = needs("torch")
pytestmark = pytest.mark.usefixtures("in_threads")
DataLoader = torch.utils.data.DataLoader


def told(source, **arguments):
    """What a source is taken for: what its items are, whether they are cut, and who reads them."""
    found = source_of(source, **{"shared": None, "seed": 0, "longest": None, **arguments})
    assert (found.samples_of is None) == (found.batches_of is not None)
    reads = "workers" if found.batches_of is None else "feeder"
    return found.yields, bool(found.whole), found.batch, reads


@pytest.mark.parametrize(
    ("source", "yields", "found"),
    [
        (Of(corpus.image), None, ("samples", False, None, "workers")),
        ([1, 2], None, ("samples", False, None, "workers")),
        ([torch.ones(2), torch.ones(2)], "batches", ("batches", True, None, "feeder")),
        (Stream(corpus.image), None, ("samples", False, None, "feeder")),
        (corpus.Sized(corpus.image), None, ("samples", False, None, "feeder")),
        (corpus.Batches(), "batches", ("batches", True, None, "feeder")),
        (corpus.Batches(), "stacks", ("stacks", False, None, "feeder")),
        (DataLoader(Of(corpus.image), batch_size=4), None, ("stacks", False, 4, "feeder")),
        (DataLoader(Of(corpus.image), batch_size=4), "batches", ("batches", True, 4, "feeder")),
        (
            DataLoader(Of(corpus.ragged), 4, collate_fn=corpus.pad),
            None,
            ("batches", True, 4, "feeder"),
        ),
        (
            DataLoader(Of(corpus.image), 4, collate_fn=corpus.batch),
            "stacks",
            ("stacks", False, 4, "feeder"),
        ),
        (
            DataLoader(Of(corpus.image), batch_sampler=corpus.Uneven()),
            None,
            ("batches", True, None, "feeder"),
        ),
        (corpus.Own(Of(corpus.image), batch_size=4), None, ("batches", True, 4, "feeder")),
        (DataLoader(Stream(corpus.image), batch_size=4), None, ("stacks", False, 4, "feeder")),
        (DataLoader(Stream(corpus.image), 4, num_workers=2), None, ("batches", True, 4, "feeder")),
        (
            DataLoader(Stream(corpus.image), batch_size=None),
            "samples",
            ("samples", False, None, "feeder"),
        ),
        (
            DataLoader(corpus.Batches(), batch_size=None),
            "batches",
            ("batches", True, None, "feeder"),
        ),
        (corpus.Made(), "batches", ("batches", True, None, "feeder")),
        (iter([1, 2]), "samples", ("samples", False, None, "feeder")),
    ],
)
def test_a_source_is_what_its_type_or_its_owner_says(source, yields, found):
    assert told(source, yields=yields) == found


@pytest.mark.parametrize(
    ("source", "arguments", "says"),
    [
        (corpus.Made(), {}, "a Made, and nothing tells whether its items are samples or batches"),
        (iter([1]), {}, "'samples' says that every item is one sample"),
        (DataLoader(corpus.Batches(), batch_size=None), {}, "batch_size=None.*yields='batches'"),
        (DataLoader(Of(corpus.image)), {"yields": "samples"}, "a DataLoader with a batch size"),
        (Of(corpus.image), {"yields": "batches"}, "a data set gives samples"),
        (Of(corpus.image), {"yields": "rows"}, "Allowed: samples, batches, stacks"),
        (DataLoader(Of(corpus.image)), {"shared": len}, "put the transform into its data set"),
        (3, {}, "given a int"),
        ([], {}, "without a sample"),
    ],
)
def test_what_cannot_be_told_apart_is_asked_for(source, arguments, says):
    with pytest.raises(ArgumentError, match=says):
        told(source, **arguments)


def refused(source, *, arguments=(), **asked):
    """What a stream or its first epoch says where it cannot give what is asked for."""
    size = asked.pop("batch_size", None)
    with (
        pytest.raises((ArgumentError, StreamError)) as said,
        alone(source, size, epochs=1, **dict(arguments), **asked) as reader,
    ):
        list(reader)
    return str(said.value)


def test_samples_of_an_iterable_are_not_taken_for_batches():
    """Twelve samples of five numbers were sixty batches once."""
    source = Stream(corpus.picture_of_five, 12)
    private = list(DataLoader(source, batch_size=4))
    assert "batch_size=..." in refused(source)
    with alone(source, 4, epochs=1) as loader:
        assert same(list(loader), private)
        assert len(private) == 3


def test_a_loader_that_pads_says_what_to_do_for_other_batch_sizes_and_it_works():
    source = Of(corpus.ragged)
    loader = DataLoader(source, batch_size=4, collate_fn=corpus.pad)
    said = refused(loader, batch_size=8)
    assert "its collate_fn is pad" in said
    assert "Attach without it, or share the loader's data set" in said
    with alone(source, 8, epochs=1, shuffle=False, longest=64, collate=corpus.pad) as reader:
        assert same(list(reader), list(DataLoader(source, 8, collate_fn=corpus.pad)))


def test_an_own_collate_function_that_stacks_can_be_said_to_and_is_cut():
    loader = DataLoader(Of(corpus.image), batch_size=4, collate_fn=corpus.batch)
    assert "yields='stacks'" in refused(loader, batch_size=8)
    with alone(loader, 8, epochs=1, yields="stacks") as reader:
        wanted = list(DataLoader(Of(corpus.image), 8, collate_fn=corpus.batch))
        assert same([tuple(batch) for batch in reader], wanted)


def test_what_default_collate_cannot_put_together_is_said_and_a_collate_function_can():
    source = Of(corpus.ragged)
    with pytest.raises(RuntimeError, match="equal size"):
        list(DataLoader(source, batch_size=4))
    said = refused(source, batch_size=4, arguments={"longest": 64})
    assert "attach(..., collate=...)" in said
    assert "collate_fn of your DataLoader" in said


def test_a_field_that_grows_is_said_with_a_length_that_works():
    source = Of(corpus.late)
    said = refused(source, batch_size=4, collate=corpus.pad)
    longest = int(said.split("longest=")[1].split(")")[0].split(",")[0])
    with alone(source, 4, epochs=1, shuffle=False, longest=longest, collate=corpus.pad) as reader:
        assert same(list(reader), list(DataLoader(source, 4, collate_fn=corpus.pad)))


def test_a_sample_that_is_missing_is_said_and_a_loader_can_leave_it_out():
    said = refused(Of(corpus.nothing), batch_size=4)
    assert "share a DataLoader whose collate_fn takes such samples" in said
    loader = DataLoader(Of(corpus.nothing), batch_size=4, collate_fn=corpus.without_nothing)
    with alone(loader, None, epochs=1) as reader:
        assert sum(len(y) for _, y in reader) == COUNT - 1


def test_batches_of_nobody_s_library_come_whole_or_cut_as_said():
    with alone(corpus.Made(), None, epochs=1, yields="batches") as reader:
        assert len(reader) == 3
        assert same(list(reader), list(corpus.Made()))
    assert "batch_size=..." in refused(corpus.Made(), arguments={"yields": "stacks"})


def test_what_whole_batches_do_not_allow_is_said():
    loader = DataLoader(Of(corpus.ragged), batch_size=4, collate_fn=corpus.pad)
    with shared(loader, epochs=1, readers=9) as stream:  # so that it does not begin
        for asked, says in (
            ({"policy": "drop"}, "tear one apart"),
            ({"start": "now"}, "tear one apart"),
            ({"policy": "detach"}, "which a loader cannot do"),
            ({"drop_last": True}, "drop_last is for samples"),
            ({"private": len}, "private is for samples"),
        ):
            with pytest.raises((ArgumentError, StreamError), match=says):
                attach(stream.name, **asked)


def test_a_batch_that_no_process_could_give_is_said():
    loader = DataLoader(Of(corpus.image), batch_size=4, collate_fn=corpus.with_a_function)
    with pytest.raises(SampleFailed, match="nor could a worker of a DataLoader"):
        share(loader, name=new_name())


def orders(loader):
    """The orders of two epochs of a stream with seed 3."""
    with alone(loader, None, epochs=2, seed=3) as reader:
        return [[n for _, y in reader for n in y.tolist()] for _ in range(2)]


def test_a_sampler_is_told_its_epoch():
    placed = corpus.Placed()
    got = orders(DataLoader(Of(corpus.image), batch_size=4, sampler=placed))
    for epoch in range(2):
        placed.set_epoch(epoch)
        assert got[epoch] == list(placed)


def with_a_generator(**arguments):
    """A loader whose order, and whose workers' draws, come from a generator of the user's."""
    generator = torch.Generator().manual_seed(5)
    torch.rand(7, generator=generator)  # it was used before
    arguments = {"shuffle": True, **arguments}
    return DataLoader(Of(corpus.noisy), batch_size=4, generator=generator, **arguments)


def weighted():
    drawn = torch.Generator().manual_seed(2)
    sampler = torch.utils.data.WeightedRandomSampler([1.0] * 23, 23, generator=drawn)
    return DataLoader(Of(corpus.image), batch_size=4, sampler=sampler)


def numbers_of(loader):
    return [y.tolist() for _, y in loader]


@pytest.mark.usefixtures("in_processes")
@pytest.mark.parametrize(
    "loader",
    [
        with_a_generator,
        partial(with_a_generator, num_workers=2),
        partial(with_a_generator, num_workers=1, persistent_workers=True),
        weighted,
    ],
)
def test_a_generator_of_the_user_s_orders_epochs_as_over_a_loader(loader):
    private = loader()
    wanted = [numbers_of(private) for _ in range(3)]
    with alone(loader(), None, epochs=3) as reader:
        assert [numbers_of(reader) for _ in range(2)] == wanted[:2]
        state = reader.state_dict()
    with alone(loader(), None, epochs=3, state=state) as reader:
        assert numbers_of(reader) == wanted[2]


@pytest.mark.usefixtures("in_processes")
def test_what_workers_draw_comes_from_the_user_s_generator():
    private = [x for x, _ in with_a_generator(num_workers=2)]
    with alone(with_a_generator(num_workers=2), None, epochs=1) as reader:
        assert corpus.same([x for x, _ in reader], private)


def test_an_epoch_that_is_left_early_moves_the_order_on_by_a_whole_one():
    private = with_a_generator()
    wanted = [numbers_of(private) for _ in range(2)]
    with alone(with_a_generator(), None, epochs=2, memory="34 KiB") as reader:
        for _ in zip(range(3), reader, strict=False):
            pass
        assert numbers_of(reader) == wanted[1]


DRAWING = {
    "shuffle": {"shuffle": True},
    "subset": {"sampler": torch.utils.data.SubsetRandomSampler(range(700))},
    "weights": {"sampler": torch.utils.data.WeightedRandomSampler([1.0] * 9, 9)},
    "batches": {
        "batch_sampler": torch.utils.data.BatchSampler(
            torch.utils.data.RandomSampler(range(9)), 4, drop_last=True
        )
    },
    "nothing": {},
}


@pytest.mark.usefixtures("in_processes")
@pytest.mark.parametrize("name", DRAWING)
def test_a_reader_leaves_a_script_s_generator_where_a_loader_does(name):
    def drawn(loader):
        torch.manual_seed(3)
        return [(sum(1 for _ in loader), torch.rand(2).tolist()) for _ in range(2)]

    def loader():
        return DataLoader(Of(corpus.image, 700), **DRAWING[name])

    with alone(loader(), None, epochs=2) as reader:
        assert drawn(reader) == drawn(loader())
