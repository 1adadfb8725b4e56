"""The verb `robust`: what the best plans lose while one coefficient is not what was thought."""

from dataclasses import replace

import pytest
from tests.small import gpt_study, on_ethernet, with_memory

from foretrain.coefficients.coefficients import names
from foretrain.plan.study import Objective
from foretrain.search.certainty import robust
from foretrain.search.search import search
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT, SHIPPED

STUDY = on_ethernet(gpt_study())

OF_MEMORY = {"memory.reserve", "memory.fragmentation", "memory.temporaries"}


@pytest.fixture(scope="module")
def searched():
    return search(STUDY, keep=4)


@pytest.fixture(scope="module")
def answer(searched):
    return robust(STUDY, searched)


def test_plans_are_those_of_the_search(searched, answer):
    assert answer.plans == tuple(each.plan for each in searched.plans)
    assert len(answer.worst) == len(answer.plans)


def test_some_plan_is_the_best_under_every_end(answer):
    for swing in answer.swings:
        assert min(each for each in swing.regrets if each is not None) == 0.0


def test_every_end_is_that_of_its_coefficient(answer):
    assert answer.swings
    for swing in answer.swings:
        assert swing.value == getattr(SHIPPED.known[swing.coefficient], swing.end)


def test_regrets_are_those_of_the_plans_priced_with_the_coefficient(searched, answer):
    swing = answer.swings[0]
    other = setting(
        STUDY.workload, STUDY.cluster, DEFAULT.changed({swing.coefficient: swing.value})
    )
    times = [
        price_plan(other, each.plan, played=False).step_time
        * (each.estimate.step_time / each.estimate.closed_form)
        for each in searched.plans
    ]
    assert swing.regrets == pytest.approx([time / min(times) - 1 for time in times])


def test_worst_regret_of_a_plan_is_the_largest_of_all_ends(answer):
    for place, worst in enumerate(answer.worst):
        assert worst >= max(swing.regrets[place] for swing in answer.swings)


def test_choice_has_the_least_worst_regret(answer):
    assert answer.worst[answer.choice] == min(answer.worst)
    assert answer.worst[answer.choice] <= answer.worst[0]


def test_swings_under_which_the_best_plan_loses_most_come_first(answer):
    lost = [swing.regrets[0] for swing in answer.swings]
    assert lost == sorted(lost, reverse=True)


def test_coefficient_that_no_plan_feels_is_left_out(answer):
    told = {swing.coefficient for swing in answer.swings}
    assert not told & {"uncertainty.time", "uncertainty.memory", "job.detection", "links.pcie"}


def test_coefficients_that_are_given_leave_nothing_unsure(searched):
    changed = {name: DEFAULT.value(name) * 0.999 for name in names()}
    found = robust(STUDY, searched, coefficients=DEFAULT.changed(changed))
    assert found.swings == ()


def test_single_plan_has_nothing_to_lose():
    found = robust(STUDY, search(STUDY, keep=1))
    assert (found.choice, found.worst, found.swings) == (0, (0.0,), ())


def test_plan_that_fits_no_more_has_no_regret_to_tell():
    entries = search(STUDY, keep=1).plans
    tight = with_memory(STUDY, entries[0].estimate.memory.total * 1.01)
    found = robust(tight, search(tight, keep=3))
    low = [swing for swing in found.swings if None in swing.regrets]
    assert ("memory.reserve", "high") in {(swing.coefficient, swing.end) for swing in low}
    assert {swing.coefficient for swing in low} <= OF_MEMORY
    assert None in found.worst


def test_memory_is_not_scaled_with_the_simulated_step():
    study = replace(STUDY, objective=Objective.MEMORY)
    found = search(study, keep=2)
    assert {swing.coefficient for swing in robust(study, found).swings} <= OF_MEMORY
