"""Proposals: different plans, each with what speaks for it."""

from itertools import combinations
from math import log, log1p

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small import gpt_study

from foretrain.coefficients.uncertainty import PlanErrors
from foretrain.plan.plan import Plan
from foretrain.search.candidate import Candidate
from foretrain.search.certainty import distance
from foretrain.search.proposals import FEWEST, MOST, Rival, picks

ERRORS = PlanErrors(alike=0.02, apart=0.05)
CLUSTER = gpt_study().cluster


def made(plan, value, *, share=0.5, complexity=1, fits=0.99, practised=False, cost=None):
    candidate = Candidate(
        plan=plan, cluster=CLUSTER, value=value, step_time=value, memory=share * 80e9
    )
    return Rival(
        candidate=candidate,
        value=value,
        complexity=complexity,
        share=share,
        fits=fits,
        practised=practised,
        cost=value if cost is None else cost,
    )


PLANS = [
    Plan(data=data, tensor=16 // data, micro_batch=size)
    for data in (1, 2, 4, 8)
    for size in (1, 2, 4)
]
FAST = made(PLANS[0], 1.0)


def names(picked):
    return {name: it.found for it in picked.plans for name in it.names}


def test_of_equal_plans_the_simplest_leads_then_the_one_that_is_surest_to_fit():
    plain = made(PLANS[1], 1.01, complexity=0, share=0.9, fits=0.96)
    roomy = made(PLANS[2], 1.012, complexity=0, share=0.4, fits=0.999)
    told = picks([FAST, plain, roomy], ERRORS, money=False)
    [only] = told.plans
    assert only.found is roomy
    assert set(only.members) == {FAST, plain, roomy}
    assert {"fastest", "simplest", "least memory"} <= set(only.names)


def test_of_plans_as_simple_and_as_sure_one_that_people_run_leads():
    known = made(PLANS[1], 1.01, practised=True)
    [only] = picks([FAST, known], ERRORS, money=False).plans
    assert only.found is known
    surer = made(PLANS[2], 1.012, fits=0.999)
    [only] = picks([FAST, known, surer], ERRORS, money=False).plans
    assert only.found is surer


def test_plan_that_costs_visibly_more_is_shown_for_what_it_has():
    simple = made(PLANS[3], 1.2, complexity=0, share=0.6)
    lean = made(PLANS[6], 1.45, complexity=2, share=0.1)
    told = names(picks([FAST, simple, lean], ERRORS, money=False))
    assert (told["fastest"], told["simplest"], told["least memory"]) == (FAST, simple, lean)


def test_safer_plan_is_shown_where_it_adds_to_the_probability_that_it_fits():
    risky = made(PLANS[0], 1.0, fits=0.95, share=0.9)
    safe = made(PLANS[5], 1.09, fits=0.999, share=0.5)
    assert names(picks([risky, safe], ERRORS, money=False))["safest"] is safe
    alike = made(PLANS[5], 1.09, fits=0.955, share=0.89)
    assert names(picks([risky, alike], ERRORS, money=False))["safest"] is risky


def test_cheapest_plan_is_shown_where_plans_differ_in_what_a_second_costs():
    cheap = made(PLANS[7], 1.9, cost=0.2)
    assert names(picks([FAST, cheap], ERRORS, money=True))["cheapest"] is cheap
    assert "cheapest" not in names(picks([FAST, cheap], ERRORS, money=False))


founds = st.lists(
    st.builds(
        made,
        st.sampled_from(PLANS),
        st.floats(1.0, 3.0),
        share=st.floats(0.05, 0.95),
        complexity=st.integers(0, 5),
        fits=st.floats(0.95, 1.0),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda each: each.plan,
)


@given(founds)
def test_no_two_that_are_shown_are_equal_and_the_first_is_of_the_class_of_the_best(every):
    told = picks(every, ERRORS, money=False).plans
    assert 1 <= len(told) <= MOST
    assert len({id(it.found) for it in told}) == len(told)
    for one, other in combinations([it.found for it in told], 2):
        apart = abs(log(one.value / other.value))
        assert apart > log1p(distance(ERRORS, one.plan, other.plan))
    best = min(every, key=lambda each: each.value)
    first = told[0].found
    assert log(first.value / best.value) <= log1p(distance(ERRORS, first.plan, best.plan))
    if len(told) < FEWEST:
        shown = [it.found for it in told]
        assert all(
            any(
                abs(log(each.value / it.value)) <= log1p(distance(ERRORS, each.plan, it.plan))
                for it in shown
            )
            for each in every
        )


@given(founds)
def test_classes_share_no_plan_and_no_more_than_a_whole_probability(every):
    told = picks(every, ERRORS, money=False).plans
    members = [id(each) for it in told for each in it.members]
    assert len(members) == len(set(members))
    assert all(it.found in it.members for it in told)
    assert sum(it.probability for it in told) <= 1.0 + 1e-9


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_are_shown_than_were_asked_for(most):
    every = [made(plan, 1.0 + 0.3 * place) for place, plan in enumerate(PLANS)]
    assert len(picks(every, ERRORS, money=False, most=most).plans) == most
