"""Handing on: what a sample costs beside its preparing, measured on samples that cost nothing.

A probe: what a sample costs, and what each member does on its own, measured briefly.

An ensemble opened: its code imported, its data at hand, its costs known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

from batchcast.attachment import attach
from batchcast.source import Source
from batchcast.stream import share
from foretrain.ensemble.run.home import Home, Loaded, function
from foretrain.ensemble.run.inputs import Tree, batch_of, bytes_of, prepared
from foretrain.ensemble.run.machine import limited, processor_time, time_of_descendants
from foretrain.ensemble.run.trainee import moved, size_of, trainee
from foretrain.ensemble.run.written import check_logs
from foretrain.errors import InputError, require
from foretrain.measured.ensemble_study import (
    EnsembleStudy,
    HandingCosts,
    Probed,
    Recipe,
    SampleCosts,
    StepCosts,
)

BYTES: Final = 2**27
"""Of the samples that are handed on while it is measured."""

FEWEST_HANDED: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long measuring may take.

    Attributes:
        seconds: over which something is measured, once it is warm.
        most: samples that are handed on.
        tries: of which the least counts.
    """

    seconds: float = 0.4
    most: int = 8192
    tries: int = 2


EFFORT: Final = Effort()

WARM_SHARE: Final = 4
"""One sample of so many goes before: the first ones touch memory that nobody has touched."""


class Blank:
    """Samples that take no time to prepare.

    Attributes:
        sample: all of them.
        count: how many there are.
    """

    def __init__(self, sample: Any, count: int) -> None:
        self.sample = sample
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: int) -> Any:
        return self.sample


