"""simulate: on a cluster where jobs keep arriving, how long do they take under each policy?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import fsum, inf

from foretrain.coefficients.coefficients import Coefficients
from foretrain.jobs.admission import that_fit
from foretrain.jobs.capacity import answerable, capacity
from foretrain.jobs.case import (
    CaseEngine,
    CaseResult,
    Keeps,
    QueueCase,
    curve_of,
    run_case,
    throughput,
)
from foretrain.jobs.findings import (
    as_study,
    findings,
    of_inferred,
    of_log,
    of_replays,
    of_wishes,
    rules_told,
)
from foretrain.jobs.generator import JobKind
from foretrain.jobs.inferred import InferredSite, inferred
from foretrain.jobs.policies.table import POLICIES as TABLE
from foretrain.jobs.policies.table import named
from foretrain.jobs.replay import POLICIES, replay, replayable
from foretrain.jobs.result import (
    LoadPoint,
    ModelCurve,
    Replayed,
    Simulated,
)
from foretrain.jobs.summary import pair, policy_result
from foretrain.measured.job import Log
from foretrain.measured.queue_study import (
    Conditions,
    Drawn,
    JobModel,
    QueueStudy,
)
from foretrain.measured.site import InferredRules, SiteRules
from foretrain.show.document import fingerprint
from foretrain.study.coefficients import DEFAULT

Place = tuple[float | None, str, int]
"""Load, policy and seed of a run."""

Results = Mapping[Place, CaseResult]

Tell = Callable[[str, int, int], None]
"""Told what is done, how much of it, and of how much."""


def simulate(
    study: QueueStudy,
    *,
    coefficients: Coefficients = DEFAULT,
    engine: CaseEngine = map,
    kept: Keeps | None = None,
    progress: Tell | None = None,
) -> Simulated:
    """Response times of jobs that share a fleet, under each policy and load.

    Args:
        study: fleet, jobs, policies, loads and seeds.
        coefficients: how well hardware and software do, where jobs are drawn of models.
        engine: where the runs are done, such as a pool of processes.
        kept: results of runs that an earlier call has done; it gets those of this one.
        progress: told what is done, how much of it, and of how much.

    Raises:
        InputError: an unknown policy, or a job that the fleet can never hold.
        NoPlanFits: no plan of a model fits on any number of devices.
    """
    for policy in study.policies:
        named(policy)
    if study.target is not None:
        answerable(study.fleet)
    tell = progress or (lambda _what, _done, _all: None)
    if isinstance(study.jobs, Log):
        study = replace(study, jobs=that_fit(study.jobs, study.fleet))
    study, site = _as_inferred(study, tell)
    curves = _curves(study, coefficients, tell)
    kinds = tuple(
        JobKind(
            name=model.name,
            curve=throughput(curve),
            asks=curve.asks,
            samples=model.amount,
            vary=model.vary,
            share=model.share,
        )
        for model, curve in zip(_models(study), curves, strict=True)
    )
    results = _done(_cases(study, kinds), engine=engine, kept=kept, tell=tell)
    answer = _answer(study, curves, results)
    enough = capacity(study, kinds, engine=engine, tell=tell)
    # Jobs that are drawn ask for nothing.
    log = study.jobs if isinstance(study.jobs, Log) else None
    told = (
        *(of_log(log) if log else ()),
        *of_wishes(log.trace.jobs if log else (), study.policies),
        *of_replays(answer.replays),
        *(of_inferred(site) if site else ()),
        *findings(answer.points, curves, enough),
    )
    answer = replace(answer, capacity=enough, findings=told)
    if site is None:
        return answer
    rules = InferredRules(rules=rules_told(site), apart=site.apart, written=as_study(site))
    return replace(answer, inferred=rules)


def _as_inferred(study: QueueStudy, tell: Tell) -> tuple[QueueStudy, InferredSite | None]:
    """The study under the rules that its log follows, where it asks for them."""
    if not study.infer_rules or not isinstance(study.jobs, Log):
        return study, None
    site = inferred(
        study.jobs,
        None if study.infer_fleet else study.fleet,
        tell=lambda done, most: tell("replays", done, most),
    )
    stated = replace(study.conditions, site=site.rules)
    return replace(study, jobs=site.log, fleet=site.fleet, conditions=stated), site


def _models(study: QueueStudy) -> Sequence[JobModel]:
    """Those that jobs are drawn of."""
    return study.jobs.models if isinstance(study.jobs, Drawn) else ()


def _done(
    cases: Sequence[QueueCase], *, engine: CaseEngine, kept: Keeps | None, tell: Tell
) -> dict[Place, CaseResult]:
    """Every case done, those that were kept not again.

    A policy of the user's own is another one as soon as its file changes: its cases are not kept.
    """
    keys = [fingerprint(case) if kept and case.policy in TABLE else "" for case in cases]
    found: dict[Place, CaseResult] = {}
    for case, key in zip(cases, keys, strict=True):
        before = kept.get(key) if kept and key else None
        if before is not None:
            found[_place(case)] = before
    left = [pair for pair in zip(cases, keys, strict=True) if _place(pair[0]) not in found]
    tell("runs", len(found), len(cases))
    for (case, key), result in zip(left, engine(run_case, [case for case, _ in left]), strict=True):
        found[_place(case)] = result
        if kept is not None and key:
            kept.put(key, result)
        tell("runs", len(found), len(cases))
    return found


def _curves(study: QueueStudy, coefficients: Coefficients, tell: Tell) -> tuple[ModelCurve, ...]:
    """What each model gets out of devices; none where jobs are not drawn of models."""
    models = _models(study)
    total = sum(len(model.counts) for model in models)
    done = 0

    def told(_name: str, _devices: int) -> None:
        nonlocal done
        done += 1
        tell("searches", done, total)

    devices = study.fleet.devices
    return tuple(
        curve_of(model, devices=devices, coefficients=coefficients, tell=told) for model in models
    )


def _cases(study: QueueStudy, kinds: tuple[JobKind, ...]) -> tuple[QueueCase, ...]:
    """Every run that is needed; those of the first seed at the last load are noted."""
    loads: tuple[float | None, ...] = tuple(sorted(study.loads)) or (None,)
    return tuple(
        QueueCase(
            study=study,
            fleet=study.fleet,
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


def _place(case: QueueCase) -> Place:
    return case.load, case.policy, case.seed


def _answer(study: QueueStudy, curves: tuple[ModelCurve, ...], results: Results) -> Simulated:
    loads = sorted({load for load, _, _ in results}, key=lambda load: load or 0.0)
    points = []
    for load in loads:
        runs = {
            policy: [results[load, policy, seed].summary for seed in range(study.seeds)]
            for policy in study.policies
        }
        found = {policy: policy_result(study.fleet, some) for policy, some in runs.items()}
        order = sorted(found, key=lambda policy: found[policy].mean_response)
        pairs = tuple(pair(first, second, runs) for first, second in pairwise(order))
        points.append(LoadPoint(load=load, policies=found, pairs=pairs))
    jobs = sum(each.summary.counts.submitted for each in results.values())
    seconds = fsum(each.seconds for each in results.values())
    return Simulated(
        devices=study.fleet.devices,
        seeds=study.seeds,
        policies=points[-1].policies,
        points=tuple(points),
        curves=curves,
        histories=tuple(each.history for each in results.values() if each.history),
        replays=_replays(study),
        left_out=study.jobs.left_out if isinstance(study.jobs, Log) else (),
        capacity=None,
        findings=(),
        jobs_per_second=jobs / seconds if seconds else 0.0,
        counted="sweeps" if isinstance(study.jobs, Drawn) and study.jobs.sweeps else "jobs",
    )


def _replays(study: QueueStudy) -> tuple[Replayed, ...]:
    """The log under its own policy before anybody asks it what if."""
    log = study.jobs
    if not isinstance(log, Log) or not replayable(log):
        return ()
    asked = study.conditions
    sited = asked.site != SiteRules()
    policies = (study.policy,) if study.policy else (*POLICIES, *(("slurm",) if sited else ()))
    # What jobs ran is in the log, with what its nodes and limits ended; who may start is not.
    rules = Conditions(placement=asked.placement, limits=asked.limits, site=asked.site)
    found = replay(log, policies=policies, shared=study.fleet, conditions=rules if sited else None)
    return tuple(
        Replayed(
            policy=each.policy,
            devices=each.devices,
            gap=each.gap if each.gap < inf else None,
            logged=each.logged,
            simulated=each.simulated,
            error=each.error if each.error < inf else None,
        )
        for each in found
    )
