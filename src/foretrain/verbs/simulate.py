"""simulate: on a cluster where jobs keep arriving, how long do they take under each policy?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from time import process_time
from typing import Protocol

from foretrain.coefficients.coefficients import Coefficients
from foretrain.files.coefficients import DEFAULT
from foretrain.jobs.comparison import pair, policy_result
from foretrain.jobs.drawn import Kind
from foretrain.jobs.history import Watch
from foretrain.jobs.policies.table import named
from foretrain.jobs.run import run
from foretrain.jobs.summary import RunSummary, summary
from foretrain.measured.job import Trace
from foretrain.measured.queue_study import Drawn, QueueStudy
from foretrain.results.simulate import (
    History,
    LoadPoint,
    ModelCurve,
    Simulated,
)
from foretrain.verbs.arrivals import arrivals
from foretrain.verbs.curves import curve_of, throughput


class Engine(Protocol):
    """Does the same for many cases, in their order."""

    def __call__(
        self, function: Callable[[Case], CaseResult], items: Sequence[Case], /
    ) -> Iterable[CaseResult]:
        """The function of every item."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run that is needed.

    Attributes:
        study: the question.
        kinds: of jobs, where they are drawn of models.
        policy: name of the policy.
        load: device-seconds that come over those there are; None for a trace as it is.
        seed: of the jobs.
        drawn: whether to note how it goes.
    """

    study: QueueStudy
    kinds: tuple[Kind, ...]
    policy: str
    load: float | None
    seed: int
    noted: bool = False


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


def simulate(
    study: QueueStudy,
    *,
    coefficients: Coefficients = DEFAULT,
    engine: Engine = map,
    progress: Callable[[str, int, int], None] | None = None,
) -> Simulated:
    """Response times of jobs that share a fleet, under each policy and load.

    Args:
        study: fleet, jobs, policies, loads and seeds.
        coefficients: how well hardware and software do, where jobs are drawn of models.
        engine: where the runs are done, such as a pool of processes.
        progress: told what is done, how much of it, and of how much.

    Raises:
        InputError: an unknown policy, or a job that the fleet can never hold.
        NoPlanFits: no plan of a model fits on any number of devices.
    """
    for policy in study.policies:
        named(policy)
    tell = progress or (lambda _what, _done, _all: None)
    curves = _curves(study, coefficients, tell)
    cases = _cases(study, _kinds(study, curves))
    results = []
    for result in engine(run_case, cases):
        results.append(result)
        tell("runs", len(results), len(cases))
    return _answer(study, curves, dict(zip(map(_place, cases), results, strict=True)))


def run_case(case: Case) -> CaseResult:
    """One run, wherever its engine puts it."""
    study = case.study
    trace = arrivals(study, case.kinds, load=case.load, seed=case.seed)
    watch = Watch() if case.noted else None
    begun = process_time()
    outcomes = run(
        trace,
        study.fleet,
        case.policy,
        past=_past(case),
        period=study.period,
        placement=study.placement,
        watch=watch,
    )
    seconds = process_time() - begun
    return CaseResult(
        summary=summary(outcomes, study.fleet, warm_up=study.warm_up),
        history=watch.history(case.policy, study.fleet.devices) if watch else None,
        seconds=seconds,
    )


def _past(case: Case) -> Trace | None:
    """Jobs like those of a run that ended before it, for policies that learn; None for a trace."""
    if not isinstance(case.study.jobs, Drawn):
        return None
    return arrivals(case.study, case.kinds, load=case.load, seed=case.seed + 1_000_003)


def _curves(
    study: QueueStudy, coefficients: Coefficients, tell: Callable[[str, int, int], None]
) -> tuple[ModelCurve, ...]:
    """What each model gets out of devices; none where jobs are not drawn of models."""
    models = study.jobs.models if isinstance(study.jobs, Drawn) else ()
    total = sum(len(model.counts) for model in models)
    done = 0

    def told(_name: str, _devices: int) -> None:
        nonlocal done
        done += 1
        tell("searches", done, total)

    return tuple(curve_of(model, coefficients=coefficients, tell=told) for model in models)


def _kinds(study: QueueStudy, curves: Sequence[ModelCurve]) -> tuple[Kind, ...]:
    models = study.jobs.models if isinstance(study.jobs, Drawn) else ()
    return tuple(
        Kind(
            name=model.name,
            curve=throughput(curve),
            asks=curve.asks,
            samples=model.study.workload.samples or 0.0,
            vary=model.vary,
            share=model.share,
        )
        for model, curve in zip(models, curves, strict=True)
    )


def _cases(study: QueueStudy, kinds: tuple[Kind, ...]) -> tuple[Case, ...]:
    """Every run that is needed; those of the first seed at the last load are noted."""
    loads: tuple[float | None, ...] = tuple(sorted(study.loads)) or (None,)
    return tuple(
        Case(
            study=study,
            kinds=kinds,
            policy=policy,
            load=load,
            seed=seed,
            noted=load == loads[-1] and seed == 0,
        )
        for load in loads
        for seed in range(study.seeds)
        for policy in study.policies
    )


def _place(case: Case) -> tuple[float | None, str, int]:
    return case.load, case.policy, case.seed


Results = Mapping[tuple[float | None, str, int], CaseResult]


def _answer(study: QueueStudy, curves: tuple[ModelCurve, ...], results: Results) -> Simulated:
    loads = sorted({load for load, _, _ in results}, key=lambda load: load or 0.0)
    points = tuple(_point(study, load, results) for load in loads)
    jobs = sum(each.summary.counts.submitted for each in results.values())
    seconds = fsum(each.seconds for each in results.values())
    return Simulated(
        devices=study.fleet.devices,
        seeds=study.seeds,
        policies=points[-1].policies,
        points=points,
        curves=curves,
        histories=tuple(each.history for each in results.values() if each.history),
        findings=(),
        jobs_per_second=jobs / seconds if seconds else 0.0,
    )


def _point(study: QueueStudy, load: float | None, results: Results) -> LoadPoint:
    """All policies at one load."""
    runs = {
        policy: [results[load, policy, seed].summary for seed in range(study.seeds)]
        for policy in study.policies
    }
    found = {policy: policy_result(study.fleet, some) for policy, some in runs.items()}
    order = sorted(found, key=lambda policy: found[policy].mean_response)
    pairs = tuple(pair(first, second, runs) for first, second in pairwise(order))
    return LoadPoint(load=load, policies=found, pairs=pairs)
