"""curves: what does a model get out of each number of devices, under its best plan there?

arrivals: the jobs of one run of a study.

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
from math import inf
from time import process_time
from typing import Protocol

from foretrain.cluster.mixed import Fleet
from foretrain.cluster.offer import fewer
from foretrain.coefficients.coefficients import Coefficients
from foretrain.ensemble.result import SharedInput
from foretrain.ensemble.shared_input import alone, shared_input
from foretrain.errors import InputError, NoPlanFits
from foretrain.jobs.generator import JobKind, drawn, generate
from foretrain.jobs.mix import PHILLY
from foretrain.jobs.outcomes import Watch
from foretrain.jobs.policies.policy import Known
from foretrain.jobs.policies.table import named
from foretrain.jobs.result import CurvePoint, History, ModelCurve
from foretrain.jobs.run import run
from foretrain.jobs.summary import RunSummary, summary
from foretrain.jobs.sweeps import submitted
from foretrain.measured.job import Log, Trace
from foretrain.measured.queue_study import Drawn, JobModel, QueueStudy
from foretrain.search.best_plans import best_plans
from foretrain.step.result import Ranked
from foretrain.study.coefficients import DEFAULT
from foretrain.throughput import Point, ThroughputCurve, elastic, rigid

WORTH = 0.75
"""Samples per second and device, over those of the fewest devices, down to which a job asks for
more. Optimus-like schedulers and users draw this line somewhere between a half and nine tenths;
ours is an assumption that `devices` of the study replaces."""

MOST = 0.25
"""Share of all devices that a job asks for at most, so that several fit; an assumption likewise."""


def curve_of(
    model: JobModel,
    *,
    devices: int,
    coefficients: Coefficients = DEFAULT,
    tell: Callable[[str, int], None] | None = None,
) -> ModelCurve:
    """The best plan of a model on each of its counts of devices, or what is known without plans.

    Args:
        model: the model, its workload and space, or its throughput.
        devices: of the fleet.
        coefficients: how well hardware and software do.
        tell: told the model and the devices before each search.

    Raises:
        NoPlanFits: where nothing fits on any of them, or not on those that a job asks for.
    """
    points: list[CurvePoint] = []
    refused: dict[int, str] = {}
    for count in model.counts:
        if tell is not None:
            tell(model.name, count)
        try:
            points.append(_at(model, count, before=points, coefficients=coefficients))
        except (NoPlanFits, InputError) as error:
            refused[count] = str(error).partition("\n")[0]
    asks, why = _asks(model, points, refused, devices=devices)
    return ModelCurve(
        name=model.name,
        points=tuple(points),
        asks=asks,
        why=why,
        refused=refused,
        members=model.members,
    )


def _at(
    model: JobModel, count: int, *, before: list[CurvePoint], coefficients: Coefficients
) -> CurvePoint:
    """What so many devices do: as is known, or by the best plan on them."""
    if model.study is None:
        assert model.curve, "a model without a study and a curve was not refused"
        known = next(each for each in model.curve.points if each.devices == count)
        unit = before[0].rate / before[0].devices if before else known.rate / count
        return CurvePoint(
            devices=count,
            rate=known.rate,
            low=known.rate if known.low is None else known.low,
            high=known.rate if known.high is None else known.high,
            efficiency=known.rate / count / unit,
            plan=None,
        )
    # The best plan on so many devices; of a member, on its share of them.
    whole = alone(model) if model.members > 1 else model.study
    cluster = fewer(whole.cluster, count // model.members)
    study = replace(whole, cluster=cluster, offers=(), job=None)
    best = best_plans(study, coefficients=coefficients, keep=1, trade_offs=False).best
    fed = shared_input(model, count, best) if model.members > 1 else None
    return _point(best, count, before=before, fed=fed)


def throughput(curve: ModelCurve) -> ThroughputCurve:
    """The curve as a scheduler sees it."""
    points = (
        Point(devices=each.devices, rate=each.rate, low=each.low, high=each.high)
        for each in curve.points
    )
    return ThroughputCurve(name=curve.name, points=tuple(points))


def _point(
    best: Ranked, devices: int, *, before: list[CurvePoint], fed: SharedInput | None
) -> CurvePoint:
    """What a plan does, as far as its samples come quickly enough."""
    found = best.estimate
    alone = found.samples_per_second
    rate = min(alone, fed.best.rate) if fed else alone
    most = rate if fed and fed.best.limit != "training" else inf
    unit = before[0].rate / before[0].devices if before else rate / devices
    return CurvePoint(
        devices=devices,
        rate=rate,
        low=min(rate, alone * found.step_time / found.step_time_high),
        high=min(most, alone * found.step_time / found.step_time_low),
        efficiency=rate / devices / unit,
        plan=best.plan,
        input=fed,
    )


def _asks(
    model: JobModel, points: list[CurvePoint], refused: dict[int, str], *, devices: int
) -> tuple[int, str]:
    """How many devices a job asks for, and why."""
    if not points:
        told = " ".join(f"On {count}: {why}" for count, why in refused.items())
        raise NoPlanFits(f"{model.name}: no plan fits on any number of devices. {told}")
    if model.asks is not None:
        if model.asks in refused:
            raise NoPlanFits(f"{model.name} on {model.asks} devices: {refused[model.asks]}")
        return model.asks, "as the study says"
    room = MOST * devices
    few = [point for point in points if point.devices <= room] or points[:1]
    worth = [point for point in few if point.efficiency >= WORTH]
    if worth[-1] is few[-1]:
        return few[-1].devices, f"the most in {100 * MOST:.0f} % of the cluster"
    return worth[-1].devices, (
        f"the most on which a device does {100 * WORTH:.0f} % of what it does on"
        f" {points[0].devices}"
    )


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
        return replace(trace, jobs=jobs)
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
