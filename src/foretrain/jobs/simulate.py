"""simulate: on a cluster where jobs keep arriving, how long do they take under each policy?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import fsum, inf

from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError
from foretrain.jobs.asked import RuleChange, WhyWaited
from foretrain.jobs.capacity import answerable, capacity
from foretrain.jobs.case import (
    CaseEngine,
    CaseResult,
    Keeps,
    QueueCase,
    arrivals,
    curve_of,
    run_case,
    throughput,
)
from foretrain.jobs.findings import (
    findings,
    of_changes,
    of_inferred,
    of_log,
    of_replays,
    of_wishes,
)
from foretrain.jobs.generator import JobKind
from foretrain.jobs.inferred import InferredSite, as_study, inferred, rules_told
from foretrain.jobs.limits import that_fit
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.policies.table import POLICIES as TABLE
from foretrain.jobs.policies.table import named
from foretrain.jobs.replay import POLICIES, clock, replay, replayable
from foretrain.jobs.result import (
    LoadPoint,
    ModelCurve,
    Replayed,
    Simulated,
)
from foretrain.jobs.rule_changes import rule_changes
from foretrain.jobs.run import run, site_room
from foretrain.jobs.summary import RunSummary, pair, policy_result
from foretrain.jobs.why import WaitingNotes, WaitQuestion, why_waited
from foretrain.measured.job import Log, Trace
from foretrain.measured.queue_study import (
    Conditions,
    Drawn,
    InferredRules,
    JobModel,
    QueueStudy,
)
from foretrain.measured.site import SiteRules
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
    why: Sequence[str] = (),
) -> Simulated:
    """Response times of jobs that share a fleet, under each policy and load.

    Args:
        study: fleet, jobs, policies, loads and seeds.
        coefficients: how well hardware and software do, where jobs are drawn of models.
        engine: where the runs are done, such as a pool of processes.
        kept: results of runs that an earlier call has done; it gets those of this one.
        progress: told what is done, how much of it, and of how much.
        why: names of jobs of which to say why they wait, under the log's own policy or else the
            first of the study, at the highest load and the first seed.

    Raises:
        InputError: an unknown policy, a job that the fleet can never hold, or one that is asked
            about and is none.
        NoPlanFits: no plan of a model fits on any number of devices.
    """
    _refuse(study)
    tell = progress or (lambda _what, _done, _all: None)
    if isinstance(study.jobs, Log):
        asked = study.conditions
        of_site = site_room(asked.site, study.fleet, {study.policy, *study.policies})
        fitting = that_fit(study.jobs, study.fleet, asked.all_limits, of_site=of_site)
        study = replace(study, jobs=fitting)
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
    reasons = tuple(_why(study, kinds, job) for job in why)
    results = _done(_cases(study, kinds), engine=engine, kept=kept, tell=tell)
    answer = _answer(study, curves, results)
    enough = capacity(study, kinds, engine=engine, tell=tell)
    # Jobs that are drawn ask for nothing.
    log = study.jobs if isinstance(study.jobs, Log) else None
    changes = _changed(study, kinds, engine=engine, tell=tell) if study.rules else ()
    told = (
        *_of_log(study, log),
        *of_wishes(log.trace.jobs if log else (), study.policies),
        *of_replays(answer.replays),
        *(of_inferred(site) if site else ()),
        *findings(answer.points, curves, enough),
        *of_changes(changes),
    )
    answer = replace(answer, capacity=enough, findings=told, why=reasons, changes=changes)
    if site is None:
        return answer
    rules = InferredRules(rules=rules_told(site), apart=site.apart, written=as_study(site))
    return replace(answer, inferred=rules)


def _refuse(study: QueueStudy) -> None:
    """Refuse policies that are not known, and a target that nobody can answer."""
    written = {f"simulation.policies[{place}]": each for place, each in enumerate(study.policies)}
    written |= {"jobs.policy": study.policy} if study.policy else {}
    unknown = []
    for key, policy in written.items():
        try:
            named(policy)
        except InputError as error:
            unknown.append(f"{key}: {error}")
    if unknown:
        raise InputError("\n".join(unknown))
    if study.target is not None:
        answerable(study.fleet)


def _as_inferred(study: QueueStudy, tell: Tell) -> tuple[QueueStudy, InferredSite | None]:
    """The study under the rules that its log follows, where it asks for them."""
    if not isinstance(study.jobs, Log):
        return study, None
    if not study.infer_rules:
        return _on_clock(study, study.jobs), None
    site = inferred(
        study.jobs,
        None if study.infer_fleet else study.fleet,
        tell=lambda done, most: tell("replays", done, most),
    )
    stated = replace(study.conditions, site=site.rules)
    return replace(study, jobs=site.log, fleet=site.fleet, conditions=stated), site


def _on_clock(study: QueueStudy, log: Log) -> QueueStudy:
    """The study on its site's clock: cycles and periods come when they came in the log."""
    asked = study.conditions
    if asked.site == SiteRules() or "slurm" not in {study.policy, *study.policies}:
        return study
    rules = Conditions(placement=asked.placement, limits=asked.limits, site=asked.site)
    later = clock(log, study.fleet, rules)
    if not later:
        return study
    closed = tuple(
        replace(each, start=each.start + later, end=each.end + later) for each in asked.site.closed
    )
    outages = tuple(
        replace(each, start=each.start + later, end=each.end + later) for each in asked.outages
    )
    moved = replace(asked, site=replace(asked.site, closed=closed), outages=outages)
    return replace(study, jobs=log.later(later), conditions=moved)


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


