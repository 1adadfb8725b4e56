"""case: one run of a study, wherever an engine puts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Protocol

from foretrain.cluster.fleet import Fleet
from foretrain.jobs.drawn import Kind
from foretrain.jobs.history import Watch
from foretrain.jobs.policies.table import named
from foretrain.jobs.run import run
from foretrain.jobs.summary import summary
from foretrain.measured.job import Trace
from foretrain.measured.queue_study import Drawn, QueueStudy
from foretrain.results.case import CaseResult
from foretrain.verbs.arrivals import arrivals
from foretrain.verbs.quiet import beside_the_answer


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
        fleet: what the jobs share: the study's, or a larger or smaller one.
        kinds: of jobs, where they are drawn of models.
        policy: name of the policy.
        load: device-seconds that come over those there are; None for a trace as it is.
        seed: of the jobs.
        noted: whether to note how it goes.
    """

    study: QueueStudy
    fleet: Fleet
    kinds: tuple[Kind, ...]
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


def run_case(case: Case) -> CaseResult:
    """One run, wherever its engine puts it."""
    from numpy.random import default_rng

    study = case.study
    trace = arrivals(study, case.kinds, load=case.load, seed=case.seed)
    watch = Watch() if case.noted else None
    begun = process_time()
    with beside_the_answer():
        outcomes = run(
            trace,
            case.fleet,
            case.policy,
            past=_past(case),
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


def _past(case: Case) -> Trace | None:
    """Jobs like those of a run that ended before it, for policies that learn; None for a trace."""
    if not (isinstance(case.study.jobs, Drawn) and named(case.policy).learns):
        return None
    return arrivals(case.study, case.kinds, load=case.load, seed=case.seed + 1_000_003)
