"""What `foretrain search` says about other futures: scenarios, and coefficients that are unsure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Group

    from foretrain.cli.progress import Told
    from foretrain.coefficients.coefficients import Coefficients
    from foretrain.plan.study import Study
    from foretrain.report.section import Section
    from foretrain.results.document import Plain
    from foretrain.results.robust import Robust
    from foretrain.results.scenarios import Scenarios
    from foretrain.results.search import SearchResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Futures:
    """Answers beside the best plan; None for what was not asked."""

    scenarios: Scenarios | None
    robust: Robust | None

    @property
    def document(self) -> dict[str, Plain]:
        """Their keys beside those of the search."""
        from foretrain.results.document import plain

        asked = {"scenarios": self.scenarios, "robust": self.robust}
        return {name: plain(answer) for name, answer in asked.items() if answer is not None}

    @property
    def texts(self) -> list[Group]:
        """What the terminal shows of them."""
        from foretrain.report.robust import robust_text
        from foretrain.report.scenarios import scenarios_text

        return [
            *([scenarios_text(self.scenarios)] if self.scenarios else []),
            *([robust_text(self.robust)] if self.robust else []),
        ]

    @property
    def sections(self) -> list[Section]:
        """What a page shows of them."""
        from foretrain.report.robust import robust_section
        from foretrain.report.scenarios import scenarios_section

        found = (
            scenarios_section(self.scenarios) if self.scenarios else None,
            robust_section(self.robust) if self.robust else None,
        )
        return [each for each in found if each is not None]


def futures(
    study: Study,
    answer: SearchResult,
    *,
    coefficients: Coefficients,
    keep: int,
    robust: bool,
    progress: Told | None,
    stop: Callable[[], bool],
) -> Futures:
    """Ask about the scenarios of a study, and about the coefficients if that is wanted."""
    from foretrain.verbs import robust as verb_robust
    from foretrain.verbs import scenarios as verb_scenarios

    compared = None
    if study.scenarios:
        compared = verb_scenarios.scenarios(
            study,
            coefficients=coefficients,
            keep=keep,
            given=answer,
            progress=progress,
            stop=stop,
        )
    unsure = verb_robust.robust(study, answer, coefficients=coefficients) if robust else None
    return Futures(scenarios=compared, robust=unsure)
