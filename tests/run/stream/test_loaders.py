"""Loaders as people write them: a stream gives what a private DataLoader gives, or says why not."""

import pytest
from tests.needs import needs
from tests.run.stream import corpus
from tests.run.stream.at_work import alone
from tests.run.stream.corpus import Of, Sized, Stream, same

torch = needs("torch")
DataLoader = torch.utils.data.DataLoader

SMALL = "200 KiB"

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
    "named": (Of(corpus.named), {"batch_size": 4}),
    "ordered": (Of(corpus.ordered), {"batch_size": 4}),
    "encodings": (Of(corpus.encoding), {"batch_size": 4}),
    "deep": (Of(corpus.deep), {"batch_size": 4}),
    "words": (Of(corpus.words), {"batch_size": 4}),
    "bytes": (Of(corpus.raw), {"batch_size": 4}),
    "numbers": (Of(corpus.numbers), {"batch_size": 4}),
    "arrays": (Of(corpus.arrays), {"batch_size": 4}),
    "small numbers": (Of(corpus.small_numbers), {"batch_size": 4}),
    "nothing in it": (Of(corpus.empty), {"batch_size": 4}),
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


DATA_SETS = {
    "image": {},
    "words": {},
    "raw": {},
    "numbers": {},
    "arrays": {},
    "small_numbers": {},
    "deep": {},
    "named": {},
    "ordered": {},
    "encoding": {},
    "empty": {},
    "ragged": {"collate": corpus.pad},
    "tokens": {"collate": corpus.pad_tokens},
    "boxes": {"collate": corpus.zipped},
    "maybe": {"collate": list},
    "picture": {"collate": list},
}


@pytest.mark.parametrize("name", DATA_SETS)
@pytest.mark.parametrize("kind", [Of, Stream])
def test_a_stream_of_samples_gives_what_a_loader_of_them_gives(name, kind):
    sample, own = getattr(corpus, name), DATA_SETS[name]
    private = list(DataLoader(kind(sample), batch_size=4, collate_fn=own.get("collate")))
    arguments = {"shuffle": False} if kind is Of else {}
    with alone(kind(sample), 4, epochs=1, memory=SMALL, longest=900, **arguments, **own) as reader:
        assert same(list(reader), private)
    fit = {key: value for key, value in DATA_SETS.items() if key not in _SURPRISES}
    if name in fit:
        with alone(kind(sample), 4, epochs=1, memory=SMALL, **arguments, **own) as reader:
            assert same(list(reader), private)


_SURPRISES = ("ragged", "tokens", "words", "maybe", "named")
"""Data sets whose later samples need not fit what the first ones tell."""
