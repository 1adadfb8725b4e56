"""arrivals: the jobs of one run of a study.

quiet: what libraries write past Python goes beside the answer, not into it.

case: one run of a study, wherever an engine puts it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from time import process_time
from typing import Protocol

from foretrain.cluster.mixed import Fleet
from foretrain.jobs.generator import JobKind, drawn, generate
from foretrain.jobs.mix import PHILLY
from foretrain.jobs.outcomes import Watch
from foretrain.jobs.policies.policy import Known
from foretrain.jobs.policies.table import named
from foretrain.jobs.result import History
from foretrain.jobs.run import run
from foretrain.jobs.summary import RunSummary, summary
from foretrain.jobs.sweeps import submitted
from foretrain.measured.job import Log, Trace
from foretrain.measured.queue_study import Drawn, QueueStudy
from foretrain.throughput import elastic, rigid


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What came out of a run.

    Attributes:
        summary: what it says.
        history: how it went; None if that was not noted.
        seconds: CPU seconds that the simulation took.
    """

    summary: RunSummary
    history: History | None
    seconds: float


def arrivals(
    study: QueueStudy, kinds: Sequence[JobKind], *, load: float | None, seed: int
) -> Trace:
    """The jobs: those of the trace, or drawn ones that depend on load and seed alone.

    Args:
        study: the question.
        kinds: of jobs, where they are drawn of models.
        load: device-seconds that come over those there are; None for a trace as it is.
        seed: of chance.
    """
    if isinstance(study.jobs, Log):
        # Jobs of a log that say nothing of a restart take so long for it.
        trace = study.jobs.trace
        if not study.restart:
            return trace
        jobs = tuple(replace(job, restart=job.restart or study.restart) for job in trace.jobs)
        return Trace(name=trace.name, jobs=jobs)
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
    how: Drawn, kinds: tuple[JobKind, ...], *, load: float, devices: int, seed: int, restart: float
) -> Trace:
    """Sweeps, jobs of models, or jobs like those of the published log.

    Neighbouring runs differ in the policy alone, so the last jobs that were drawn are kept.
    """
    from numpy.random import default_rng

    random = default_rng(seed)
    if how.sweeps:
        return submitted(
            how.sweeps, count=how.jobs, load=load, devices=devices, random=random, restart=restart
        )
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


OUTPUT, ERRORS = 1, 2
"""Standard output, which the answer has to itself, and standard error."""


@contextmanager
def beside_the_answer() -> Iterator[None]:
    """Let standard output be standard error, for C libraries too.

    HiGHS, which solves Sia's program, writes a line of its own on some problems, asked or not.
    """
    if os.name != "posix":
        yield
        return
    libc = ctypes.CDLL(None)
    libc.fflush(None)
    kept = os.dup(OUTPUT)
    os.dup2(ERRORS, OUTPUT)
    try:
        yield
    finally:
        libc.fflush(None)  # or it would come out once the answer is there
        os.dup2(kept, OUTPUT)
        os.close(kept)


class CaseEngine(Protocol):
    """Does the same for many cases, in their order."""

    def __call__(
        self, function: Callable[[QueueCase], CaseResult], items: Sequence[QueueCase], /
    ) -> Iterable[CaseResult]:
        """The function of every item."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCase:
    """One run that is needed.

    Attributes:
        study: the question.
        fleet: what the jobs share: the study's, or a larger or smaller one.
        kinds: of jobs, where they are drawn of models.
        policy: name of the policy.
        load: device-seconds that come over those there are; None for a trace as it is.
        seed: of the jobs.
        noted: whether to note how it goes.
    """

    study: QueueStudy
    fleet: Fleet
    kinds: tuple[JobKind, ...]
    policy: str
    load: float | None
    seed: int
    noted: bool = False


class Keeps(Protocol):
    """Results of runs that were done before."""

    def get(self, key: str) -> CaseResult | None:
        """The result of a key; None if it is not kept."""
        ...

    def put(self, key: str, result: CaseResult) -> None:
        """Keep a result."""
        ...


ANOTHER = 1_000_003
"""From the seed of a run to that of the jobs from which its policy learns."""


def run_case(case: QueueCase) -> CaseResult:
    """One run, wherever its engine puts it."""
    from numpy.random import default_rng

    study = case.study
    trace = arrivals(study, case.kinds, load=case.load, seed=case.seed)
    past = None
    if isinstance(study.jobs, Drawn) and Known.PAST in named(case.policy).knows:
        # Policies that learn see jobs like those of the run that ended before it.
        past = arrivals(study, case.kinds, load=case.load, seed=case.seed + ANOTHER)
    watch = Watch() if case.noted else None
    begun = process_time()
    with beside_the_answer():
        outcomes = run(
            trace,
            case.fleet,
            case.policy,
            past=past,
            conditions=study.conditions,
            watch=watch,
            random=default_rng(case.seed),
        )
    seconds = process_time() - begun
    return CaseResult(
        summary=summary(outcomes, case.fleet, warm_up=study.warm_up),
        history=watch.history(case.policy, case.fleet.devices) if watch else None,
        seconds=seconds,
    )
