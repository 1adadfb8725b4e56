"""A pipeline played batch by batch on its busiest node: what the closed form is checked against.

Three stages with a bounded queue between each two: as many preparing threads as cores, one thread
that exchanges, one that trains and hands each batch to the device piece by piece. Cores are dealt
out equally to all threads that want one. Nothing of the closed form is used but what each stage
has to do for a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from numpy.random import Generator
from validation.ensembles.selector import select_pipeline

from foretrain.ensemble.across_nodes import AcrossNodes, EnsemblePipeline
from foretrain.ensemble.costs import Cores, ExchangeCosts, MeasuredCosts

PIECES = 8
"""Turns in which a training step uses a core, then the device."""


PREPARERS = (2, 4)
"""Nodes that may prepare where a pipeline leaves it open."""


@dataclass(kw_only=True)
class Stage:
    """One stage at work.

    Attributes:
        threads: that want a core while it works; 0 where it only waits for link or device.
        work: seconds of each batch or piece, on the cores that its threads want.
        left: of what is being done; None while it waits.
        done: batches or pieces that are finished.
    """

    threads: int
    work: float
    left: float | None = None
    done: int = 0


def played(
    pipeline: EnsemblePipeline, setting: AcrossNodes, *, preparers: int = 1, batches: int = 30
) -> float:
    """Samples per second that a member trains, the first third of the batches left out."""
    stages = _stages(pipeline, setting, pipeline.preparers(setting.nodes, preparers))
    queue, clock, began = int(setting.exchange.queue), 0.0, 0.0
    while stages[-1].done < PIECES * batches:
        _start(stages, queue, overlapped=pipeline.overlapped)
        clock += _advance(stages, setting.cores.count)
        if stages[-1].done <= PIECES * batches // 3:
            began = clock
    return setting.costs.batch * (batches - batches // 3) / (clock - began)


def _stages(pipeline: EnsemblePipeline, setting: AcrossNodes, preparers: int) -> tuple[Stage, ...]:
    """Preparing, exchanging, the part of training on a core and that on the device."""
    costs, cores, exchange = setting.costs, setting.cores, setting.exchange
    traffic = pipeline.traffic(setting.nodes, preparers)
    slow = cores.slowing * costs.batch
    passed = traffic.busiest * exchange.byte_time
    sent = traffic.sent / exchange.bandwidth
    moving = max(passed, sent) * costs.sample_bytes * costs.batch
    step = costs.batch / costs.demand
    own = min(costs.train * slow, step)
    return (
        Stage(
            threads=cores.count,
            work=pipeline.share(preparers) * costs.prepare * slow / cores.count,
        ),
        Stage(threads=1 if passed >= sent and passed > 0 else 0, work=moving),
        Stage(threads=1, work=own / PIECES),
        Stage(threads=0, work=(step - own) / PIECES),
    )


def _start(stages: tuple[Stage, ...], queue: int, *, overlapped: bool) -> None:
    """Start what waits and need not wait any more."""
    prepare, exchange, host, device = stages
    free = exchange.left is None
    trained = device.done // PIECES
    if free and prepare.done > exchange.done and exchange.done - trained < queue:
        exchange.left = exchange.work
    alone = overlapped or exchange.left is None
    if prepare.left is None and alone and prepare.done - exchange.done < queue:
        prepare.left = prepare.work
    if host.left is None and device.left is None:
        if host.done > device.done:
            device.left = device.work
        elif exchange.done > host.done // PIECES:
            host.left = host.work


def _advance(stages: tuple[Stage, ...], cores: int) -> float:
    """Seconds until the next stage is through, with the cores dealt out equally until then."""
    wanted = sum(stage.threads for stage in stages if stage.left is not None)
    pace = min(1.0, cores / wanted) if wanted else 1.0
    ends = [
        inf if stage.left is None else stage.left / (pace if stage.threads else 1.0)
        for stage in stages
    ]
    took = min(ends)
    for stage, end in zip(stages, ends, strict=True):
        if stage.left is not None:
            stage.left -= took * (pace if stage.threads else 1.0)
        if end == took:
            stage.left, stage.done = None, stage.done + 1
    return took


def behind(setting: AcrossNodes) -> float:
    """By what share the pipeline that is picked is slower than the best one, all played."""
    picked = select_pipeline(setting, preparers=PREPARERS)
    rates = {
        each.name: played(each.pipeline, setting, preparers=each.preparers)
        for each in picked.estimates
    }
    return 1.0 - rates[picked.best.name] / max(rates.values())


def drawn_setting(random: Generator) -> AcrossNodes:
    """Nodes, members and links of all sorts, each size as likely as ten times its size."""

    def between(low: float, high: float) -> float:
        return float(low * (high / low) ** random.uniform())

    demand = between(20.0, 2000.0)
    train = between(0.05, 1.0) / demand
    return AcrossNodes(
        nodes=int(random.integers(2, 65)),
        costs=MeasuredCosts(
            demand=demand,
            prepare=train * between(0.3, 30.0),
            train=train,
            sample_bytes=between(1e4, 1e6),
            batch=int(random.choice([16, 32, 64, 128])),
        ),
        cores=Cores(count=int(random.integers(1, 33)), contention=random.uniform(0.0, 0.05)),
        exchange=ExchangeCosts(byte_time=between(2e-11, 2e-9), bandwidth=between(1e8, 1e11)),
    )
