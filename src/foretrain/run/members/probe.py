"""A probe: what a sample costs, and what each member does on its own, measured briefly."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Final

from foretrain.errors import InputError
from foretrain.measured.ensemble_study import EnsembleStudy, Recipe
from foretrain.measured.probed import HandingCosts, Probed, SampleCosts, StepCosts
from foretrain.run.members.code import function
from foretrain.run.members.handing import EFFORT, Effort, handing_costs
from foretrain.run.members.home import Home, Loaded
from foretrain.run.members.machine import processor_time
from foretrain.run.members.prepared import Tree, batch_of, bytes_of, prepared
from foretrain.run.members.trainee import moved, size_of, trainee
from foretrain.run.stream.source import Source

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
    kinds = {_kind(recipe): recipe for recipe in reversed(study.recipes)}
    total = len(kinds) + 2
    tell("probes", 0, total)
    own = partial(_sample_costs, effort.seconds)
    sample = SampleCosts(**home.measure(own, what="a sample of the data"))
    tell("probes", 1, total)
    batch = max(recipe.batch for recipe in study.recipes)
    handed = partial(_handing_costs, size=sample.size, batch=batch, effort=effort)
    handing = HandingCosts(**home.measure(handed, what="handing over a sample of the data"))
    found: dict[str, StepCosts] = {}
    for done, (kind, recipe) in enumerate(kinds.items(), 2):
        tell("probes", done, total)
        step = partial(_step_costs, recipe, effort.seconds)
        found[kind] = StepCosts(**home.measure(step, what=f"a step of member {recipe.name}"))
    tell("probes", total, total)
    members = {recipe.name: found[_kind(recipe)] for recipe in study.recipes}
    return Probed(sample=sample, handing=handing, members=members)


def _handing_costs(loaded: Loaded, *, size: float, batch: int, effort: Effort) -> dict[str, float]:
    return handing_costs(_distinct(loaded.source, 1)[0], size, batch, effort=effort)


def _kind(recipe: Recipe) -> str:
    """Members of a kind differ in their optimizer's options and their names alone."""
    alike = (recipe.model, recipe.optimizer.name, recipe.loss, recipe.private, recipe.device)
    options = json.dumps(recipe.options, sort_keys=True, default=str)
    return " ".join([*map(str, alike), options, str(recipe.batch)])


def _sample_costs(long_enough: float, loaded: Loaded) -> dict[str, float | int | None]:
    """What it takes to prepare a sample; one that fails costs what it took to fail."""
    source = loaded.source
    before = _held()
    makes = _samples(source)
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


def _samples(source: Source) -> Generator[int, None, None]:
    """Prepare one sample after the other; what comes out is its size in bytes."""
    if source.samples_of is not None:
        count = len(source.samples_of)
        yield from (bytes_of(prepared(source, n * STRIDE % count, epoch=0)) for n in range(count))
    for batch in () if source.batches_of is None else source.batches_of:
        samples = size_of(batch)
        yield from [bytes_of(batch) // samples] * samples


def _step_costs(recipe: Recipe, long_enough: float, loaded: Loaded) -> dict[str, float]:
    """What a member does with samples always at hand."""
    import torch

    study, source = loaded.study, loaded.source
    before = _held()
    trained = trainee(recipe, study.folder, seed=study.seed)
    private = function(recipe.private, study.folder) if recipe.private else None
    samples = _distinct(source, min(DISTINCT, recipe.batch))
    own, own_cpu, ready = 0.0, 0.0, samples
    if private is not None:
        own, own_cpu = _timed(lambda: [private(each) for each in samples], long_enough)
        ready = [private(each) for each in samples]
    batch = moved(batch_of([ready[n % len(ready)] for n in range(recipe.batch)]), trained.device)

    def step() -> None:
        trained.step(batch)
        if trained.device.type == "cuda":
            torch.cuda.synchronize(trained.device)

    seconds, cpu = _timed(step, long_enough)
    on_device = trained.device.type == "cuda"
    reserved = torch.cuda.memory_reserved(trained.device) if on_device else 0
    return {
        "rate": 1 / (seconds / recipe.batch + own / len(samples)),
        "cpu": cpu / recipe.batch + own_cpu / len(samples),
        "memory": max(0.0, _held() - before),
        "device_memory": float(reserved),
    }


def _distinct(source: Source, count: int) -> list[Tree]:
    """A few samples, as members get them."""
    if source.samples_of is not None:
        places = len(source.samples_of)
        return [prepared(source, n * STRIDE % places, epoch=0) for n in range(min(count, places))]
    assert source.batches_of is not None
    first = next(iter(source.batches_of))
    return [_nth(first, n) for n in range(min(count, size_of(first)))]


def _nth(batch: Tree, n: int) -> Tree:
    """One sample of a batch."""
    if isinstance(batch, Mapping):
        return {key: _nth(value, n) for key, value in batch.items()}
    if isinstance(batch, tuple | list) and not isinstance(batch[0], str | bytes):
        return [_nth(each, n) for each in batch]
    return batch[n]


def _timed(run: Callable[[], object], long_enough: float) -> tuple[float, float]:
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
