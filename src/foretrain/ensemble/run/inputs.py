"""Samples without a stream: prepared one by one where they are used, as a worker would.

A private loader: every sample prepared by the member itself, in the order of the stream.

What it gives is what the shared stream gives, to the last bit; only who prepares it differs.

Inputs: how the members of a run get their samples, from one stream or each on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Final

from batchcast.attachment import attach
from batchcast.batch import as_own
from batchcast.order import Order, generators_kept, number_of, seed_of, sow
from batchcast.source import Source
from batchcast.stream import Stream, serve_source
from foretrain.ensemble.one_node import Way
from foretrain.ensemble.run.home import MENDABLE, Home, Loaded, function
from foretrain.ensemble.run.looks import StreamNow
from foretrain.ensemble.run.trainee import on_device, size_of
from foretrain.ensemble.run.written import RunFolder
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import EnsembleStudy, OnError, Probed, Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetting:
    """What a run is made with.

    Attributes:
        study: the ensemble.
        home: the process that has loaded it.
        probed: what is known of samples and members.
        way: how members get their samples.
        cores: that everything shares.
        memory: bytes of a device, or of the host, that members may fill.
        devices: GPUs that members without a device of their own may have; 0 for none.
        folder: where states are kept.
    """

    study: EnsembleStudy
    home: Home
    probed: Probed
    way: Way
    cores: int
    memory: float
    devices: int
    folder: RunFolder


Tree = Any
"""A sample or a batch: tensors, numbers and texts within tuples, lists and dicts."""


def prepared(source: Source, place: int, *, epoch: int) -> Tree:
    """The sample of a data set, read and decoded with the random numbers that are its own."""
    assert source.samples_of is not None
    sow(seed_of(source.seed, epoch, place))
    sample = source.samples_of[place]
    return sample if source.shared is None else source.shared(sample)


def batch_of(samples: Sequence[Tree]) -> Tree:
    """Samples put together as PyTorch does it."""
    from torch.utils.data import default_collate

    return default_collate(list(samples))


def bytes_of(tree: Tree) -> int:
    """Bytes of everything in a sample or a batch."""
    if isinstance(tree, Mapping):
        return sum(map(bytes_of, tree.values()))
    if isinstance(tree, tuple | list):
        return sum(map(bytes_of, tree))
    return int(getattr(tree, "nbytes", 8))


STRIDE: Final = 7919
"""From one sample that is measured to the next: neighbours may be alike."""


def distinct_samples(source: Source, count: int) -> list[Tree]:
    """A few samples, as members get them."""
    if source.samples_of is not None:
        places = len(source.samples_of)
        return [prepared(source, n * STRIDE % places, epoch=0) for n in range(min(count, places))]
    assert source.batches_of is not None
    first = next(iter(source.batches_of))
    return [nth_sample(first, n) for n in range(min(count, size_of(first)))]


def nth_sample(batch: Tree, n: int) -> Tree:
    """One sample of a batch."""
    if isinstance(batch, Mapping):
        return {key: nth_sample(value, n) for key, value in batch.items()}
    if isinstance(batch, tuple | list) and not isinstance(batch[0], str | bytes):
        return [nth_sample(each, n) for each in batch]
    return batch[n]


LEFT_OUT: Final = object()
"""Instead of a sample that cannot be prepared."""


class PrivateLoader:
    """Batches of one member, prepared between its steps; a loop over it is an epoch, or its rest.

    Attributes:
        epoch: that the next batch belongs to.
        position: samples of that epoch that have gone by.
    """

    def __init__(
        self,
        source: Source,
        order: Order,
        *,
        member: str,
        batch_size: int,
        private: Callable[[Any], Any] | None,
        skip: bool,
    ) -> None:
        if source.samples_of is None:
            raise InputError(
                "input = 'private' needs a data set with a length and an index; this one is a"
                " loader, which members can only share."
            )
        self.epoch = self.position = 0
        self._source, self._order, self._batch_size = source, order, batch_size
        self._private, self._skip, self._member = private, skip, number_of(member)
        self._waited, self._skipped = 0.0, 0

    def __enter__(self) -> PrivateLoader:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def __iter__(self) -> Iterator[Tree]:
        began = monotonic()
        samples: list[Tree] = []
        # Ids of the samples that are left of the epoch, in order.
        count = self._order.samples
        assert count is not None
        first = self.epoch * count + self.position
        ids: list[int] = self._order.ids(first, count - self.position).tolist()
        for place in ids:
            sample = self._sample(place)
            samples += [] if sample is LEFT_OUT else [sample]
            self.position += 1
            if len(samples) == self._batch_size:
                batch, samples = batch_of(samples), []
                self._waited += monotonic() - began
                yield batch
                began = monotonic()
        if samples:
            self._waited += monotonic() - began
            yield batch_of(samples)
        self.epoch, self.position = self.epoch + 1, 0

    def state_dict(self) -> dict[str, int]:
        """Where it is: after the last batch that the loop got."""
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on where a state was taken."""
        self.epoch, self.position = state["epoch"], state["position"]

    def stats(self) -> dict[str, float]:
        """Seconds that the member waited for its own preparing, and samples left out."""
        return {"wait_seconds": self._waited, "skipped": self._skipped}

    def _sample(self, place: int) -> Tree:
        """One sample; the member's own random numbers, such as those of dropout, stay its own."""
        with generators_kept():
            try:
                sample = prepared(self._source, place, epoch=self.epoch)
                if self._private is None:
                    return sample
                sow(seed_of(self._source.seed, self.epoch, place, self._member))
                return self._private(sample)
            except Exception:
                if not self._skip:
                    raise
                self._skipped += 1
                return LEFT_OUT


