"""search: which plan is best, what are the next best, and why do the others lose?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd
from time import process_time

import numpy as np

from foretrain.cost.coefficients import DEFAULT, Coefficients
from foretrain.cost.price import cost, energy
from foretrain.cost.setting import Setting, setting
from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.legality import (
    device_problems,
    precision_problems,
    search_problems,
    workload_problems,
)
from foretrain.plan.study import Study
from foretrain.results.search import ParetoPoint, Ranked, SearchResult
from foretrain.search.exhaustive import HOST_MEMORY, MEMORY, exhaustive
from foretrain.search.ranking import Candidate, Found, over_job_limits, value
from foretrain.units import BYTES
from foretrain.verbs.price import price_plan


def search(
    study: Study,
    *,
    coefficients: Coefficients = DEFAULT,
    keep: int = 10,
    progress: Callable[[int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """Price every legal plan of the study's space and rank those that fit.

    Args:
        study: workload, cluster, the space, the objective and limits.
        coefficients: how well hardware and software do.
        keep: how many of the best plans to answer with.
        progress: told how many plans were looked at.
        stop: asked now and then; true ends the search with what was found.

    Raises:
        InputError: the space has no legal plan, or a limit cannot be checked.
        NoPlanFits: no legal plan fits, with the nearest miss, or none keeps the limits.
    """
    _refuse(study, keep)
    start = process_time()
    priced = setting(study.workload, study.cluster, coefficients)
    found = exhaustive(
        study,
        priced,
        keep=keep,
        progress=progress or (lambda seen: None),
        stop=stop or (lambda: False),
    )
    seconds = process_time() - start
    if not found.best:
        raise _nothing(study, found)
    plans = _ranked(study, priced, found, stop=stop or (lambda: False))
    if not plans:
        raise _nothing(study, found)
    return SearchResult(
        objective=study.objective,
        best=plans[0],
        plans=plans,
        pareto=tuple(_point(study, candidate) for candidate in found.pareto),
        space=found.space,
        priced=found.priced,
        excluded_by_bound=0,
        rejected=dict(found.rejected),
        seconds=seconds,
        proven_optimal=found.complete,
    )


def _refuse(study: Study, keep: int) -> None:
    """Questions that have no answer."""
    workload, cluster = study.workload, study.cluster
    wrong = [
        *precision_problems(workload, cluster),
        *device_problems(cluster, study.space),
        *workload_problems(workload, study.space),
        *search_problems(workload, cluster, objective=study.objective, limit=study.limit),
    ]
    if not keep >= 1:
        wrong.append(f"keep must be at least 1, got {keep}.")
    if wrong:
        raise InputError("\n".join(wrong))


def _ranked(
    study: Study, setting: Setting, found: Found, *, stop: Callable[[], bool]
) -> tuple[Ranked, ...]:
    """The best plans with their estimates, the event simulation included, in order.

    The limits on the whole training are now held against whole jobs, with steps as the simulation
    moves them. Once stopped, the rest is answered by the closed form alone.
    """
    ranked = [
        Ranked(
            plan=candidate.plan,
            estimate=price_plan(
                setting,
                candidate.plan,
                assumed=study.assumed,
                played=not stop(),
                job=study.job,
            ),
        )
        for candidate in found.best
    ]
    steps = np.array([each.estimate.step_time for each in ranked])
    values = value(study, steps, np.array([candidate.memory for candidate in found.best]))
    kept = np.ones(len(ranked), bool)
    jobs = np.array([each.estimate.time_to_train for each in ranked], np.float64)
    for reason, over in over_job_limits(study, jobs).items():
        found.revoke(reason, int((kept & over).sum()))
        kept &= ~over
    order = sorted(
        (replace(candidate, value=float(values[row])).rank, row)
        for row, candidate in enumerate(found.best)
        if kept[row]
    )
    return tuple(ranked[row] for _, row in order)


def _point(study: Study, candidate: Candidate) -> ParetoPoint:
    return ParetoPoint(
        plan=candidate.plan,
        step_time=candidate.step_time,
        memory=candidate.memory,
        cost_per_step=cost(study.cluster, candidate.step_time),
        energy_per_step=energy(study.cluster, candidate.step_time),
    )


def _nothing(study: Study, found: Found) -> NoPlanFits | InputError:
    """The error of a search that found no plan."""
    if not found.space and found.complete:
        return InputError(_no_legal_plan(study))
    reasons = ", ".join(f"{count:,} by {reason}" for reason, count in found.rejected.items())
    if not found.complete:
        return NoPlanFits("the search was stopped before it found a plan that fits.")
    if found.priced:
        return NoPlanFits(
            "each of the best plans is over search.limit once its step is simulated and its whole "
            "job counted. Relax the limit, or ask for more plans with --keep."
        )
    text = f"no plan fits: all {found.space:,} legal plans are refused ({reasons})."
    if found.rejected[MEMORY] + found.rejected[HOST_MEMORY] < found.space:
        return NoPlanFits(f"{text} Relax search.limit.")
    if found.nearest is None or found.rejected[HOST_MEMORY]:
        return NoPlanFits(f"{text} Offload less, or use nodes with more memory.")
    room = study.cluster.device.memory
    return NoPlanFits(
        f"{text} Nearest miss: {found.nearest.plan} needs {BYTES.write(found.nearest.memory)} per "
        f"device, {study.cluster.device.name} has {BYTES.write(room)}. "
        "Use more nodes, a smaller model or a device with more memory."
    )


def _no_legal_plan(study: Study) -> str:
    """Why the degrees cannot multiply to the device count."""
    model, devices = study.workload.model, study.cluster.devices
    units = gcd(*(o.units for _, o in model.operators if o.units and not o.experts))
    axes, context, experts = "data x tensor x pipeline", "", ""
    if model.attends:
        axes = "data x tensor x context x pipeline"
        context = f"2 x context divides the {model.tokens} tokens of a sample, "
    if model.experts:
        count = gcd(*(o.experts for _, o in model.operators if o.experts))
        experts = f", and expert divides the {count} experts and data x tensor x context"
    return (
        f"the space has no legal plan for {model.name} on {devices} devices: {axes} must be "
        f"{devices}, where tensor divides {units}, {context}pipeline divides the "
        f"{model.cuttable_layers} layers and data divides the {study.workload.global_batch} "
        f"samples of workload.global_batch{experts}. Free a key of [plan], or change batch or "
        "nodes."
    )
