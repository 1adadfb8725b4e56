"""Answers that are kept, so that a question asked twice, or changed a little, is quick."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.study import Study
from foretrain.search.result import SearchResult
from foretrain.search.search import Answer, search
from foretrain.study.coefficients import DEFAULT

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
