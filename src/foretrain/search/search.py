"""search: which plan is best, what are the next best, and why do the others lose?

What is asked stands in the study: one size on one kind of devices, the largest size that fits, or
two kinds of devices that work together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError
from foretrain.plan.plan import Plan
from foretrain.plan.study import Study
from foretrain.search import robust as unsure
from foretrain.search import scenarios as futures
from foretrain.search import why_not as doubts
from foretrain.search.best_plans import best_plans
from foretrain.search.largest import Largest, largest
from foretrain.search.mixed import mixed
from foretrain.search.result import Progress, SearchResult
from foretrain.step.pair import MixedResult
from foretrain.study.coefficients import DEFAULT
from foretrain.study.plan import read_named

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
