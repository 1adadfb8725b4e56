"""search: which plan is best, what are the next best, and why do the others lose?

What is asked stands in the study: one size on one kind of devices, the largest size that fits, or
two kinds of devices that work together.

search on two kinds of devices: how they work together best, and whether that is worth it.

Answers that are kept, so that a question asked twice, or changed a little, is quick.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import process_time

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.mixed import Mixed, dollars, watts
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.legality import nothing_to_minimise, precision_problems, workload_problems
from foretrain.plan.plan import Offload, Plan
from foretrain.plan.study import Objective, Study
from foretrain.search import certainty as unsure
from foretrain.search import scenarios as futures
from foretrain.search import why_not as doubts
from foretrain.search.best_plans import best_plans
from foretrain.search.largest import Largest, largest
from foretrain.search.pairs import FoundPairs, search_mixed
from foretrain.search.result import Progress, SearchResult
from foretrain.step.pair import Alone, MixedPlan, MixedResult, price_mixed
from foretrain.step.result import Estimate
from foretrain.study.coefficients import DEFAULT
from foretrain.study.plan import read_named
from foretrain.units import WATTS

UNCOUNTED = "[job] is not counted on two kinds of devices: time to train is that of all steps"


def mixed(
    study: Study,
    *,
    coefficients: Coefficients = DEFAULT,
    keep: int = 10,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> MixedResult:
    """Find the best plan on both kinds of a mixed cluster, and on each of them alone.

    Args:
        study: with `mixed`; every plan uses all devices of both clusters.
        coefficients: how well hardware and software do.
        keep: how many of the best plans to answer with.
        progress: told how far the search has come.
        stop: asked now and then; true ends the search with what was found.

    Raises:
        InputError: the question has no answer, or the space no legal plan.
        NoPlanFits: no legal plan on both kinds fits or keeps the limits.
    """
    both = study.mixed
    if both is None:
        raise InputError("cluster.groups: is missing; name two kinds of devices.")
    wrong = [*_problems(study, both), *([f"keep must be at least 1, got {keep}."] * (keep < 1))]
    if wrong:
        raise InputError("\n".join(wrong))
    start = process_time()
    told = progress or (lambda _: None)
    found = search_mixed(
        study,
        coefficients,
        keep=keep,
        tell=lambda found: told(found.progress(study.objective)),
        stop=stop or (lambda: False),
    )
    if not found.best:
        raise _nothing(study, both, found)
    # The best plans with their steps played, in order.
    played = [price_mixed(study, each.plan, coefficients) for each in found.best]
    plans = sorted(played, key=lambda each: (_value(study, each), each.memory, str(each.plan)))
    one, two = (_alone(study, cluster, coefficients) for cluster in both.kinds)
    # Value and cluster of the better kind alone; None where neither suffices.
    known = ((each.estimate, each.cluster) for each in (one, two))
    values = [(_value(study, plan), cluster) for plan, cluster in known if plan is not None]
    rival = min(values, default=None)
    return MixedResult(
        objective=study.objective,
        best=plans[0],
        plans=tuple(plans),
        alone=(one, two),
        gain=None if rival is None else 1.0 - _value(study, plans[0]) / rival[0],
        rival=None if rival is None else rival[1],
        space=found.space,
        priced=found.priced,
        excluded_by_bound=found.excluded,
        rejected=dict(found.rejected),
        seconds=process_time() - start,
        proven_optimal=found.complete,
        assumed=(*study.assumed, *([UNCOUNTED] if study.job else [])),
    )


def _value(study: Study, plan: MixedPlan | Estimate) -> float:
    """What is minimised; `_problems` refuses what is not known."""
    match study.objective:
        case Objective.TIME:
            found: float | None = plan.step_time
        case Objective.COST:
            found = plan.cost_per_step
        case Objective.ENERGY:
            found = plan.energy_per_step
        case Objective.MEMORY:
            found = plan.memory.total if isinstance(plan, Estimate) else plan.memory
    assert found is not None, "an objective that cannot be computed was not refused"
    return found


def _alone(study: Study, cluster: Cluster, coefficients: Coefficients) -> Alone:
    """The best plan on one kind, or why there is none."""
    question = replace(study, cluster=cluster, mixed=None)
    estimate, reason = None, None
    try:
        estimate = best_plans(question, coefficients=coefficients, keep=1).best.estimate
    except (InputError, NoPlanFits) as error:
        reason = str(error)
    return Alone(cluster=cluster.name, devices=cluster.devices, estimate=estimate, reason=reason)


def _problems(study: Study, both: Mixed) -> Iterator[str]:
    """Why the question has no answer."""
    for cluster in both.kinds:
        yield from precision_problems(study.workload, cluster)
    # Replicas of two kinds need not divide the batch evenly.
    yield from workload_problems(study.workload, replace(study.space, data=None))
    if study.space.offload != (Offload.NONE,):
        yield "plan.offload: is not searched on two kinds of devices; leave it out."
    if study.maximise is not None:
        yield "search.maximise: is not searched on two kinds of devices; leave it out."
    yield from _limit_problems(study, both)


def _limit_problems(study: Study, both: Mixed) -> Iterator[str]:
    """Why an objective or a limit cannot be computed or kept on both kinds."""
    limit, power = study.limit, watts(both)
    if dollars(both) is None and (study.objective is Objective.COST or limit.cost is not None):
        yield "search: cost needs the price of both groups, such as price = '2.5 USD/h'."
    if power is None and (study.objective is Objective.ENERGY or limit.power is not None):
        yield "search: energy and power need node_power of both groups, such as '6.5 kW'."
    yield from nothing_to_minimise(both.kinds, study.objective)
    if limit.devices is not None and limit.devices < both.devices:
        yield f"search.limit.devices: {limit.devices} is below the {both.devices} of both groups."
    if limit.power is not None and power is not None and limit.power < power:
        yield f"search.limit.power: both groups draw {WATTS.write(power)}."
    for name in ("cost", "deadline"):
        if getattr(limit, name) is not None and study.workload.samples is None:
            yield f"search.limit.{name}: needs workload.amount: how much to train."


def _nothing(study: Study, both: Mixed, found: FoundPairs) -> NoPlanFits | InputError:
    """The error of a search that found no plan on both kinds."""
    if not found.complete:
        return NoPlanFits("the search was stopped before it found a plan that fits.")
    if found.rejected:
        reasons = ", ".join(f"{many:,} by {reason}" for reason, many in found.rejected.items())
        return NoPlanFits(
            f"no plan on both kinds fits: all {found.space:,} legal plans are refused ({reasons})."
        )
    one, two = (cluster.devices for cluster in both.kinds)
    return InputError(
        f"the space has no legal plan for {study.workload.model.name} on {one} and {two} devices "
        "of two kinds: both must be whole numbers of replicas (tensor x context x pipeline), or "
        "of stages (tensor x context x data). Free a key of [plan], or change batch or nodes."
    )


Answer = SearchResult | Largest | MixedResult
"""Of a study's plans; of one that maximises a size; of one with two kinds of devices."""


