"""search on two kinds of devices: how they work together best, and whether that is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import process_time

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.mixed import Mixed, dollars, watts
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.legality import precision_problems, workload_problems
from foretrain.plan.plan import Offload
from foretrain.plan.study import Objective, Study
from foretrain.search.best_plans import best_plans
from foretrain.search.pairs import FoundPairs, search_mixed
from foretrain.search.result import Progress
from foretrain.step.pair import Alone, MixedPlan, MixedResult, price_mixed
from foretrain.step.result import Estimate
from foretrain.study.coefficients import DEFAULT
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
