"""Loaders as people write them: data sets, collate functions and samplers, importable anywhere."""

import random
from collections import OrderedDict, UserDict, namedtuple

import numpy as np
from tests.needs import needs

torch = needs("torch")
data = torch.utils.data

COUNT = 23
"""Samples of every data set here: no batch size below divides it."""

Pair = namedtuple("Pair", ["image", "label"])


class Box:
    """An object of a user's own."""

    def __init__(self, values):
        self.values = values

    __hash__ = None

    def __eq__(self, other):
        return type(other) is Box and torch.equal(self.values, other.values)


class Encoding(UserDict):
    """A mapping like those that tokenizers return."""


class Of(data.Dataset):
    """A data set whose samples a function makes of their number."""

    def __init__(self, sample, count=COUNT):
        self.sample, self.count = sample, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if not 0 <= index < self.count:
            raise IndexError(index)
        return self.sample(index)


class Shrinking(data.IterableDataset):
    """Fewer samples every time that it is gone through."""

    def __init__(self):
        self.count = 13

    def __iter__(self):
        self.count -= 3
        return iter(range(self.count))


class Stream(data.IterableDataset):
    """Samples one after the other, dealt out among a loader's workers."""

    def __init__(self, sample, count=COUNT):
        self.sample, self.count = sample, count

    def __iter__(self):
        worker = data.get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        return map(self.sample, range(first, self.count, step))


class Sized(Stream):
    """The same, which tells its length."""

    def __len__(self):
        return self.count


class Batches(data.IterableDataset):
    """Batches that the data set makes itself."""

    def __iter__(self):
        return (batch(pairs(range(n, n + 3 + n % 2))) for n in range(0, 12, 3))


class Uneven(data.Sampler):
    """Batches of sizes of its own."""

    def __iter__(self):
        yield from ([0, 1, 2], [3], [9, 8, 7, 6, 5], [4, 4])

    def __len__(self):
        return 4


class Turning(data.Sampler):
    """An order that goes on from epoch to epoch."""

    def __init__(self):
        self.turn = 0

    def __iter__(self):
        self.turn += 5
        return iter([(self.turn + n) % COUNT for n in range(COUNT)])

    def __len__(self):
        return COUNT


class Placed(data.Sampler):
    """An order that depends on the epoch that it is told."""

    epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        return iter(np.random.default_rng(self.epoch).permutation(COUNT).tolist())

    def __len__(self):
        return COUNT


class Own(data.DataLoader):
    """A loader that does something to its batches."""

    def __iter__(self):
        return ((x * 2, y) for x, y in super().__iter__())


class Made:
    """A loader of nobody's library: an iterable of batches."""

    def __iter__(self):
        return (batch(pairs(range(n, n + 4))) for n in (0, 4, 8))

    def __len__(self):
        return 3


# Samples.


def image(index):
    return torch.full((3, 4, 5), float(index)), index


def ragged(index):
    return torch.arange(1 + index % 7), index


def tokens(index):
    return {"input_ids": list(range(index % 5 + 1)), "label": index % 2, "text": "x" * index}


def named(index):
    return Pair(torch.full((2,), index), "n" * index)


def deep(index):
    return {
        "a": {"b": (torch.tensor(index), [np.float32(index), float(index)])},
        "c": np.full((2, 2), index, np.int16),
        "d": [torch.ones(2) * index, str(index)],
        "e": index % 2 == 0,
    }


def words(index):
    return f"word {index} é"


def raw(index):
    return b"\x00" * (index % 3) + bytes([index])


def numbers(index):
    return index, index / 2, np.float64(index), np.int32(index), np.uint8(index), index % 3 == 0


def arrays(index):
    return np.full((3,), index, np.float32), np.array(index), np.array([index, 1]) > 2


def small_numbers(index):
    return torch.full((2, 3), index).to(torch.bfloat16), torch.tensor([index + 1j])


def maybe(index):
    return (torch.ones(3) * index, None if index % 3 else index)


def nothing(index):
    return None if index == 4 else image(index)


def picture(index):
    return Box(torch.full((4, 4), index)), index


def ordered(index):
    return OrderedDict(b=torch.tensor(index), a=torch.ones(2))


def encoding(index):
    return Encoding(ids=torch.ones(3, dtype=torch.int64) * index)