def handing_costs(
    sample: Any, size: float, batch: int, *, effort: Effort = EFFORT
) -> dict[str, float]:
    """Core-seconds per sample of a stream, of one more reader, and of a batch put together.

    Args:
        sample: one as members get it.
        size: bytes of it.
        batch: samples of a step.
        effort: how long it may take.
    """
    count = int(min(effort.most, max(FEWEST_HANDED, BYTES // max(1.0, size))))
    one, two = (_least(sample, count, batch, readers=n, tries=effort.tries) for n in (1, 2))
    deliver = max(0.0, two - one)
    return {
        "store": max(0.0, one - deliver),
        "deliver": deliver,
        "collate": collating_time(sample, batch),
    }


def _least(sample: Any, count: int, batch: int, *, readers: int, tries: int) -> float:
    """The least of a few tries: whatever else goes on can only add to it."""
    return min(streaming_time(sample, count, batch, readers=readers) for _ in range(tries))


def streaming_time(sample: Any, count: int, batch: int, *, readers: int) -> float:
    """Core-seconds per sample of a stream that readers in this process read in turns."""
    name = f"foretrain-probe-{os.getpid()}"
    done, began, since = 0, 0.0, 0
    with ExitStack() as stack:
        stack.enter_context(share(Blank(sample, count), name=name, epochs=1))
        ends = [stack.enter_context(attach(name, batch_size=batch)) for _ in range(readers)]
        for _ in zip(*ends, strict=True):
            done += batch
            if done > count // WARM_SHARE and not since:
                began, since = _cpu(), done
        return (_cpu() - began) / max(1, min(done, count) - since)


def collating_time(sample: Any, batch: int) -> float:
    """Core-seconds per sample of putting a batch together."""
    batch_of([sample] * batch)
    began = process_time()
    for _ in range(WARM_SHARE):
        batch_of([sample] * batch)
    return (process_time() - began) / (WARM_SHARE * batch)


def _cpu() -> float:
    """Core-seconds of this process and of those that it has started and that are still there."""
    return process_time() + time_of_descendants()


WARM: Final = 2
"""Steps, or batches, before anything is measured."""

FEWEST: Final = 5
"""Samples or steps, however long they take."""

STRIDE: Final = 7919
"""From one sample that is measured to the next: neighbours may be alike."""

DISTINCT: Final = 16
"""Samples in the batch on which a member is measured, repeated until it is full."""


def probe(
    study: EnsembleStudy,
    home: Home,
    tell: Callable[[str, int, int], None],
    *,
    effort: Effort = EFFORT,
) -> Probed:
    """Measure on this machine, one thing after the other, each in a process of its own.

    Args:
        study: the ensemble.
        home: has loaded it.
        tell: what is done, how much of it, of how much.
        effort: how long it may take.
    """
    kinds = {kind_of(recipe): recipe for recipe in reversed(study.recipes)}
    total = len(kinds) + 2
    tell("probes", 0, total)
    own = partial(sample_costs, effort.seconds)
    sample = SampleCosts(**home.measure(own, what="a sample of the data"))
    tell("probes", 1, total)
    batch = max(recipe.batch for recipe in study.recipes)
    handed = partial(_handing_costs, size=sample.size, batch=batch, effort=effort)
    handing = HandingCosts(**home.measure(handed, what="handing over a sample of the data"))
    found: dict[str, StepCosts] = {}
    for done, (kind, recipe) in enumerate(kinds.items(), 2):
        tell("probes", done, total)
        step = partial(step_costs, recipe, effort.seconds)
        found[kind] = StepCosts(**home.measure(step, what=f"a step of member {recipe.name}"))
    tell("probes", total, total)
    members = {recipe.name: found[kind_of(recipe)] for recipe in study.recipes}
    return Probed(sample=sample, handing=handing, members=members)


def _handing_costs(loaded: Loaded, *, size: float, batch: int, effort: Effort) -> dict[str, float]:
    return handing_costs(distinct_samples(loaded.source, 1)[0], size, batch, effort=effort)


def kind_of(recipe: Recipe) -> str:
    """Members of a kind differ in their optimizer's options and their names alone."""
    alike = (recipe.model, recipe.optimizer.name, recipe.loss, recipe.private, recipe.device)
    options = json.dumps(recipe.options, sort_keys=True, default=str)
    return " ".join([*map(str, alike), options, str(recipe.batch)])


def sample_costs(long_enough: float, loaded: Loaded) -> dict[str, float | int | None]:
    """What it takes to prepare a sample; one that fails costs what it took to fail."""
    source = loaded.source
    before = _held()
    makes = sizes_of_samples(source)
    size = next(makes, None)
    if size is None:
        raise InputError("the data gives no sample: the data set or loader is empty.")
    began, began_cpu, samples = perf_counter(), processor_time(), 0
    for _ in makes:
        samples += 1
        if samples >= FEWEST and perf_counter() - began > long_enough:
            break
    seconds = perf_counter() - began
    makes.close()
    cpu = processor_time() - began_cpu
    count = max(1, samples)
    return {
        "prepare": max(cpu, 1e-9) / count,
        "seconds": max(seconds, 1e-9) / count,
        "size": size,
        "memory": max(0.0, _held() - before),
        "count": source.samples,
    }


def sizes_of_samples(source: Source) -> Generator[int, None, None]:
    """Prepare one sample after the other; what comes out is its size in bytes."""
    if source.samples_of is not None:
        count = len(source.samples_of)
        yield from (bytes_of(prepared(source, n * STRIDE % count, epoch=0)) for n in range(count))
    for batch in () if source.batches_of is None else source.batches_of:
        samples = size_of(batch)
        yield from [bytes_of(batch) // samples] * samples


def step_costs(recipe: Recipe, long_enough: float, loaded: Loaded) -> dict[str, float]:
    """What a member does with samples always at hand."""
    import torch

    study, source = loaded.study, loaded.source
    before = _held()
    trained = trainee(recipe, study.folder, seed=study.seed)
    private = function(recipe.private, study.folder) if recipe.private else None
    samples = distinct_samples(source, min(DISTINCT, recipe.batch))
    own, own_cpu, ready = 0.0, 0.0, samples
    if private is not None:
        own, own_cpu = time_of(lambda: [private(each) for each in samples], long_enough)
        ready = [private(each) for each in samples]
    batch = moved(batch_of([ready[n % len(ready)] for n in range(recipe.batch)]), trained.device)

    def step() -> None:
        trained.step(batch)
        if trained.device.type == "cuda":
            torch.cuda.synchronize(trained.device)

    seconds, cpu = time_of(step, long_enough)
    on_device = trained.device.type == "cuda"
    reserved = torch.cuda.memory_reserved(trained.device) if on_device else 0
    return {
        "rate": 1 / (seconds / recipe.batch + own / len(samples)),
        "cpu": cpu / recipe.batch + own_cpu / len(samples),
        "memory": max(0.0, _held() - before),
        "device_memory": float(reserved),
    }


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


def time_of(run: Callable[[], object], long_enough: float) -> tuple[float, float]:
    """Seconds and core-seconds that something takes, once it is warm."""
    for _ in range(WARM):
        run()
    began, began_cpu, times = perf_counter(), process_time(), 0
    while times < FEWEST or perf_counter() - began < long_enough:
        run()
        times += 1
    return (perf_counter() - began) / times, (process_time() - began_cpu) / times


def _held() -> float:
    """Bytes that this process holds and shares with no other."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    kibibytes = [int(line.split()[1]) for line in lines if line.startswith("Private_")]
    return 1024.0 * sum(kibibytes)


WHAT = "an ensemble whose members are trained or measured"

Told = Callable[[str, int, int], None]
"""What is done, how much of it, of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A study that is loaded.

    Attributes:
        home: the process that has loaded it.
        cores: that everything shares.
    """

    home: Home
    cores: int

    @property
    def fed(self) -> bool:
        """Whether a loader gives the samples, batch by batch."""
        return self.home.facts.is_fed


@contextmanager
def opened(study: EnsembleStudy) -> Iterator[Opened]:
    """A study whose members can be started.

    Raises:
        InputError: the study's code does not give what it must.
        MissingExtra: PyTorch is not installed.
    """
    require("torch", what=WHAT)
    check_logs(study.logs)
    with limited(study.cores) as cores, closing(Home(study)) as home:
        yield Opened(home=home, cores=cores)


def known(study: EnsembleStudy, found: Opened, tell: Told | None) -> Probed:
    """What the study says of samples and members, or this machine measures.

    Raises:
        InputError: a member cannot be built.
    """
    return study.given or probe(study, found.home, tell or (lambda _what, _done, _all: None))
