"""Loaders as people write them: a stream gives what a private DataLoader gives, or says why not."""

import pytest
from tests.needs import needs
from tests.run.stream import corpus
from tests.run.stream.at_work import alone
from tests.run.stream.corpus import Of, Sized, Stream, same

torch = needs("torch")
DataLoader = torch.utils.data.DataLoader

SMALL = "400 KiB"

LOADERS = {
    "plain": (Of(corpus.image), {"batch_size": 4}),
    "last batch dropped": (Of(corpus.image), {"batch_size": 4, "drop_last": True}),
    "shorter than a batch": (Of(corpus.image), {"batch_size": 50}),
    "workers": (Of(corpus.image), {"batch_size": 4, "num_workers": 2}),
    "persistent": (
        Of(corpus.image),
        {"batch_size": 4, "num_workers": 1, "persistent_workers": True},
    ),
    "pinned": (Of(corpus.image), {"batch_size": 4, "pin_memory": True}),
    "padded": (Of(corpus.ragged), {"batch_size": 4, "collate_fn": corpus.pad}),
    "padded tokens": (Of(corpus.tokens), {"batch_size": 4, "collate_fn": corpus.pad_tokens}),
    "padded along time": (Of(corpus.ragged), {"batch_size": 4, "collate_fn": corpus.time_first}),
    "packed sequences": (Of(corpus.ragged), {"batch_size": 4, "collate_fn": corpus.packed}),
    "detection": (Of(corpus.boxes), {"batch_size": 4, "collate_fn": corpus.zipped}),
    "unreadable samples": (
        Of(corpus.nothing),
        {"batch_size": 4, "collate_fn": corpus.without_nothing},
    ),
    "facts": (Of(corpus.image), {"batch_size": 4, "collate_fn": corpus.with_facts}),
    "channels last": (Of(corpus.image), {"batch_size": 4, "collate_fn": corpus.channels_last}),
    "lists of pairs": (Of(corpus.image), {"batch_size": 4, "collate_fn": corpus.as_pairs}),
    "lists of samples": (Of(corpus.picture), {"batch_size": 4, "collate_fn": list}),
    "all that stacks": (Of(corpus.Each(corpus.STACKED)), {"batch_size": 4}),
    "types of their own": (Of(corpus.Each(corpus.STRANGE)), {"batch_size": 4}),
    "words": (Of(corpus.words), {"batch_size": 4}),
    "uneven batches": (Of(corpus.image), {"batch_sampler": corpus.Uneven()}),
    "a sampler that goes on": (Of(corpus.image), {"batch_size": 4, "sampler": corpus.Turning()}),
    "iterable": (Stream(corpus.image), {"batch_size": 4}),
    "iterable, workers": (Stream(corpus.image), {"batch_size": 4, "num_workers": 2}),
    "iterable, padded": (Stream(corpus.ragged), {"batch_size": 4, "collate_fn": corpus.pad}),
    "iterable with a length": (Sized(corpus.image), {"batch_size": 4}),
}


@pytest.mark.filterwarnings("ignore:'pin_memory' argument")
@pytest.mark.parametrize("name", LOADERS)
def test_a_stream_gives_the_batches_of_its_loader(name):
    dataset, arguments = LOADERS[name]
    private = [list(DataLoader(dataset, **arguments))]
    if name == "a sampler that goes on":
        arguments = {**arguments, "sampler": corpus.Turning()}
    loader = DataLoader(dataset, **arguments)
    with alone(loader, None, epochs=1, memory=SMALL) as reader:
        assert same([list(reader)], private)


SAMPLES = {
    "stacked": (corpus.STACKED, None, {}),
    "strange": (corpus.STRANGE, None, {}),
    "loose": (corpus.LOOSE, list, {"longest": 1500}),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("kind", [Of, Stream])
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
