"""A forecast: how long an ensemble takes on one node, and what of the machine, before it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean

from foretrain.ensemble.costs import Cores, MeasuredCosts
from foretrain.ensemble.one_node import (
    LoadingEstimate,
    MeasuredLoaders,
    OnOneNode,
    fed_stream,
    private_loaders,
    shared_stream,
)
from foretrain.measured.ensemble_study import Probed


@dataclass(frozen=True, slots=True, kw_only=True)
class Trains:
    """Members that train at the same time.

    Attributes:
        batches: samples of a step of each, by name.
        epochs: up to which each trains, by name.
        since: the epoch at which all begin.
    """

    batches: Mapping[str, int]
    epochs: Mapping[str, int]
    since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How members get their samples.

    Attributes:
        shared: whether they read one stream.
        workers: processes that prepare, of the stream or of each member; 0 for between its steps.
        fed: whether a loader feeds the stream.
    """

    shared: bool
    workers: int
    fed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What is expected of a run.

    Attributes:
        seconds: from the first sample to the last; None where nobody knows how many there are.
        cpu: core-seconds of all processes, likewise.
        memory: bytes of all processes at once.
        rates: samples per second of each member, by name.
    """

    seconds: float | None
    cpu: float | None
    memory: float
    rates: Mapping[str, float]


def forecast(
    probed: Probed, parts: Sequence[Trains], way: Way, *, cores: int, arena: float
) -> Forecast:
    """What is expected of a run whose parts follow one another.

    Members of a part that have had their epochs leave it, and the others go on without them.

    Args:
        probed: what is known of samples and members; the number of samples too.
        parts: who trains together.
        way: how members get their samples.
        cores: that all share.
        arena: bytes of a stream's slots.
    """
    samples = probed.sample.count
    seconds, cpu, memory, rates = [], [], [], dict[str, float]()
    for part in parts:
        for names, epochs in _stretches(part):
            setting = on_one_node(probed, names, part.batches, cores=cores, arena=arena)
            found = estimated(setting, way)
            seconds.append(epochs / found.rate)
            cpu.append(epochs * found.cpu)
            memory.append(found.memory)
            rates |= {name: found.rate for name in names if name not in rates}
    return Forecast(
        seconds=None if samples is None else samples * fsum(seconds),
        cpu=None if samples is None else samples * fsum(cpu),
        memory=max(memory),
        rates=rates,
    )


def on_one_node(
    probed: Probed,
    names: Sequence[str],
    batches: Mapping[str, int],
    *,
    cores: int,
    arena: float,
) -> OnOneNode:
    """Some members as if all were alike: as slow as the slowest, and of mean cost."""
    costs = [probed.members[name] for name in names]
    sample, handing = probed.sample, probed.handing
    return OnOneNode(
        members=len(names),
        costs=MeasuredCosts(
            demand=min(each.rate for each in costs),
            prepare=sample.prepare + handing.collate,
            train=fmean(each.cpu for each in costs),
            sample_bytes=sample.size,
            batch=max(batches[name] for name in names),
        ),
        loaders=MeasuredLoaders(
            hand=handing.store + handing.deliver,
            store=sample.prepare + handing.store,
            feed=handing.store,
            deliver=handing.deliver,
            member_memory=fmean(each.memory for each in costs),
            worker_memory=sample.memory,
            arena=arena,
        ),
        cores=Cores(count=cores),
    )


def estimated(setting: OnOneNode, way: Way) -> LoadingEstimate:
    """What is expected of one way of loading."""
    if way.fed:
        return fed_stream(setting)
    ask = shared_stream if way.shared else private_loaders
    return ask(setting, workers=way.workers)


def _stretches(part: Trains) -> list[tuple[list[str], int]]:
    """Who trains between one end of a member and the next, and for how many epochs."""
    found, since = [], part.since
    for end in sorted({*part.epochs.values()}):
        names = [name for name, epochs in part.epochs.items() if epochs >= end]
        if end > since:
            found.append((names, end - since))
            since = end
    return found
