"""What a stream shares, told apart as PyTorch does: samples, or batches that somebody has made.

| given | every item is |
|---|---|
| a data set: a length and an index | a sample, read by workers |
| an `IterableDataset` of PyTorch | a sample |
| a `DataLoader` | a batch |
| a `DataLoader` with `batch_size=None`, any other iterable | what the user says it is |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from mmap import PAGESIZE
from typing import Any

from batchcast.elsewhere import NUMBERS, PARTS, wants_epoch
from batchcast.errors import ArgumentError
from batchcast.order import generators_kept, numbers_drawn

Transform = Callable[[Any], Any]

YIELDS = ("samples", "batches", "stacks")
"""What the items of an iterable are: samples; batches, to be handed on as they are; or batches in
which every field holds its samples along its first dimension, so that they can be cut."""

SAY = (
    "Say it: share(..., yields='batches') gives readers every item as it is, as a loop over it "
    "does; 'samples' says that every item is one sample, of which readers make batches; 'stacks', "
    "that it is a batch whose fields hold the samples along their first dimension, so that readers "
    "may cut batches of other sizes."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a stream shares.

    Attributes:
        samples_of: a data set with a length whose samples can be indexed; nothing for an iterable.
        batches_of: an iterable, gone through once per epoch; nothing for a data set.
        shared: what every sample goes through before it is stored; nothing for batches.
        seed: that all draws of random numbers come from.
        longest: bytes of the longest field that varies; nothing for twice the longest seen.
        yields: what the items of an iterable are, one of `YIELDS`; "samples" for a data set.
        whole: why batches cannot be cut into samples; empty where they can.
        batch: samples of a batch, as the loader was told; nothing where it was not.
        batches: of an epoch, where the loader tells.
        pinned: whether the loader was to give batches in pinned memory.
        slot: bytes of a slot of the arena for batches that are handed on whole.
        draws: numbers of 32 bits that a private loader draws from PyTorch's generator when a loop
            over it begins: the first loop, every later one, and each when its first batch is taken.
        hangs: whether the order of a private loader, or what its workers draw, hangs on that
            generator.
        reads: whether a loader reads its samples itself, which then draw where it does.
        waits: whether a loader draws its order not before its first batch is asked for.
        told: what its attributes tell to who looks at a loader, numbers all.
    """

    samples_of: Any | None
    batches_of: Iterable[Any] | None
    shared: Transform | None
    seed: int
    longest: int | None
    yields: str = "samples"
    whole: str = ""
    batch: int | None = None
    batches: int | None = None
    pinned: bool = False
    slot: int = 1 << 16
    draws: tuple[int, int, int] = (0, 0, 0)
    hangs: bool = False
    reads: bool = False
    waits: bool = False
    told: Mapping[str, int] = field(default_factory=dict)

    @property
    def samples(self) -> int | None:
        """Samples of an epoch, where the source tells before it is read."""
        return None if self.samples_of is None else len(self.samples_of)

    @property
    def repeats(self) -> bool:
        """Whether the source can be gone through more than once."""
        return not isinstance(self.batches_of, Iterator)


@dataclass(frozen=True, slots=True)
class Given:
    """A source that is handed over as it is."""

    source: Source

    def __call__(self) -> Source:
        """The source."""
        return self.source


@dataclass(frozen=True, slots=True)
class _Loader:
    """What the type of an iterable says of it."""

    yields: str
    whole: str = ""
    batch: int | None = None


