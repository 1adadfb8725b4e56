"""A failed start in the objective: as likely as a plan does not fit."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small import gpt_study, llama_study, with_memory

from foretrain.errors import InputError
from foretrain.plan.study import Objective
from foretrain.search.best_plans import best_plans
from foretrain.step.memory import probabilities, probability
from foretrain.study.coefficients import DEFAULT
from foretrain.study.study import study_from

ERRORS = DEFAULT.memory_errors
ASKED = {
    "workload": {"model": "llama-3-8b", "global_batch": 32, "sequence": 4096},
    "cluster": {"name": "dgx-h100", "nodes": 1},
}


@cache
def least():
    """Bytes of the plan that needs the fewest."""
    study = gpt_study(objective=Objective.MEMORY)
    return best_plans(study, keep=1).best.estimate.memory.total


def tight():
    return with_memory(gpt_study(), 1.5 * least())


@given(st.lists(st.floats(1e9, 1e12), min_size=1, max_size=5), st.floats(1.0, 3.0))
def test_probabilities_of_many_predictions_are_those_of_each(totals, spread):
    told = probabilities(np.array(totals), 80e9, ERRORS, spread=spread)
    alone = [probability(total, 80e9, ERRORS, spread=spread) for total in totals]
    assert told == pytest.approx(alone, abs=1e-12)


@pytest.mark.parametrize("seconds", [0.0, 1e4, 1e7])
@pytest.mark.parametrize("make", [gpt_study, llama_study])
def test_bounded_search_finds_what_pricing_every_plan_does(make, seconds):
    study = replace(with_memory(make(), 1.5 * least()), failed_start=seconds)
    quick, whole = (best_plans(study, exhaustive=exhaustive) for exhaustive in (False, True))
    assert quick.ranking == whole.ranking
    assert quick.plans == whole.plans


def test_dearer_a_failed_start_the_safer_the_best_plan():
    likely = [
        best_plans(replace(tight(), failed_start=seconds))
        .ranking[0]
        .estimate.memory.probability_fits
        for seconds in (0.0, 1e6, 1e8)
    ]
    assert likely == sorted(likely)
    assert likely[0] < likely[-1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"failed_start": -1.0}, "must be at least 0 s, got -1.0"),
        ({"failed_start": 1.0, "objective": Objective.MEMORY}, "is no part of memory"),
    ],
)
def test_what_cannot_count_is_refused(change, told):
    with pytest.raises(InputError, match=rf"search\.failed_start: {told}"):
        best_plans(replace(tight(), **change))


def test_failed_start_needs_an_amount():
    endless = replace(tight().workload, samples=None)
    with pytest.raises(InputError, match=r"search\.failed_start: needs workload\.amount"):
        best_plans(replace(tight(), workload=endless, failed_start=1.0))


def test_study_that_counts_failed_starts_asks_for_no_probability_unless_it_says_so():
    told = [
        study_from({**ASKED, "search": search}, "x").limit.fits
        for search in ({}, {"failed_start": "1 h"}, {"failed_start": "1 h", "fits": "80 %"})
    ]
    assert told == pytest.approx([0.95, 0.0, 0.8])


@pytest.mark.parametrize("text", ["100 %", "120 %", "-5 %"])
def test_probability_that_nothing_can_have_is_refused_with_what_is_allowed(text):
    with pytest.raises(InputError, match=r"search\.fits.*"):
        study_from({**ASKED, "search": {"fits": text}}, "x")
