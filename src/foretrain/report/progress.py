"""The progress of a search in one line."""

from __future__ import annotations

from foretrain.report.words import SPENT, count, percent, written
from foretrain.results.search import Progress


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
