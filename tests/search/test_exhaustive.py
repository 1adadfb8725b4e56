"""Exhaustive search: what a loop over single estimates finds, no more and no less."""

from dataclasses import replace
from functools import cache, partial
from itertools import product
from statistics import median, median_low

import pytest
from tests.examples import MORE, every
from tests.small import (
    CLASSIC,
    expert_study,
    gpt_study,
    listed,
    llama_study,
    long_study,
    loose,
    resnet_study,
    saving,
    with_memory,
)

from foretrain.cluster.offer import whole
from foretrain.plan.enumeration import plan_tables
from foretrain.plan.plan import Recompute, Sends, Sharding
from foretrain.plan.study import Objective
from foretrain.search import exhaustive
from foretrain.search.candidate import spending
from foretrain.search.found import Front, Incumbents
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.operator import Attention

EXPERTS = expert_study()
QUESTIONS = {
    "gpt": gpt_study(
        space=replace(
            CLASSIC, micro_batch=(2,), sends=(Sends.OVERLAPPED,), attention=(Attention.FLASH,)
        )
    ),
    "llama": llama_study(
        space=replace(CLASSIC, micro_batch=(3,), sharding=(Sharding.OPTIMIZER,), pipeline=(2, 3))
    ),
    "resnet": resnet_study(space=replace(CLASSIC, attention=None, sharding=(Sharding.OPTIMIZER,))),
    "pictures": resnet_study(
        space=replace(
            CLASSIC, attention=None, context=None, micro_batch=(4,), sharding=(Sharding.NONE,)
        )
    ),
    "experts": expert_study(space=replace(EXPERTS.space, sharding=(Sharding.GRADIENTS,))),
    "long": long_study(),
}


FEWER = {
    "gpt": {"tensor": (1, 4)},
    "llama": {"recompute": (Recompute.FULL,)},
    "resnet": {"micro_batch": (2, 8)},
    "pictures": {"tensor": (1, 2)},
    "experts": {"micro_batch": (1,)},
    "long": {"micro_batch": (1,)},
}
"""What is asked of less where it is not the slow profile: every plan is priced alone."""

if MORE == 1:
    QUESTIONS = {
        name: replace(study, space=replace(study.space, **FEWER[name]))
        for name, study in QUESTIONS.items()
    }


QUESTIONS = {name: saving(study) for name, study in QUESTIONS.items()}

SHORT = 40


def explore(study, *, keep=10, tell=lambda found: None, stop=lambda: False):
    settings = {whole(study.cluster): setting(study.workload, study.cluster, DEFAULT)}
    found = Incumbents(keep=keep, front=Front(spending=spending(study)))
    exhaustive.every_plan(study, settings, found=found, tell=lambda: tell(found), stop=stop)
    return found


@cache
def estimates(name):
    """Every plan of a question, priced alone."""
    study = QUESTIONS[name]
    priced = setting(study.workload, study.cluster, DEFAULT)
    return [price_plan(priced, plan, played=False) for plan in listed(study)]


@cache
def tight(name):
    """The question on devices that half of the plans fit on."""
    half = median_low(estimate.memory.total for estimate in estimates(name))
    return with_memory(QUESTIONS[name], half)


def fitting(name):
    room = tight(name).cluster.device.memory
    return [estimate for estimate in estimates(name) if estimate.memory.total <= room]


VALUES = {
    Objective.TIME: lambda estimate: estimate.step_time,
    Objective.COST: lambda estimate: estimate.cost_per_step,
    Objective.ENERGY: lambda estimate: estimate.energy_per_step,
    Objective.MEMORY: lambda estimate: estimate.memory.total,
}


def ranking(running, objective):
    """Plans by the documented rank: the objective, fewer devices, less memory, less time, text."""

    def rank(estimate):
        memory, seconds = estimate.memory.total, estimate.step_time
        return VALUES[objective](estimate), estimate.devices, memory, seconds, str(estimate.plan)

    return [estimate.plan for estimate in sorted(running, key=rank)]


def unbeaten(running):
    """Time and memory of the plans that no other beats, fastest first."""
    points = set(map(point, running))
    return sorted(
        (time, memory)
        for time, memory in points
        if not any(t <= time and m <= memory and (t, m) != (time, memory) for t, m in points)
    )


def trade_offs(found):
    return [(each.step_time, each.memory) for each in found.front.ranked]


def limits(name):
    """A deadline and a cost that about half, then some more of the running plans break."""
    times = [estimate.time_to_train for estimate in fitting(name)]
    costs = [estimate.cost_to_train for estimate in fitting(name)]
    return loose(deadline=median(times), cost=0.8 * median(costs))


