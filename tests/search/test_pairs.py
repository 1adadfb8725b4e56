"""Search on two kinds of devices."""

from dataclasses import replace

import pytest
from tests.mixed_studies import SPACE, kind, study, two
from tests.small import loose

from foretrain.plan.plan import GroupedBy
from foretrain.plan.study import Objective
from foretrain.search.pairs import search_mixed
from foretrain.study.coefficients import DEFAULT

MIXED = two(kind(1), kind(2, share=0.5))
FEW = replace(SPACE, micro_batch=(1, 2), sequence_parallel=(False,), interleaving=(1, 2))
STUDY = study(MIXED, space=FEW)
EVERY = 10**6
HAIR = 1 + 1e-9
"""So that the order in which factors are multiplied decides nothing."""


def found(question, keep=EVERY, **changes):
    options = {"tell": lambda found: None, "stop": lambda: False} | changes
    return search_mixed(question, DEFAULT, keep=keep, **options)


@pytest.fixture(scope="module")
def every():
    return found(STUDY)


def test_bound_excludes_none_of_the_best(every):
    for keep in (1, 5, 40):
        few = found(STUDY, keep)
        assert few.best == every.best[:keep]
        assert few.excluded > 0


@pytest.mark.parametrize("objective", Objective)
def test_plans_add_up(objective):
    answer = found(replace(STUDY, objective=objective), 3)
    rejected = sum(answer.rejected.values())
    assert answer.priced + answer.excluded + rejected == answer.space
    assert [each.value for each in answer.best] == sorted(each.value for each in answer.best)


def test_all_plans_are_priced_where_none_can_be_excluded(every):
    assert every.excluded == 0
    assert len(every.best) == every.priced
    assert {each.plan.groups.by for each in every.best} == set(GroupedBy)
    assert {each.plan.groups.places for each in every.best} == {(0, 1), (1, 0)}


def test_order_of_the_groups_does_not_matter():
    other = found(replace(STUDY, mixed=MIXED.swapped, cluster=MIXED.second), 1)
    assert other.best[0].step_time == found(STUDY, 1).best[0].step_time


def test_two_kinds_never_hurt_when_the_second_is_faster():
    slow = found(study(two(kind(1), kind(1, share=0.5)), space=FEW), 1).best[0]
    fast = found(study(two(kind(1), kind(1, share=0.9)), space=FEW), 1).best[0]
    assert fast.step_time < slow.step_time


def test_memory_is_held_against_the_device_of_each_kind(every):
    """With a little less memory on one kind, what filled it most is refused."""
    most = max(each.memory for each in every.best)
    small = kind(2, share=0.5)
    device = replace(small.device, memory=most * 0.999)
    tight = two(kind(1), replace(small, device=device))
    answer = found(replace(STUDY, mixed=tight))
    assert 0 < answer.rejected["device memory"] < answer.space / 4


def test_limits_refuse_plans_by_reason(every):
    middle = every.best[len(every.best) // 2]
    steps = STUDY.workload.samples / STUDY.workload.global_batch
    limit = loose(deadline=middle.step_time * steps, memory=max(e.memory for e in every.best) / 2)
    answer = found(replace(STUDY, limit=limit))
    assert set(answer.rejected) == {"deadline", "memory limit"}
    assert all(each.step_time <= middle.step_time for each in answer.best)


def spent(pair, objective):
    """What a plan on all of 4 and 8 devices is worth."""
    dollars = (4 * 2.5 + 8 * 1.25) / 3600
    return {
        Objective.TIME: pair.step_time,
        Objective.COST: dollars * pair.step_time,
        Objective.ENERGY: (1 + 2) * 5_000.0 * pair.step_time,
        Objective.MEMORY: pair.memory,
    }[objective]


@pytest.mark.parametrize("objective", Objective)
def test_plans_are_worth_what_the_objective_says_and_the_best_have_the_least(every, objective):
    best = found(replace(STUDY, objective=objective), 40).best
    least = sorted(spent(each, objective) for each in every.best)[:40]
    assert [each.value for each in best] == pytest.approx(least)
    assert [each.value for each in best] == pytest.approx([spent(each, objective) for each in best])


@pytest.mark.parametrize("place", [3, 100])
def test_just_the_plans_within_every_limit_are_ranked(every, place):
    steps = STUDY.workload.samples / STUDY.workload.global_batch
    last = every.best[place]
    limits = {
        "deadline": (loose(deadline=last.step_time * steps * HAIR), Objective.TIME),
        "cost limit": (loose(cost=spent(last, Objective.COST) * steps * HAIR), Objective.COST),
        "memory limit": (loose(memory=last.memory * HAIR), Objective.MEMORY),
    }
    for reason, (limit, objective) in limits.items():
        answer = found(replace(STUDY, limit=limit))
        most = spent(last, objective) * HAIR
        kept = [each.plan for each in every.best if spent(each, objective) <= most]
        assert [each.plan for each in answer.best] == kept
        assert answer.rejected == {reason: every.space - len(kept)}


def with_memory(cluster, memory):
    return replace(cluster, device=replace(cluster.device, memory=memory))


@pytest.mark.parametrize("place", [3, 50, 100, 150])
def test_just_the_plans_that_fit_on_both_kinds_are_ranked(every, place):
    most = every.best[place].memory
    tight = two(with_memory(MIXED.first, most), with_memory(MIXED.second, most))
    answer = found(replace(STUDY, mixed=tight, cluster=tight.first))
    kept = [each.plan for each in every.best if each.memory <= most]
    assert 0 < len(kept) < len(every.best)
    assert [each.plan for each in answer.best] == kept
    assert answer.rejected == {"device memory": every.space - len(kept)}


def test_search_that_is_stopped_says_so():
    answer = found(STUDY, 3, stop=lambda: True)
    assert not answer.complete
    assert answer.best