def slot_within(memory: int) -> int:
    """Bytes of a slot for batches that stay whole: whole pages, and some thousand slots."""
    return max(1, memory // _SLOTS // PAGESIZE) * PAGESIZE


_SLOTS = 2048


def source_of(
    source: Any,
    *,
    shared: Transform | None,
    seed: int,
    longest: int | None,
    yields: str | None = None,
) -> Source:
    """What `share` was given, told apart.

    Raises:
        ArgumentError: it is neither a data set nor an iterable, is empty, or does not tell what its
            items are.
    """
    if yields is not None and yields not in YIELDS:
        raise ArgumentError(f"share: yields is {yields!r}. Allowed: {', '.join(YIELDS)}.")
    if not _is_data_set(source) or (
        yields in ("batches", "stacks") and hasattr(source, "__iter__")
    ):
        return _iterable(source, shared=shared, seed=seed, longest=longest, yields=yields)
    if yields in ("batches", "stacks"):
        raise ArgumentError(f"share: yields={yields!r} is for iterables; a data set gives samples.")
    if not len(source):
        raise ArgumentError("share(...) was given a data set without a sample.")
    return Source(samples_of=source, batches_of=None, shared=shared, seed=seed, longest=longest)


def _iterable(
    source: Any, *, shared: Transform | None, seed: int, longest: int | None, yields: str | None
) -> Source:
    if not hasattr(source, "__iter__"):
        raise ArgumentError(
            f"share(...) was given a {type(source).__name__}. Allowed: a data set with a length "
            "and an index, an IterableDataset, a DataLoader, or any iterable of samples or batches."
        )
    kind = _loader(source, yields)
    if shared is not None and kind.yields != "samples":
        raise ArgumentError(
            "shared=... is for samples. A loader has transformed its samples already: put "
            "the transform into its data set, or give share(...) the data set itself."
        )
    return Source(
        samples_of=None,
        batches_of=source,
        shared=shared,
        seed=seed,
        longest=longest,
        yields=kind.yields,
        whole=kind.whole,
        batch=kind.batch,
        batches=length_of(source) if kind.yields != "samples" else None,
        pinned=bool(getattr(source, "pin_memory", False)),
        draws=_draws(source),
        told=_told(source),
        **_hangs(source),
    )


SEED = 2
"""Numbers of 32 bits in a seed that PyTorch draws."""


def _told(source: Any) -> Mapping[str, int]:
    """Lengths and numbers of a loader, and which of its parts want to be told of epochs."""
    from torch.utils.data import DataLoader

    if not isinstance(source, DataLoader):
        return {}
    parts = {name: getattr(source, name) if name else source for name in PARTS}
    lengths = {name: length_of(part) for name, part in parts.items() if name and part is not None}
    numbers = {name: getattr(source, name) for name in ("drop_last", *NUMBERS)}
    wants = {wants_epoch(name): hasattr(part, "set_epoch") for name, part in parts.items()}
    told = {**lengths, **numbers, **wants}
    return {name: int(value) for name, value in told.items() if value is not None}


def _draws(source: Any) -> tuple[int, int, int]:
    """What a loop over an iterable draws: the first one, a later one, each with its first batch.

    A loader draws a seed for its workers, unless it keeps them, and a sampler of PyTorch's what it
    orders by, unless it has a generator of its own. What other samplers draw is not known. Without
    workers the order is drawn when the first batch is asked for.
    """
    from torch.utils.data import DataLoader, IterableDataset

    if not isinstance(source, DataLoader):
        return (SEED, SEED, 0) if isinstance(source, IterableDataset) else (0, 0, 0)
    batches = getattr(source, "batch_sampler", None)
    orders = _drawn_by(getattr(batches, "sampler", source.sampler))
    seeds = SEED if source.generator is None else 0
    keeps = source.num_workers > 0 and source.persistent_workers
    if _waits(source):
        return seeds, seeds, orders
    return seeds + orders, (0 if keeps else seeds) + orders, 0


def _waits(loader: Any) -> bool:
    """Whether a loader draws its order not before its first batch is asked for."""
    from torch.utils.data import DataLoader

    return not loader.num_workers and type(loader).__iter__ is DataLoader.__iter__


def _hangs(source: Any) -> dict[str, bool]:
    """What of a private loader's samples hangs on what was drawn before a loop.

    A stream of samples without an index may not be there twice, so it is not begun anew.
    """
    from torch.utils.data import DataLoader, IterableDataset

    if not isinstance(source, DataLoader) or isinstance(source.dataset, IterableDataset):
        return {}
    _, later, with_batch = _draws(source)
    seeds = source.num_workers > 0 and source.generator is None
    orders = later + with_batch > (SEED if source.generator is None else 0)
    return {"hangs": seeds or orders, "reads": not source.num_workers, "waits": _waits(source)}


def _drawn_by(sampler: Any) -> int:
    """Numbers that one of PyTorch's samplers draws for an order, as its own beginning tells."""
    from torch.utils.data import RandomSampler, SubsetRandomSampler, WeightedRandomSampler

    known = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)
    if type(sampler) not in known or sampler.generator is not None:
        return 0
    with generators_kept():
        return numbers_drawn(lambda: next(iter(sampler), None))