def _own_policy(study: QueueStudy) -> str:
    """The policy that is asked about: that of the log, or else the first."""
    return study.policy or study.policies[0]


def _of_log(study: QueueStudy, log: Log | None) -> Iterator[str]:
    """What a log tells, and what its jobs or its site's rules ask for that is not simulated."""
    if log:
        yield from of_log(log)
    rules = study.conditions.site
    if rules.not_kept:
        yield f"Rules of the site that are not simulated: {'; '.join(rules.not_kept)}."
    if log and log.not_kept:
        told = "; ".join(f"{what}: {count:,}" for what, count in log.not_kept.items())
        yield f"What jobs of the log ask for and is not simulated: {told}."
    jobs = log.trace.jobs if log else ()
    counted = {each.license for each in study.conditions.all_limits}
    free = [job for job in jobs if any(name not in counted for name, _ in job.licenses)]
    if free:
        names = {name for job in free for name, _ in job.licenses} - counted
        yield (
            f"{len(free):,} jobs hold licences ({', '.join(sorted(names))}), and nobody says how"
            " many there are: they keep nobody. Write them under [site.licenses]."
        )


def _changed(
    study: QueueStudy, kinds: tuple[JobKind, ...], *, engine: CaseEngine, tell: Tell
) -> tuple[RuleChange, ...]:
    """Which single rule of the site to change."""
    policy, done = _own_policy(study), 0

    def simulates(site: SiteRules) -> Sequence[RunSummary] | None:
        nonlocal done
        conditions = replace(study.conditions, site=site)
        loads = (max(study.loads),) if study.loads else ()
        asked = replace(study, conditions=conditions, policies=(policy,), loads=loads)
        cases = _cases(asked, kinds)
        try:
            found = [each.summary for each in engine(run_case, cases)]
        except InputError:
            return None  # some job finds no room under such rules
        done += len(cases)
        tell("rules", done, done)
        return found

    return rule_changes(study.conditions.site, study.fleet, policy, simulates=simulates)


def _why(study: QueueStudy, kinds: tuple[JobKind, ...], job: str) -> WhyWaited:
    """Why a job waits."""
    from numpy.random import default_rng

    policy, load = _own_policy(study), max(study.loads, default=None)
    trace = arrivals(study, kinds, load=load, seed=0)
    asked = WaitQuestion(job=job, policy=policy, trace=trace, conditions=study.conditions)

    def simulates(trace: Trace, conditions: Conditions, notes: WaitingNotes | None) -> Outcomes:
        return run(
            trace, study.fleet, policy, conditions=conditions, random=default_rng(0), why=notes
        )

    return why_waited(asked, simulates)


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