def boxes(index):
    return torch.ones(3, 2, 2) * index, {
        "boxes": torch.ones(index % 4, 4),
        "id": torch.tensor(index),
    }


def noisy(index):
    drawn = random.random() + np.random.rand() + torch.rand(3)  # noqa: NPY002 - users do
    return drawn + index, index


def picture_of_five(index):
    return torch.arange(5) + 5 * index


def late(index):
    """Samples that are alike until one is not."""
    return torch.ones(40 if index == 3 else 2), index


def empty(index):
    return torch.zeros(0, 3), index


STACKED = (image, deep, words, raw, numbers, arrays, small_numbers, empty)
"""Samples whose batches are tensors and texts within lists and dicts."""

STRANGE = (named, ordered, encoding)
"""Samples whose batches have types of their own."""

LOOSE = (ragged, tokens, boxes, maybe, picture)
"""Samples that only a collate function of the user's puts together."""


class Each:
    """Makes samples that hold one of each of these, by its name."""

    def __init__(self, samples):
        self.samples = samples

    def __call__(self, index):
        return {each.__name__: each(index) for each in self.samples}


# What puts samples together.


def pairs(indices):
    return [image(index) for index in indices]


def batch(samples):
    return torch.stack([x for x, _ in samples]), torch.tensor([y for _, y in samples])


def pad(samples):
    """Each batch as long as its longest sample."""
    values = torch.nn.utils.rnn.pad_sequence([x for x, _ in samples], batch_first=True)
    return values, torch.tensor([len(x) for x, _ in samples])


def pad_tokens(samples):
    longest = max(len(each["input_ids"]) for each in samples)
    ids = [each["input_ids"] + [0] * (longest - len(each["input_ids"])) for each in samples]
    found = Encoding(
        input_ids=torch.tensor(ids), labels=torch.tensor([s["label"] for s in samples])
    )
    found["text"] = [each["text"] for each in samples]
    return found


def time_first(samples):
    """Padded along the first dimension, as recurrent networks want it."""
    return torch.nn.utils.rnn.pad_sequence([x for x, _ in samples]), [y for _, y in samples]


def packed(samples):
    return torch.nn.utils.rnn.pack_sequence([x for x, _ in samples], enforce_sorted=False)


def zipped(samples):
    """The collate function of detection: a tuple of tuples."""
    return tuple(zip(*samples, strict=True))


def without_nothing(samples):
    """Leave out what could not be read."""
    return data.default_collate([each for each in samples if each is not None])


def with_facts(samples):
    """Tensors beside what is none."""
    x, y = batch(samples)
    return {"x": x, "y": y, "first": samples[0][1], "none": None, "box": Box(y), "np": y.numpy()}


def with_a_function(samples):
    return {"x": batch(samples)[0], "function": lambda: samples}


def channels_last(samples):
    return batch(samples)[0].to(memory_format=torch.channels_last)


def as_pairs(samples):
    return [Pair(x, y) for x, y in samples]


def seed_worker(worker):
    """The `worker_init_fn` of PyTorch's page on reproducibility."""
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)


WHOLE = (
    (ragged, {"collate_fn": pad}),
    (ragged, {"collate_fn": time_first}),
    (ragged, {"collate_fn": packed}),
    (boxes, {"collate_fn": zipped}),
    (nothing, {"collate_fn": without_nothing}),
    (image, {"collate_fn": with_facts}),
    (image, {"collate_fn": channels_last}),
    (image, {"collate_fn": as_pairs}),
    (picture, {"collate_fn": list}),
    (words, {}),
    (named, {}),
    (ordered, {}),
    (encoding, {}),
)
"""Samples, and how a loader puts them together."""


class Many:
    """The batches of many loaders, one of each in turn, and one as large as all of them."""

    yields = "batches"

    def __iter__(self):
        loaders = [data.DataLoader(Of(sample), batch_size=4, **how) for sample, how in WHOLE]
        for batches in zip(*loaders, strict=True):
            yield from batches
        yield torch.arange(20_000)
        yield from data.DataLoader(Of(image), batch_sampler=Uneven())


# Comparing.


def same(left, right):
    """Whether two values are equal in type, shape and every number."""
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        alike = left.dtype == right.dtype
        alike = alike and (not left.numel() or left.stride() == right.stride())
        return alike and left.shape == right.shape and bool((left == right).all())
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    if isinstance(left, (dict, UserDict)):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right
