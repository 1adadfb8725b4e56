"""Sizes: each number of nodes worth renting, how fast it is and what that costs.

The report of `search`: the best plan in words, its rivals, and why the rest lost.

The progress of a search in one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding

from foretrain.plan.study import Objective, Study
from foretrain.search.report import ranking
from foretrain.search.result import ParetoPoint, Progress, SearchResult
from foretrain.show import terminal
from foretrain.show.table import Column, Fact, Table
from foretrain.show.words import LEAST, SPENT, count, percent, sentences, written
from foretrain.step.facts import TIGHT, caution, question, rented
from foretrain.step.rent import home
from foretrain.step.report import takes
from foretrain.units import BYTES, DOLLARS, JOULES, SECONDS, Quantity

MOST_SIZES: Final = 8
"""Rows that a terminal shows."""


def sizes(study: Study, result: SearchResult, *, most: int | None = None) -> Table:
    """The fastest plan of every size that no other size beats in time and cost, fastest first.

    Args:
        study: the question; the table is empty where it leaves no choice.
        result: the answer, whose front holds these plans.
        most: how many sizes to show, the first and the last among them; None for all.
    """
    of, steps = _whole(study)
    columns = (
        Column(name="cluster"),
        Column(name="nodes", number=True),
        Column(name="devices", number=True, spare=2),
        Column(name=f"time {of}", meaning="steps alone", number=True),
        Column(name=f"cost {of}", number=True),
        Column(name=f"energy {of}", number=True, spare=1),
    )
    devices = {offer.cluster.name: offer.cluster.node_devices for offer in study.offers}
    rows = tuple(
        (
            point.cluster,
            f"{point.devices // devices[point.cluster]:,}",
            f"{point.devices:,}",
            written(SECONDS, steps * point.step_time),
            _spent(point.cost_per_step, steps, DOLLARS),
            _spent(point.energy_per_step, steps, JOULES),
        )
        for point in (_some(worth(result.pareto), most) if study.offers else ())
    )
    told = [any(texts) for texts in zip(*rows, strict=True)]
    kept = tuple(tuple(compress(row, told)) for row in rows)
    return Table(columns=tuple(compress(columns, told)), rows=kept)


def claim(result: SearchResult) -> str:
    """What distinguishes the sizes of the table."""
    less = "cheaper" if _priced(result.pareto) else "done in fewer device-hours"
    return f"no other size is both faster and {less} than one of these"


def worth(front: Sequence[ParetoPoint]) -> tuple[ParetoPoint, ...]:
    """The fastest plan of each size, but of sizes that cost more than a faster one.

    Where a cluster has no price, devices count in its place.
    """
    money = _priced(front)
    found: dict[tuple[str, int], ParetoPoint] = {}
    cheapest = float("inf")
    for point in sorted(front, key=lambda point: point.step_time):
        size = (point.cluster, point.devices)
        spent = float(point.cost_per_step or 0) if money else point.devices * point.step_time
        if size not in found and spent < cheapest:
            cheapest, found[size] = spent, point
    return tuple(found.values())


def _priced(front: Sequence[ParetoPoint]) -> bool:
    return all(point.cost_per_step is not None for point in front)


def _some(points: Sequence[ParetoPoint], most: int | None) -> Sequence[ParetoPoint]:
    """At most so many, spread evenly from the first to the last."""
    if most is None or len(points) <= most:
        return points
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]


def _whole(study: Study) -> tuple[str, float]:
    """What amounts are of, and how many steps that is."""
    workload = study.workload
    if workload.samples is None:
        return "per step", 1.0
    return "to train", workload.samples / workload.global_batch


def _spent(amount: float | None, steps: float, quantity: Quantity) -> str:
    return "" if amount is None else written(quantity, steps * amount)


SHOWN_PARETO = 8


def search_text(study: Study, result: SearchResult) -> Group:
    """What the terminal shows of a search."""
    content = ranking.ranking(result.plans)
    rivals = (
        terminal.heading(f"The {count(len(result.plans), 'best plan')}"),
        terminal.table(content, best=0),
        terminal.legend(content.columns),
    )
    return Group(
        terminal.facts(question(study)),
        terminal.heading(f"Best plan: {result.best.plan}"),
        Padding("\n".join(sentences(result.best.plan, study.workload)), (0, 0, 1, 2)),
        terminal.facts(rented(study, result.best)),
        takes(home(study, result.best), result.best.estimate),
        *_sizes(study, result),
        *rivals,
        *_front(result),
        terminal.heading(verdict(result)),
        terminal.note(effort(study, result)),
        *([terminal.table(ranking.rejected(result))] if result.rejected else []),
        "",
        terminal.facts(cautions(result)),
    )


def cautions(result: SearchResult) -> tuple[Fact, ...]:
    """What to doubt about the best plan, and which plan to take where memory is too tight."""
    return tuple(
        replace(fact, more=_roomier(result)) if fact.text.startswith(TIGHT) else fact
        for fact in caution(result.best.estimate)
    )


def _roomier(result: SearchResult) -> str:
    """The first of the best plans whose memory surely suffices, if there is one."""
    for place, entry in enumerate(result.plans, start=1):
        if not any(text.startswith(TIGHT) for text in entry.estimate.warnings):
            return f"plan {place} needs {written(BYTES, entry.estimate.memory.total)}"
    return ""


def verdict(result: SearchResult) -> str:
    """Whether the best plan is known to be the best; of a search that was cut short, how nearly.

    A search that was cut short ranks by the closed form alone, of which its gap is a bound, so that
    both speak of the same seconds.
    """
    least, space = LEAST[result.objective], count(result.space, "plan")
    how = "" if result.objective is Objective.MEMORY else " by the closed form"
    if not result.unseen:
        return f"Proven{how}: of all {space} this one has the {least}."
    if result.proven_optimal:
        return f"Cut short, yet proven{how}: of all {space} this one has the {least}."
    seen = percent(1.0 - result.unseen / result.space)
    return (
        f"Cut short after {seen} of {space}: of these this one has the {least}{how}; "
        f"the best plan may be at most {percent(result.gap)} better."
    )


def effort(study: Study, result: SearchResult) -> str:
    """What was priced and what was refused, and how fast."""
    bound = f", {result.excluded_by_bound:,} excluded by a bound" * bool(result.excluded_by_bound)
    return (
        f"{count(result.priced, 'plan')} priced{bound}, "
        f"{sum(result.rejected.values()):,} refused; "
        f"{written(SECONDS, result.seconds)} of processor time{_rate(study, result)}"
    )


def _rate(study: Study, result: SearchResult) -> str:
    """Plans priced per second; silent with a limit, which refuses plans after they are priced."""
    limited = study.limit.cost is not None or study.limit.deadline is not None
    if limited or not result.seconds:
        return ""
    return f", {result.priced / result.seconds:,.0f} plans priced/s"


def _sizes(study: Study, result: SearchResult) -> tuple[RenderableType, ...]:
    content = sizes(study, result, most=MOST_SIZES)
    if len(content.rows) < 2:
        return ()
    return (
        terminal.heading(f"How much to rent: {claim(result)}"),
        terminal.table(content),
    )


def _front(result: SearchResult) -> tuple[RenderableType, ...]:
    content = ranking.pareto(result.pareto, most=SHOWN_PARETO)
    more = len(result.pareto) - SHOWN_PARETO
    return (
        terminal.heading(
            "Trade-offs: no other plan beats these in time, memory, cost and energy at once"
        ),
        terminal.table(content),
        *([terminal.note(f"... and {more} more: see --json or --html")] if more > 0 else []),
    )


def progress_text(progress: Progress) -> str:
    """The best so far, how much better another plan may be, and the plan, most telling first."""
    if progress.best is None or progress.plan is None:
        return f"{count(progress.settled, 'plan')}, none that fits yet"
    best = f"best so far {written(SPENT[progress.objective], progress.best)}"
    return f"{best}{_better(progress.gap)}: {progress.plan}"


def _better(gap: float | None) -> str:
    if gap is None:
        return ""
    return f", at most {percent(gap)} better exists" if gap else ", nothing better exists"
