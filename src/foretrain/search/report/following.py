"""What to ask after an answer: commands in which {study} stands for the question."""

from __future__ import annotations

from foretrain.plan.study import Study
from foretrain.search.explain.explained import Explained
from foretrain.search.export import able, where_best
from foretrain.search.result import SearchResult
from foretrain.show.table import Fact
from foretrain.show.words import percent


def after_search(study: object, answer: object) -> tuple[Fact, ...]:
    """Of what a search proposes: what is safer, why it is as it is, why not another, how to run."""
    assert isinstance(answer, SearchResult), "another answer than that of a search"
    assert isinstance(study, Study), "another question than that of a search"
    return (
        *_safer(answer),
        Fact(label="Explain", text="foretrain explain {study}"),
        Fact(label="Why not", text="foretrain search {study} --why-not tp8"),
        *_export(study, answer),
    )


def _export(study: Study, answer: SearchResult) -> tuple[Fact, ...]:
    """The files of the best plan, for a trainer that can be told it."""
    trainer = able(where_best(study, answer), answer.best.estimate.plan)
    if trainer is None:
        return ()
    return (Fact(label="Export", text=f"foretrain export {{study}} --to {trainer.name} --search"),)


def _safer(answer: SearchResult) -> tuple[Fact, ...]:
    """The plan that surely fits, where the first is not that one."""
    named = [each for each in answer.plans if "safest" in each.name]
    if not named or named[0] is answer.plans[0]:
        return ()
    safest = named[0]
    place = answer.plans.index(safest) + 1
    likely = percent(safest.estimate.memory.probability_fits)
    return (Fact(label="Safer", text=f"plan {place}, which fits with {likely}"),)


def after_explain(_study: object, answer: object) -> tuple[Fact, ...]:
    """Of a plan that was explained: is there a better one, and how does it go?"""
    assert isinstance(answer, Explained), "another answer than an explanation"
    best = Fact(label="Search", text="foretrain search {study}", more="leave plan keys out")
    return (
        *((best,) * (not answer.proposed)),
        Fact(label="All of it", text="foretrain explain {study} --more"),
    )