def search(
    study: Study,
    *,
    coefficients: Coefficients = DEFAULT,
    keep: int = 10,
    why_not: Sequence[str | Plan] = (),
    robust: bool = False,
    exhaustive: bool = False,
    known: Sequence[Plan] = (),
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Answer:
    """Find what a study asks for: its best plans, the largest size, or how two kinds share work.

    Args:
        study: workload, what may be rented, the space, the objective and limits; what it maximises,
            its two kinds of devices, its scenarios.
        coefficients: how well hardware and software do.
        keep: how many of the best plans to answer with.
        why_not: plans of which to say why they are not the best: a plan, or a text that names one
            ("tensor=8 recompute=full", "tp8", a line of a ranking).
        robust: whether to say how far from the best each plan may be while a coefficient is unsure.
        exhaustive: whether to price every plan instead of those that no bound excludes; the answer
            is the same.
        known: plans that may be good, such as `shown` of the answer to a similar question; the
            search is quicker with them, and the answer is the same.
        progress: told now and then how far the search has come.
        stop: asked now and then; true ends the search with what was found.

    Raises:
        InputError: the question has no answer, or the space no legal plan.
        NoPlanFits: no legal plan fits, with the nearest miss, or none keeps the limits.
    """
    besides = {"robust": robust, "exhaustive": exhaustive, "why_not": bool(why_not)}
    if study.maximise is not None:
        _refuse(besides, "search.maximise asks about all sizes")
        return largest(study, coefficients=coefficients, keep=keep, progress=progress, stop=stop)
    if study.mixed is not None:
        _refuse(besides, "cluster.groups names two kinds")
        return mixed(study, coefficients=coefficients, keep=keep, progress=progress, stop=stop)
    for text in why_not:
        if isinstance(text, str):
            read_named(text, where="why_not")
    found = best_plans(
        study,
        coefficients=coefficients,
        keep=keep,
        exhaustive=exhaustive,
        known=known,
        progress=progress,
        stop=stop,
    )
    compared = None
    if study.scenarios:
        compared = futures.scenarios(
            study, coefficients=coefficients, keep=keep, given=found, progress=progress, stop=stop
        )
    return replace(
        found,
        scenarios=compared,
        robust=unsure.robust(study, found, coefficients=coefficients) if robust else None,
        why_not=tuple(
            doubts.why_not(study, each, answer=found, coefficients=coefficients) for each in why_not
        ),
    )


def _refuse(besides: Mapping[str, bool], why: str) -> None:
    """Refuse what has no meaning for a study."""
    given = [name for name, present in besides.items() if present]
    if given:
        names = ", ".join(given)
        raise InputError(
            f"{names}: only for one size on one kind of devices, but {why}. Leave one out."
        )


Question = tuple[Study, Coefficients, int]


@dataclass(slots=True, kw_only=True)
class Answers:
    """Answers of searches by all that was asked; a new search starts from the one before.

    Attributes:
        most: how many are kept; those that were asked for least recently go.
        kept: the answers, the most recent last.
    """

    most: int = 64
    kept: OrderedDict[Question, Answer] = field(default_factory=OrderedDict)

    def search(
        self, study: Study, *, coefficients: Coefficients = DEFAULT, keep: int = 10
    ) -> Answer:
        """What `search` answers, at once if it was asked before."""
        question = (study, coefficients, keep)
        if question not in self.kept:
            last = next(reversed(self.kept.values()), None)
            known = last.shown if isinstance(last, SearchResult) else ()
            self.kept[question] = search(study, coefficients=coefficients, keep=keep, known=known)
        self.kept.move_to_end(question)
        while len(self.kept) > self.most:
            self.kept.popitem(last=False)
        return self.kept[question]
