"""An ensemble opened, and probed: what a sample costs, and each member on its own, measured."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, cycle
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

from batchcast.attachment import attach
from batchcast.source import Source
from batchcast.stream import share
from foretrain.ensemble.run.home import Home, Loaded, function
from foretrain.ensemble.run.inputs import STRIDE, batch_of, bytes_of, distinct_samples, prepared
from foretrain.ensemble.run.machine import (
    by_session,
    contention,
    cores_here,
    limited,
    processor_time,
    time_of_descendants,
)
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

BYTES: Final = 2**28
"""Of the samples that are handed on while it is measured."""

FEWEST_HANDED: Final = 256

READERS: Final = 4
"""Of a stream that is held against one with a single reader."""


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

TURNS: Final = 4
"""Times as long as anything else it is measured how much cores slow each other: by little."""

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
    sample: Any, size: float, batch: int, *, effort: Effort = EFFORT, lend: bool = False
) -> dict[str, float]:
    """Core-seconds per sample of a stream, of a reader, and of a batch put together.

    Args:
        sample: one as members get it.
        size: bytes of it.
        batch: samples of a step.
        effort: how long it may take.
        lend: whether readers are given the stream's own memory.
    """
    count = int(min(effort.most, max(FEWEST_HANDED, BYTES // max(1.0, size))))
    # The least of a few tries: whatever else goes on adds to it.
    run = partial(streaming_time, sample, count, batch, lend=lend)
    runs = {n: [run(readers=n) for _ in range(effort.tries)] for n in (1, READERS)}
    one, many = ([min(times) for times in zip(*each, strict=True)] for each in runs.values())
    told = max(0.0, (many[0] - one[0]) / (READERS - 1))  # by the stream, to each reader
    return {
        "store": max(0.0, one[0] - told),
        "deliver": one[1] + told,
        "collate": collating_time(sample, batch),
    }


def streaming_time(
    sample: Any, count: int, batch: int, *, readers: int, lend: bool = False
) -> tuple[float, float]:
    """Core-seconds per sample of a stream's processes, and of this one, which reads it in turns."""
    name = f"foretrain-probe-{os.getpid()}"
    done, since, began, own = 0, 0, 0.0, 0.0
    with ExitStack() as stack:
        stack.enter_context(share(Blank(sample, count), name=name, epochs=1))
        reads = partial(attach, name, batch_size=batch, lend=lend)
        ends = [stack.enter_context(reads()) for _ in range(readers)]
        for _ in zip(*ends, strict=True):
            done += batch
            if done > count // WARM_SHARE and not since:
                began, own, since = time_of_descendants(), process_time(), done
        samples = max(1, min(done, count) - since)
        return (time_of_descendants() - began) / samples, (process_time() - own) / samples


class Prepared:
    """A few samples of a data set, prepared over and over.

    Attributes:
        source: of them.
        count: how many there are.
    """

    def __init__(self, source: Source, count: int) -> None:
        self.source = source
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: int) -> Any:
        assert self.source.samples_of is not None
        nth = place % DISTINCT * STRIDE % len(self.source.samples_of)
        return prepared(self.source, nth, epoch=0)


def queueing_time(samples: Blank | Prepared, batch: int) -> float:
    """Core-seconds per sample of a DataLoader with one worker, preparing and all.

    Not of the first batches nor of the last: between them one is made for each that is taken.
    """
    from torch.utils.data import DataLoader

    done, clocks = 0, []
    for _ in DataLoader(samples, batch, num_workers=1, multiprocessing_context="fork"):
        done += batch
        clocks.append(_cpu())
    steady = clocks[WARM : -(WARM + 1)]
    return (steady[-1] - steady[0]) / (batch * (len(steady) - 1))


def _cpu() -> float:
    """Core-seconds of this process and of those that it has started and that are still there."""
    return process_time() + time_of_descendants()


def collating_time(sample: Any, batch: int) -> float:
    """Core-seconds per sample of putting a batch together."""
    batch_of([sample] * batch)
    began = process_time()
    for _ in range(WARM_SHARE):
        batch_of([sample] * batch)
    return (process_time() - began) / (WARM_SHARE * batch)


WARM: Final = 2
"""Steps, or batches, before anything is measured."""

FEWEST: Final = 5
"""Samples or steps, however long they take."""

DISTINCT: Final = 16
"""Samples in the batch on which a member is measured, repeated until it is full."""

COLD_BYTES: Final = 2**27
"""Of the batches on which a member is measured in turn: more than caches hold."""

MOST_COPIES: Final = 64
"""Of a batch, however small it is."""


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
    handed = partial(
        _handing_costs, size=sample.size, prepare=sample.prepare, batch=batch, effort=effort
    )
    handing = HandingCosts(**home.measure(handed, what="handing over a sample of the data"))
    found: dict[str, StepCosts] = {}
    for done, (kind, recipe) in enumerate(kinds.items(), 2):
        tell("probes", done, total)
        step = partial(step_costs, recipe, effort.seconds)
        found[kind] = StepCosts(**home.measure(step, what=f"a step of member {recipe.name}"))
    tell("probes", total, total)
    members = {recipe.name: found[kind_of(recipe)] for recipe in study.recipes}
    return Probed(sample=sample, handing=handing, members=members)


def _handing_costs(
    loaded: Loaded, *, size: float, prepare: float, batch: int, effort: Effort
) -> dict[str, float]:
    """What handing on costs, and what cores do to each other; a loader can be read but once."""
    source = loaded.source
    sample = distinct_samples(source, 1)[0]
    found = handing_costs(sample, size, batch, effort=effort)
    blank, seconds, batches = source.samples_of is None, TURNS * effort.seconds, 2 * WARM + 6
    queued, slowed, places = batch, 0.0, count()
    samples: Blank | Prepared = Blank(sample, batches * batch)
    if not blank:
        queued = min(batch, max(1, int(seconds / (batches * prepare))))
        samples = Prepared(source, batches * queued)
        slowed = contention(lambda: samples[next(places)], cores=cores_here(), seconds=seconds)
    queue = queueing_time(samples, queued) - found["collate"] - (0.0 if blank else prepare)
    return found | {"queue": max(0.0, queue), "contention": slowed, "by_session": by_session()}


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
    rows = [ready[n % len(ready)] for n in range(recipe.batch)]
    on_device = trained.device.type == "cuda"
    first = moved(batch_of(rows), trained.device)
    trained.step(first)
    held = max(0.0, _held() - before)  # with one batch, as in a run
    reserved = torch.cuda.memory_reserved(trained.device) if on_device else 0
    # A batch that came from another core is in no cache of the one that trains on it.
    copies = int(min(MOST_COPIES, COLD_BYTES // max(1, bytes_of(rows))))
    batches = cycle([first, *(moved(batch_of(rows), trained.device) for _ in range(copies))])

    def step() -> None:
        trained.step(next(batches))
        if on_device:
            torch.cuda.synchronize(trained.device)

    seconds, cpu = time_of(step, long_enough)
    return {
        "rate": 1 / (seconds / recipe.batch + own / len(samples)),
        "cpu": cpu / recipe.batch + own_cpu / len(samples),
        "memory": held,
        "device_memory": float(reserved),
    }


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
