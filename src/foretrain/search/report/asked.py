"""The report of what `search` answers, whichever of its questions a study asks."""

from __future__ import annotations

from rich.console import Group

from foretrain.plan.study import Study, sized
from foretrain.search.largest import Largest
from foretrain.search.report.largest import largest_section, largest_text
from foretrain.search.report.mixed import mixed_text
from foretrain.search.report.page import search_page
from foretrain.search.report.robust import robust_section, robust_text
from foretrain.search.report.scenarios import scenarios_section, scenarios_text
from foretrain.search.report.search import search_text
from foretrain.search.report.why_not import why_not_section, why_not_text
from foretrain.search.result import SearchResult
from foretrain.show.document import Provenance
from foretrain.step.pair import MixedResult

Answer = SearchResult | Largest | MixedResult


def asked_text(study: Study, answer: Answer) -> Group:
    """What the terminal shows."""
    if isinstance(answer, Largest):
        return largest_text(sized(study, answer.size), answer)
    if isinstance(answer, MixedResult):
        return mixed_text(study, answer)
    return Group(
        search_text(study, answer),
        *([scenarios_text(answer.scenarios)] if answer.scenarios else []),
        *([robust_text(answer.robust)] if answer.robust else []),
        *(why_not_text(study, each) for each in answer.why_not),
    )


def asked_page(study: Study, answer: Answer, provenance: Provenance) -> str:
    """The page; there is none of two kinds of devices."""
    assert not isinstance(answer, MixedResult), "a page of two kinds of devices was not refused"
    if isinstance(answer, Largest):
        there = sized(study, answer.size)
        more = [largest_section(there, answer)]
        return search_page(there, answer.search, provenance, more=more)
    sections = [
        scenarios_section(answer.scenarios) if answer.scenarios else None,
        robust_section(answer.robust) if answer.robust else None,
        *(
            why_not_section(study, each, number=number)
            for number, each in enumerate(answer.why_not, start=1)
        ),
    ]
    return search_page(study, answer, provenance, more=sections)


def cut_short(answer: Answer) -> bool:
    """Whether somebody wanted the answer before all plans were looked at."""
    if isinstance(answer, MixedResult):
        return not answer.proven_optimal
    return bool((answer.search if isinstance(answer, Largest) else answer).unseen)