def _loader(source: Any, yields: str | None) -> _Loader:
    """What an iterable yields: what its type says, or else its owner."""
    from torch.utils.data import DataLoader, IterableDataset

    if isinstance(source, DataLoader):
        return _data_loader(source, yields)
    if yields is None and isinstance(source, IterableDataset):
        return _Loader("samples")
    said = yields or getattr(source, "yields", None)
    if said not in YIELDS:
        raise ArgumentError(
            f"share(...) was given a {type(source).__name__}, and nothing tells whether its items "
            f"are samples or batches. {SAY}"
        )
    return _said(said)


def _said(yields: str, batch: int | None = None) -> _Loader:
    whole = "it was shared with yields='batches'" if yields == "batches" else ""
    return _Loader(yields, whole, batch)


def _data_loader(loader: Any, yields: str | None) -> _Loader:
    if loader.batch_size is None and loader.batch_sampler is None:
        if yields is None:
            raise ArgumentError(
                "share(...) was given a DataLoader with batch_size=None, which hands on whatever "
                f"its data set yields. {SAY}"
            )
        return _said(yields)
    if yields == "samples":
        raise ArgumentError(
            "share: yields='samples', and a DataLoader with a batch size yields batches. Share its "
            "data set, or give the DataLoader batch_size=None."
        )
    if yields is not None:
        return _said(yields, _batch(loader))
    whole = _uncuttable(loader)
    return _Loader("batches" if whole else "stacks", whole, _batch(loader))


def _batch(loader: Any) -> int | None:
    """Samples of a batch: a loader that is given PyTorch's own batch sampler leaves it to that."""
    from torch.utils.data import BatchSampler

    sampler = loader.batch_sampler
    size: int | None = (sampler if type(sampler) is BatchSampler else loader).batch_size
    return size


def _uncuttable(loader: Any) -> str:
    """Why the batches of a loader must stay as they are; empty where they may be cut."""
    from torch.utils.data import BatchSampler, DataLoader, IterableDataset, default_collate

    if loader.collate_fn is not default_collate:
        name = getattr(loader.collate_fn, "__name__", type(loader.collate_fn).__name__)
        return f"its collate_fn is {name}, and only PyTorch's own is known to stack samples"
    if type(loader).__iter__ is not DataLoader.__iter__:
        return f"a {type(loader).__name__} goes through its batches in a way of its own"
    if isinstance(loader.dataset, IterableDataset):
        several = loader.num_workers > 1
        return "each of its workers ends with a batch of its own size" if several else ""
    if type(loader.batch_sampler) is not BatchSampler:
        return "its batch_sampler makes batches of its own sizes"
    return ""


def _is_data_set(source: Any) -> bool:
    from torch.utils.data import IterableDataset

    if isinstance(source, IterableDataset):  # it has an index, which only raises
        return False
    return hasattr(source, "__getitem__") and isinstance(source, Sized)


def length_of(source: Any) -> int | None:
    """What an object tells as its length; nothing where it has none."""
    try:
        return len(source)
    except (TypeError, NotImplementedError):
        return None
