"""capacity: how many nodes does a response or waiting time need, under each policy?

The answer is a number with an interval, from one long run for each number of nodes that is tried.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import ceil, inf
from statistics import fmean

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.asked import Capacity, Enough
from foretrain.jobs.case import (
    CaseEngine,
    QueueCase,
    arrivals,
    run_case,
)
from foretrain.jobs.generator import JobKind
from foretrain.jobs.mix import pace
from foretrain.jobs.result import (
    PolicyResult,
)
from foretrain.jobs.summary import RunSummary, of_one_run, policy_result
from foretrain.measured.queue_study import (
    MOST_DRAWN,
    Drawn,
    QueueStudy,
    Target,
    TargetQuantity,
)

LIVES = 10
"""How often a job as long as those that settle a cluster could run in what counts of a run, at
least: as many stretches of time that hardly depend on each other tell how sure a mean is."""

SAMPLE = 10_000
"""Jobs that are drawn to see how long they take."""

SETTLED = 0.99
"""Share of the work that is in jobs shorter than the time after which a cluster, empty at first, is
taken to be as it will be."""

LATE = 0.05
"""Share of the jobs that may take longer where a target is about 95 % of them."""


LONGER = 4
"""How many times as long a run is that follows one which is too short to tell."""


FAR = 4
"""How many times the bar a value is that is above it whatever else a longer run would tell: on too
few nodes a queue grows for ever, and no run is long enough."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """What a policy does on some nodes.

    Attributes:
        result: over all runs; None where some job or quota does not fit at all.
        value: what must not be above the bar: a mean, or the share of jobs that are late.
        low: of its 95 % interval; 0 where the longest run tells nothing.
        high: likewise; infinite there.
        sure: whether it tells.
    """

    result: PolicyResult | None
    value: float
    low: float
    high: float
    sure: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizing:
    """What is tried on one number of nodes after the other, on the same jobs each.

    That 95 % of the jobs stay below a time is asked as whether at most 5 % of them do not: a share
    is a mean, and means of consecutive parts of a long run say how sure it is.
    """

    study: QueueStudy
    target: Target
    kinds: tuple[JobKind, ...]
    load: float | None
    engine: CaseEngine
    tried: dict[tuple[str, int], _Tried] = field(default_factory=dict)

    @property
    def bar(self) -> float:
        """What a value may be at most."""
        means = {TargetQuantity.MEAN, TargetQuantity.WAITING}
        return self.target.seconds if self.target.quantity in means else LATE

    def fewest(self, policy: str, of: Callable[[_Tried], float]) -> int | None:
        """The fewest nodes on which a value is at most the bar, by halving; None if none are."""
        low, high = 0, self.target.most
        if of(self.on(policy, high)) > self.bar:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if of(self.on(policy, middle)) <= self.bar:
                high = middle
            else:
                low = middle
        return high

    def on(self, policy: str, nodes: int) -> _Tried:
        """What a policy does on some nodes; done once."""
        if (policy, nodes) not in self.tried:
            self.tried[policy, nodes] = self._try(policy, nodes)
        return self.tried[policy, nodes]

    def _try(self, policy: str, nodes: int) -> _Tried:
        fleet, study = _sized(self.study.fleet, nodes), self.study
        while True:
            case = QueueCase(
                study=study,
                fleet=fleet,
                kinds=self.kinds,
                policy=policy,
                load=self.load,
                seed=0,
            )
            try:
                [done] = self.engine(run_case, [case])
            except InputError:
                return _Tried(None, inf, inf, inf)
            values = self._values(done.summary)
            told, value, longer = of_one_run(values), fmean(values), _longer(study)
            if told is None and value > FAR * self.bar:
                told = value, inf
            if told is not None or longer is None:
                break
            study = longer
        low, high = told or (0.0, inf)
        result = policy_result(fleet, [done.summary])
        return _Tried(result, value, low, high, told is not None)

    def _values(self, run: RunSummary) -> Sequence[float]:
        """Of each job: its time, or whether that is too long."""
        waits = {TargetQuantity.WAITING, TargetQuantity.P95_WAITING}
        times = run.waiting if self.target.quantity in waits else run.responses
        if self.bar == self.target.seconds:
            return times
        return [float(each > self.target.seconds) for each in times]

    def shown(self, result: PolicyResult | None) -> float | None:
        """What the target is about, seconds."""
        if result is None:
            return None
        values = {
            TargetQuantity.MEAN: result.mean_response,
            TargetQuantity.P95: result.p95,
            TargetQuantity.WAITING: result.mean_waiting,
            TargetQuantity.P95_WAITING: result.p95_waiting,
        }
        return values[self.target.quantity]


def capacity(
    study: QueueStudy,
    kinds: tuple[JobKind, ...],
    *,
    engine: CaseEngine = map,
    tell: Callable[[str, int, int], None],
) -> Capacity | None:
    """The fewest nodes on which each policy keeps the study's target; None without a target.

    Jobs come as they do at the highest load of the study, whatever the number of nodes. Times are
    taken to fall with nodes, so that halving finds the number. The interval ends where the target
    is kept by the upper and by the lower end of what runs tell of the time: fewer nodes than the
    first would do only by chance, and more than the last are not needed.

    Args:
        study: the question.
        kinds: of jobs, where they are drawn of models.
        engine: where runs are done.
        tell: told how many policies are done.

    Raises:
        InputError: the fleet has several kinds of nodes.
    """
    if study.target is None:
        return None
    answerable(study.fleet)
    load = max(study.loads, default=None)
    long = _settled(study, kinds, load=load)
    asked = _Sizing(study=long, target=study.target, kinds=kinds, load=load, engine=engine)
    found = []
    for policy in study.policies:
        nodes = asked.fewest(policy, lambda tried: tried.value)
        told = asked.on(policy, nodes or study.target.most)
        fleet = _sized(study.fleet, nodes or study.target.most)
        found.append(
            Enough(
                policy=policy,
                nodes=nodes,
                least=asked.fewest(policy, lambda tried: tried.low),
                most=asked.fewest(policy, lambda tried: tried.high),
                sure=told.sure,
                devices=fleet.devices,
                response=asked.shown(told.result),
                utilisation=told.result.utilisation if told.result else 0.0,
                price=fleet.price or None,
            )
        )
        tell("capacities", len(found), len(study.policies))
    return Capacity(
        quantity=study.target.quantity.value,
        seconds=study.target.seconds,
        load=load,
        policies=tuple(sorted(found, key=lambda each: (each.nodes or inf, each.response or inf))),
    )


def _settled(study: QueueStudy, kinds: tuple[JobKind, ...], *, load: float | None) -> QueueStudy:
    """The study with a run that counts once the cluster has filled, and that is long enough.

    One long run: of several short ones each would have the load of the study, and none the days
    on which more comes by chance.
    """
    drawn = study.jobs
    if not isinstance(drawn, Drawn):
        return study
    sample = drawn if drawn.sweeps else replace(drawn, jobs=max(drawn.jobs, SAMPLE))
    jobs = arrivals(replace(study, jobs=sample), kinds, load=load, seed=0).jobs
    rows = sorted((job.ends_after / pace(job), job.devices) for job in jobs)
    work = list(accumulate(seconds * devices for seconds, devices in rows))
    longest = rows[bisect_left(work, SETTLED * work[-1])][0]
    before = ceil(longest * sample.jobs / jobs[-1].arrival)
    whole = min(MOST_DRAWN, before + max(LIVES * before, study.seeds * drawn.jobs))
    return replace(
        study,
        jobs=replace(drawn, jobs=whole),
        warm_up=max(study.warm_up, before / whole) if before < whole else study.warm_up,
    )


def _longer(study: QueueStudy) -> QueueStudy | None:
    """The same question about more jobs, of which as many fill the cluster; None where no more are.

    On few nodes what is waiting today hangs on what waited days ago, so that a run which tells of
    many nodes may tell nothing of these.
    """
    drawn = study.jobs
    if not isinstance(drawn, Drawn) or drawn.jobs >= MOST_DRAWN:
        return None
    jobs = min(MOST_DRAWN, LONGER * drawn.jobs)
    warm_up = study.warm_up * drawn.jobs / jobs
    return replace(study, jobs=replace(drawn, jobs=jobs), warm_up=warm_up)


def answerable(fleet: Fleet) -> None:
    """Refuse fleets of which more than a number of nodes would have to be said."""
    if len(fleet.nodes) > 1:
        raise InputError("simulation.target asks for a number of nodes; give nodes of one kind.")


def _sized(fleet: Fleet, nodes: int) -> Fleet:
    """The fleet with another number of nodes."""
    return replace(fleet, nodes=(replace(fleet.nodes[0], count=nodes),))
