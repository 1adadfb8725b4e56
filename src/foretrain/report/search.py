"""The report of `search`: the best plan in words, its rivals, and why the rest lost."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Group, RenderableType
from rich.padding import Padding

from foretrain.plan.study import Objective, Study
from foretrain.report import ranking, terminal
from foretrain.report.estimate import takes
from foretrain.report.fact import Fact
from foretrain.report.facts import TIGHT, caution, question, rented
from foretrain.report.rent import home
from foretrain.report.sizes import MOST_SIZES, claim, sizes
from foretrain.report.words import LEAST, count, percent, sentences, written
from foretrain.results.search import SearchResult
from foretrain.units import BYTES, SECONDS

SHOWN_PARETO = 8


def search_text(study: Study, result: SearchResult) -> Group:
    """What the terminal shows of a search."""
    return Group(
        terminal.facts(question(study)),
        terminal.heading(f"Best plan: {result.best.plan}"),
        Padding("\n".join(sentences(result.best.plan, study.workload)), (0, 0, 1, 2)),
        terminal.facts(rented(study, result.best)),
        takes(home(study, result.best), result.best.estimate),
        *_sizes(study, result),
        *_rivals(result),
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


def _rivals(result: SearchResult) -> tuple[RenderableType, ...]:
    content = ranking.ranking(result.plans)
    return (
        terminal.heading(f"The {count(len(result.plans), 'best plan')}"),
        terminal.table(content, best=0),
        terminal.legend(content.columns),
    )


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