Loader = Any
"""What `attach` returns, or a `PrivateLoader`: batches of one epoch after the other."""

Stats = Mapping[str, Any]
"""What a stream says of itself."""


class SharedLoader:
    """A loader whose batches several members of a process take in turns, each a batch of its own.

    Args:
        loader: opened; whoever takes the next batch first has it come.
    """

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self._loop: Iterator[Any] | None = None
        self._came = 0
        self._latest: Any = None

    def take(self, number: int) -> Any:
        """What came as this one of all batches and ends of epochs; `None` for an end.

        The one after the latest is asked for, and all members take it before the next.
        """
        if number == self._came:
            if self._loop is None:
                with generators_kept():  # as of a private loader's loop, which draws nothing
                    self._loop = iter(self.loader)
            self._latest, self._came = next(self._loop, None), number + 1
            self._loop = None if self._latest is None else self._loop
        if number != self._came - 1:
            raise AssertionError("Members that share a loader take turns.")
        return self._latest


class TakenInTurns:
    """A member's view of a loader that is shared: what it takes, it may write into."""

    def __init__(self, shared: SharedLoader) -> None:
        self._shared = shared
        self._next = 0
        self.state_dict, self.stats = shared.loader.state_dict, shared.loader.stats

    @property
    def position(self) -> int:
        """Samples of the epoch that have gone by."""
        return int(self._shared.loader.position)

    def __iter__(self) -> Iterator[Any]:
        while (batch := self._take()) is not None:
            yield as_own(batch)

    def _take(self) -> Any:
        taken = self._shared.take(self._next)
        self._next += 1
        return taken


def stream(
    setting: RunSetting, recipes: Sequence[Recipe], *, readers: int, name: str, ends: int
) -> Stream:
    """One stream for some members, which have so many readers, up to an epoch."""
    study, facts = setting.study, setting.home.facts
    return serve_source(
        partial(setting.home.zygote, memory=int(study.memory)),
        facts,
        name=name,
        workers=max(1, setting.way.workers),
        shuffle=None if facts.is_fed else study.shuffle,
        seed=study.seed,
        epochs=min(ends, max(each.epochs for each in recipes)),
        readers=readers,
        memory=int(study.memory),
        on_error=study.on_error.value,
    )


def sharing(recipes: Sequence[Recipe], folder: RunFolder) -> dict[str, str]:
    """For every member the one whose reader it shares, often its own.

    Members of one process share a reader where they take the same batches from the same place on.

    Args:
        recipes: who trains at the same time.
        folder: where their states are kept.
    """
    first: dict[object, str] = {}
    shared = {}
    for each in recipes:
        key: object = each.name
        if each.process is not None and each.private is None:
            state = folder.load(each.name)
            place = repr(state["loader"]) if state else None
            key = (each.process, each.batch, each.lag, place)
        shared[each.name] = first.setdefault(key, each.name)
    return shared


def opens(
    loaded: Loaded, recipe: Recipe, state: dict[str, Any] | None, *, reads: str | None
) -> AbstractContextManager[Loader]:
    """The loader of a member, at the place of its state.

    Args:
        loaded: the study.
        recipe: of the member.
        state: where it goes on; nothing for the beginning.
        reads: name of the stream that it reads; nothing where it prepares its samples itself.
    """
    if reads is None:
        return _private(loaded, recipe, state)
    return attach(
        reads,
        batch_size=None if loaded.source.whole else recipe.batch,
        private=_own(loaded, recipe),
        model=recipe.name,
        policy=recipe.lag.value,
        state=state,
    )


def _private(
    loaded: Loaded, recipe: Recipe, state: dict[str, Any] | None
) -> AbstractContextManager[Loader]:
    """A loader that the member has to itself."""
    study, source = loaded.study, loaded.source
    order = Order(samples=source.samples, epochs=None, shuffle=study.shuffle, seed=study.seed)
    loader = PrivateLoader(
        source,
        order,
        member=recipe.name,
        batch_size=recipe.batch,
        private=_own(loaded, recipe),
        skip=study.on_error is OnError.SKIP,
    )
    if state is not None:
        loader.load_state_dict(state)
    return loader


def _own(loaded: Loaded, recipe: Recipe) -> Callable[[Any], Any] | None:
    """The member's own transform, on the member's device."""
    if recipe.private is None:
        return None
    return on_device(function(recipe.private, loaded.study.folder), recipe.device)


def stats_of(stream: Stream | None) -> Stats | None:
    """What the stream says of itself; None without one, or where it is gone, as members tell."""
    try:
        return stream.stats() if stream is not None else None
    except MENDABLE:
        return None


def counted(stats: Stats | None, *, workers: int) -> StreamNow | None:
    """What looks remember of a stream."""
    if stats is None:
        return None
    fill = stats["fill"] - (stats["head"] - stats["published"]) / max(1, stats["slots"])
    fill = min(1.0, max(0.0, fill))
    spent = {stage: stats["worker_seconds"][stage] for stage in ("read", "transform", "store")}
    return StreamNow(**spent, workers=workers, fill=fill)


def lag_of(stats: Stats | None, name: str) -> int:
    """Samples that are ready and that a member has not taken."""
    reader = stats["readers"].get(name) if stats else None
    return int(reader["lag"]) if reader else 0