def keeps(estimate, limit):
    return estimate.time_to_train <= limit.deadline and estimate.cost_to_train <= limit.cost


@pytest.mark.parametrize(("name", "objective"), every(5, product(QUESTIONS, Objective), slow=1))
def test_best_plans_are_those_of_a_loop_over_estimates(name, objective):
    found = explore(replace(tight(name), objective=objective), keep=25)
    assert [each.plan for each in found.best] == ranking(fitting(name), objective)[:25]
    priced = {estimate.plan: estimate for estimate in fitting(name)}
    for each in found.best:
        alone = priced[each.plan]
        assert each.value == VALUES[objective](alone)
        assert (each.step_time, each.memory) == (alone.step_time, alone.memory.total)


@pytest.mark.parametrize("name", every(2, QUESTIONS, slow=1))
def test_pareto_front_is_that_of_a_loop_over_estimates(name):
    found = explore(tight(name))
    assert trade_offs(found) == unbeaten(fitting(name))
    priced = {estimate.plan: estimate for estimate in fitting(name)}
    for each in found.front.ranked:
        alone = priced[each.plan]
        assert (each.step_time, each.memory) == (alone.step_time, alone.memory.total)
        equals = [one for one in fitting(name) if point(one) == point(alone)]
        assert str(each.plan) == min(str(one.plan) for one in equals)


def point(estimate):
    return estimate.step_time, estimate.memory.total


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_plan_is_counted_once_by_what_became_of_it(name):
    limit = limits(name)
    found = explore(replace(tight(name), limit=limit))
    late = [each for each in fitting(name) if each.time_to_train > limit.deadline]
    running = [each for each in fitting(name) if keeps(each, limit)]
    assert found.space == len(estimates(name)) == found.priced + found.rejected.total()
    assert found.priced == len(running) > 0
    assert found.rejected == {
        "device memory": len(estimates(name)) - len(fitting(name)),
        "deadline": len(late),
        "cost limit": len(fitting(name)) - len(late) - len(running),
    }


@pytest.mark.parametrize("name", every(2, QUESTIONS, slow=1))
def test_plans_over_a_limit_are_neither_ranked_nor_on_the_front(name):
    limit = limits(name)
    found = explore(replace(tight(name), limit=limit, objective=Objective.MEMORY))
    running = [each for each in fitting(name) if keeps(each, limit)]
    assert [each.plan for each in found.best] == ranking(running, Objective.MEMORY)[:10]
    assert trade_offs(found) == unbeaten(running)


@pytest.mark.parametrize("keep", [1, 2, 7, 10_000])
def test_fewer_kept_plans_are_the_first_of_many(keep):
    study = tight("resnet")
    assert explore(study, keep=keep).best == explore(study, keep=100_000).best[:keep]


@pytest.fixture
def short_tables(monkeypatch):
    """Tables of a few plans each, so that a small search has many of them."""
    monkeypatch.setattr(exhaustive, "plan_tables", partial(plan_tables, rows=SHORT))


@pytest.mark.parametrize("name", QUESTIONS)
def test_search_table_by_table_finds_the_same(name, short_tables, monkeypatch):
    many = explore(tight(name))
    monkeypatch.undo()
    one = explore(tight(name))
    assert (many.best, many.space, many.priced) == (one.best, one.space, one.priced)
    assert (many.rejected, many.front.ranked) == (one.rejected, one.front.ranked)


def test_progress_counts_up_to_the_whole_space(short_tables):
    seen = []
    found = explore(tight("llama"), tell=lambda found: seen.append(found.settled))
    assert len(seen) > 5
    assert seen == sorted(seen)
    assert seen[-1] == found.settled == found.space


def test_search_that_is_stopped_answers_with_what_it_found(short_tables):
    study = tight("llama")
    every = explore(study)
    tables = len(list(plan_tables(study.workload, study.cluster, study.space, rows=SHORT)))
    best = float("inf")
    for number in range(tables):
        answers = iter([False] * number)
        found = explore(study, stop=lambda answers=answers: next(answers, True))
        assert found.space == every.space
        assert found.complete == (found.settled == found.space)
        assert found.best == sorted(found.best, key=lambda each: each.rank)
        assert every.best[0].value <= found.best[0].value <= best
        best = found.best[0].value
    assert every.complete


def test_search_is_not_stopped_before_it_has_found_a_plan(short_tables):
    found = explore(tight("gpt"), stop=lambda: True)
    assert found.best
    assert not found.complete


def test_search_in_which_nothing_fits_looks_at_everything(short_tables):
    found = explore(with_memory(tight("llama"), 1e6), stop=lambda: True)
    assert (found.best, found.front.ranked, found.complete) == ([], [], True)
    assert found.rejected == {"device memory": len(estimates("llama"))}
