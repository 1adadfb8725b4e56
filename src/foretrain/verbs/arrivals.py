"""arrivals: the jobs of one run of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from foretrain.jobs.drawn import Kind, drawn
from foretrain.jobs.generator import generate
from foretrain.jobs.philly import PHILLY
from foretrain.measured.job import Trace
from foretrain.measured.log import Log
from foretrain.measured.queue_study import Drawn, QueueStudy
from foretrain.throughput import elastic, rigid


def arrivals(study: QueueStudy, kinds: Sequence[Kind], *, load: float | None, seed: int) -> Trace:
    """The jobs: those of the trace, or drawn ones that depend on load and seed alone.

    Args:
        study: the question.
        kinds: of jobs, where they are drawn of models.
        load: device-seconds that come over those there are; None for a trace as it is.
        seed: of chance.
    """
    if isinstance(study.jobs, Log):
        return _restarting(study.jobs.trace, study.restart)
    assert load is not None
    return _drawn(
        study.jobs,
        tuple(kinds),
        load=load,
        devices=study.fleet.devices,
        seed=seed,
        restart=study.restart,
    )


@lru_cache(maxsize=1)
def _drawn(
    how: Drawn, kinds: tuple[Kind, ...], *, load: float, devices: int, seed: int, restart: float
) -> Trace:
    """Jobs of models, or like those of the published log.

    Neighbouring runs differ in the policy alone, so the last jobs that were drawn are kept.
    """
    from numpy.random import default_rng

    random = default_rng(seed)
    if kinds:
        return drawn(
            kinds, count=how.jobs, load=load, devices=devices, random=random, restart=restart
        )
    return generate(
        PHILLY if how.ends else replace(PHILLY, failing=None, killing=None),
        random,
        count=how.jobs,
        load=load,
        devices=devices,
        curve=rigid if how.serial is None else elastic(how.serial),
        restart=restart,
    )


def _restarting(trace: Trace, seconds: float) -> Trace:
    """Jobs of a log that say nothing of a restart take so long for it."""
    if not seconds:
        return trace
    jobs = tuple(replace(job, restart=job.restart or seconds) for job in trace.jobs)
    return Trace(name=trace.name, jobs=jobs)
