"""Loaders as people write them: a stream gives what a private DataLoader gives, or says why not."""

import pytest
from tests.batchcast import corpus
from tests.batchcast.at_work import alone
from tests.batchcast.corpus import Of, Sized, Stream, same
from tests.needs import needs

torch = needs("torch")
pytestmark = pytest.mark.usefixtures("in_threads")
DataLoader = torch.utils.data.DataLoader

SMALL = "400 KiB"

LOADERS = {
    "plain": (Of(corpus.image), {"batch_size": 4}),
    "last batch dropped": (Of(corpus.image), {"batch_size": 4, "drop_last": True}),
    "workers": (Of(corpus.image), {"batch_size": 4, "num_workers": 2}),
    "persistent": (
        Of(corpus.image),
        {"batch_size": 4, "num_workers": 1, "persistent_workers": True, "pin_memory": True},
    ),
    "padded tokens": (Of(corpus.tokens), {"batch_size": 4, "collate_fn": corpus.pad_tokens}),
    "all that stacks": (Of(corpus.Each(corpus.STACKED)), {"batch_size": 4}),
    "iterable": (Sized(corpus.image), {"batch_size": 4}),
    "iterable, workers": (Stream(corpus.image), {"batch_size": 4, "num_workers": 2}),
}


@pytest.mark.usefixtures("in_processes")
@pytest.mark.filterwarnings("ignore:'pin_memory' argument")
@pytest.mark.parametrize("name", LOADERS)
def test_a_stream_gives_the_batches_of_its_loader(name):
    dataset, arguments = LOADERS[name]
    private = list(DataLoader(dataset, **arguments))
    with alone(DataLoader(dataset, **arguments), None, epochs=2, memory=SMALL) as reader:
        assert same(list(reader), private)
        assert same(list(reader), private)


@pytest.mark.parametrize("memory", [SMALL, "48 KiB"])
def test_batches_of_every_kind_come_whole_into_an_arena_of_any_size(memory):
    private = list(corpus.Many())
    with alone(corpus.Many(), None, epochs=1, memory=memory) as reader:
        got = list(reader)
    wrong = [
        corpus.WHOLE[n % len(corpus.WHOLE)]
        for n, each in enumerate(private)
        if not same(got[n], each)
    ]
    assert not wrong
    assert len(got) == len(private) > 50


def test_a_sampler_with_a_state_of_its_own_goes_on_from_epoch_to_epoch():
    def turning():
        return DataLoader(Of(corpus.image), batch_size=4, sampler=corpus.Turning())

    private = turning()
    with alone(turning(), None, epochs=2) as reader:
        assert same([list(reader), list(reader)], [list(private), list(private)])


SAMPLES = {
    "stacked": (corpus.STACKED, None, {}),
    "strange": (corpus.STRANGE, None, {}),
    "loose": (corpus.LOOSE, list, {"longest": 1500}),
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [(Of, "stacked"), (Of, "strange"), (Of, "loose"), (Stream, "stacked"), (Stream, "loose")],
)
def test_a_stream_of_samples_gives_what_a_loader_of_them_gives(name, kind):
    samples, collate, arguments = SAMPLES[name]
    source = kind(corpus.Each(samples))
    private = list(DataLoader(source, batch_size=4, collate_fn=collate))
    arguments = {**arguments, "shuffle": False} if kind is Of else arguments
    with alone(source, 4, epochs=1, memory=SMALL, collate=collate, **arguments) as reader:
        got = list(reader)
    if collate is None:
        columns = [[batch[each.__name__] for each in samples] for batch in got]
        wanted = [[batch[each.__name__] for each in samples] for batch in private]
        wrong = [
            n
            for left, right in zip(columns, wanted, strict=True)
            for n, x, y in zip(samples, left, right, strict=True)
            if not same(x, y)
        ]
        assert not wrong
    assert same(got, private)
