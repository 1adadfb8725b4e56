"""The verb `mixed`: how two kinds of devices work together, and whether it pays."""

from dataclasses import replace

import pytest
from tests.mixed_studies import SPACE, kind, study, two
from tests.small import loose

from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.plan import GroupedBy, Offload, Sharding
from foretrain.plan.study import Maximise, Objective
from foretrain.search.search import mixed, search
from foretrain.step.estimate import estimate

MIXED = two(kind(1), kind(2, share=0.5))
FEW = replace(SPACE, micro_batch=(1, 2), sequence_parallel=(False,), interleaving=(1,))
STUDY = study(MIXED, space=FEW)


@pytest.fixture(scope="module")
def answer():
    return mixed(STUDY, keep=30)


def test_best_plan_is_the_first_of_the_plans(answer):
    assert answer.best is answer.plans[0]
    steps = [plan.step_time for plan in answer.plans]
    assert steps == sorted(steps)
    assert answer.space == answer.priced + answer.excluded_by_bound + sum(answer.rejected.values())


def test_shares_of_both_kinds_are_the_whole(answer):
    assert {plan.mode for plan in answer.plans} == set(GroupedBy)
    for plan in answer.plans:
        assert sum(each.share for each in plan.kinds) == pytest.approx(1.0)
        assert sum(each.devices for each in plan.kinds) == plan.plan.devices
        if plan.mode is GroupedBy.REPLICA:
            assert sum(each.replicas for each in plan.kinds) == plan.plan.data
        else:
            assert sum(each.stages for each in plan.kinds) == plan.plan.pipeline


def test_seconds_of_each_kind_add_up_to_the_step(answer):
    for plan in answer.plans:
        for each in plan.kinds:
            whole = each.compute + each.update + each.other_kind + each.rest
            assert whole == pytest.approx(plan.step_time)
            assert each.other_kind >= 0
            assert each.rest >= -1e-9 * plan.step_time
        assert min(each.other_kind for each in plan.kinds) == 0


def test_simulation_and_closed_form_agree(answer):
    for plan in answer.plans:
        assert plan.simulated == pytest.approx(plan.closed_form, rel=0.02)


def test_money_and_energy_are_those_of_all_devices(answer):
    best = answer.best
    assert best.cost_per_step == pytest.approx(best.step_time * 2.5 / 3600 * (4 + 8 * 0.5))
    assert best.energy_per_step == pytest.approx(best.step_time * 3 * 5_000)
    steps = STUDY.workload.samples / STUDY.workload.global_batch
    assert best.time_to_train == pytest.approx(steps * best.step_time)


def test_gain_is_over_the_better_kind_alone(answer):
    alone = [search(replace(STUDY, mixed=None, cluster=each), keep=1) for each in MIXED.kinds]
    steps = [each.best.estimate.step_time for each in alone]
    assert [each.estimate.step_time for each in answer.alone] == steps
    assert answer.gain == pytest.approx(1 - answer.best.step_time / min(steps))
    assert answer.rival == MIXED.kinds[steps.index(min(steps))].name


def test_much_slower_kind_is_better_left_out():
    slow = mixed(study(two(kind(1), kind(1, share=0.02)), space=FEW), keep=1)
    assert slow.gain < 0
    assert slow.rival == "of 1.0"


def test_objective_memory_answers_with_the_least():
    answer = mixed(replace(STUDY, objective=Objective.MEMORY), keep=5)
    memories = [plan.memory for plan in answer.plans]
    assert memories == sorted(memories)


def test_two_groups_of_one_kind_are_as_good_as_the_cluster_with_both():
    """Every plan by replica or stage is one of the homogeneous cluster, in one order of axes."""
    whole = search(replace(study(MIXED, space=FEW), mixed=None, cluster=kind(2)), keep=1)
    both = mixed(study(two(kind(1), kind(1)), space=FEW), keep=1)
    assert both.best.step_time == pytest.approx(whole.best.estimate.step_time, rel=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mixed": None}, r"cluster\.groups: is missing"),
        ({"space": replace(FEW, offload=(Offload.BOTH,))}, "plan.offload: is not searched"),
        ({"maximise": Maximise.SEQUENCE}, "search.maximise: is not searched"),
        ({"limit": loose(devices=8)}, "search.limit.devices: 8 is below the 12 of both groups"),
        ({"limit": loose(power=1e3)}, "search.limit.power: both groups draw 15 kW"),
        ({"mixed": two(kind(1, price=None), kind(2)), "objective": Objective.COST}, "cost needs"),
        ({"mixed": two(kind(1, price=0.0), kind(2)), "objective": Objective.COST}, "is nothing"),
        ({"space": replace(FEW, tensor=(3,))}, r"plan\.tensor"),
    ],
)
def test_questions_without_an_answer_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        mixed(replace(STUDY, **changes))


def test_devices_that_share_no_degree_have_no_legal_plan():
    odd = two(kind(1, node_devices=4), kind(1, node_devices=3))
    with pytest.raises(InputError, match="no legal plan for small-gpt on 4 and 3 devices"):
        mixed(replace(STUDY, mixed=odd, space=replace(FEW, tensor=(2,), pipeline=(1, 2))))


def test_replicas_of_two_kinds_need_not_divide_the_batch():
    workload = replace(STUDY.workload, global_batch=52)
    space = replace(FEW, data=(12,), micro_batch=(1,))
    first, second = mixed(replace(STUDY, workload=workload, space=space), keep=1).best.kinds
    assert 4 * first.micro_batches + 8 * second.micro_batches == 52


def test_nothing_that_fits_is_told_by_reason():
    tiny = replace(kind(2), device=replace(kind(2).device, memory=1e6))
    with pytest.raises(NoPlanFits, match=r"legal plans are refused \(.* by device memory\)"):
        mixed(replace(STUDY, mixed=two(kind(1), tiny)))


def test_an_estimate_is_of_one_kind():
    space = replace(FEW, micro_batch=(1,), tensor=(1,), pipeline=(1,), sharding=(Sharding.NONE,))
    with pytest.raises(InputError, match=r"cluster\.groups: two kinds of devices are for"):
        estimate(replace(STUDY, space=space))


def test_a_search_of_two_kinds_answers_as_the_verb_of_two_kinds_does():
    assert search(STUDY, keep=1).best == mixed(STUDY, keep=1).best
