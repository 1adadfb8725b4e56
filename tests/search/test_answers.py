"""Answers that are kept."""

from dataclasses import replace

import pytest
from tests.builders import search_result
from tests.small import gpt_study

from foretrain.plan.study import Objective
from foretrain.search import search as answers
from foretrain.search.search import Answers, search
from foretrain.study.coefficients import DEFAULT


def batch(samples):
    study = gpt_study()
    return replace(study, workload=replace(study.workload, global_batch=samples))


@pytest.fixture
def asked(monkeypatch):
    """What searches are asked, which answer without physics."""
    questions = []

    def answer(study, *, coefficients, keep, known):
        questions.append((study.workload.global_batch, keep, len(known)))
        return search_result(keep=keep)

    monkeypatch.setattr(answers, "search", answer)
    return questions


def test_equal_question_has_the_answer_that_is_kept(asked):
    kept = Answers()
    assert kept.search(batch(16)) is kept.search(batch(16))
    assert len(asked) == 1


def test_question_that_differs_in_anything_is_asked(asked):
    kept = Answers()
    kept.search(batch(16))
    kept.search(batch(32))
    kept.search(batch(16), keep=3)
    kept.search(replace(batch(16), objective=Objective.COST))
    kept.search(batch(16), coefficients=replace(DEFAULT, name="other"))
    assert len(asked) == 5


def test_next_search_starts_from_the_plans_of_the_one_before(asked):
    kept = Answers()
    kept.search(batch(16))
    kept.search(batch(32))
    assert [known for _, _, known in asked] == [0, len(search_result().shown)]


def test_answers_that_were_asked_for_least_recently_go(asked):
    kept = Answers(most=2)
    for samples in (16, 32, 16, 64):
        kept.search(batch(samples))
    assert [study.workload.global_batch for study, _, _ in kept.kept] == [16, 64]


def test_answers_are_those_of_a_search():
    kept = Answers()
    for samples in (16, 32, 48):
        answer = kept.search(batch(samples))
        assert (answer.ranking, answer.pareto) == (
            search(batch(samples)).ranking,
            search(batch(samples)).pareto,
        )
