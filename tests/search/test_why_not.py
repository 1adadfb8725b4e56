"""The verb `why_not`: what keeps a plan from being the best, and numbers that add up."""

from dataclasses import replace
from functools import cache

import pytest
from tests.small import HOST, QUICK_HOST, gpt_study, listed, llama_study, loose, with_memory

from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.legality import problems
from foretrain.plan.plan import Offload, Plan, Recompute
from foretrain.plan.study import Objective
from foretrain.search.explain.differences import spent
from foretrain.search.result import Verdict
from foretrain.search.search import search
from foretrain.search.why_not import why_not
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT

STUDY = gpt_study()


@cache
def least():
    """Bytes of the plan that needs the fewest."""
    return search(gpt_study(objective=Objective.MEMORY)).ranking[0].estimate.memory.total


@pytest.fixture(scope="module")
def answer():
    """By devices that do not wait for hosts: among those that do, many plans are as good."""
    return search(STUDY, coefficients=QUICK_HOST)


def asked(text, answer, study=STUDY):
    return why_not(study, text, answer=answer, coefficients=QUICK_HOST)


@pytest.mark.parametrize("objective", Objective)
def test_differences_add_up_to_what_is_lost(objective):
    study = gpt_study(objective=objective)
    answer = search(study)
    best = spent(objective, answer.best.estimate)
    for plan in listed(study)[::400]:
        found = why_not(study, plan, answer=answer)
        lost = spent(objective, found.estimate) - best
        assert sum(each.more for each in found.differences) == pytest.approx(lost, abs=1e-9 * best)
        assert found.loss == pytest.approx(lost / best)


def test_differences_stand_in_the_order_of_their_size(answer):
    sizes = [abs(each.more) for each in asked("tp8", answer).differences]
    assert sizes == sorted(sizes, reverse=True)


def test_plans_of_the_ranking_have_their_place(answer):
    for place, each in enumerate(answer.ranking, start=1):
        for text in (each.plan, str(each.plan)):
            found = asked(text, answer)
            assert found.place == place
            assert found.plan == each.plan
            assert found.verdict is (Verdict.BEST if place == 1 else Verdict.RANKED)


def test_few_fields_mean_the_best_plan_that_has_them(answer):
    found = asked("pp4", answer)
    space = replace(STUDY.space, pipeline=(4,))
    assert (
        found.plan == search(replace(STUDY, space=space), coefficients=QUICK_HOST).ranking[0].plan
    )
    assert found.verdict is Verdict.LOSES
    assert found.loss > 0


def test_fields_of_the_best_plan_mean_the_best_plan(answer):
    found = asked(f"dp{answer.ranking[0].plan.data}", answer)
    assert (found.verdict, found.place, found.loss) == (Verdict.BEST, 1, 0.0)


def test_every_broken_rule_is_told(answer):
    found = asked("tensor=3 micro_batch=7", answer)
    assert found.verdict is Verdict.ILLEGAL
    assert [rule.partition(":")[0] for rule in found.rules] == [
        "plan.tensor",
        "plan.micro_batch",
        "plan.tensor",
    ]
    assert found.plan is None


def test_values_that_are_legal_alone_but_not_together_are_not_legal(answer):
    found = asked("pipeline=2 interleaving=4 dp8 mbs2", answer)
    assert found.verdict is Verdict.ILLEGAL
    assert found.rules


def test_plan_that_does_not_fit_says_what_it_needs_and_what_would_help(answer):
    study = with_memory(STUDY, 1.2 * least())
    found = asked(
        "tp1, pp1, dp16, mbs1, recompute none", search(study, coefficients=QUICK_HOST), study
    )
    assert found.verdict is Verdict.MISFIT
    [excess] = found.excess
    assert excess.limit == "device memory"
    assert excess.needed == found.estimate.memory.total > excess.allowed == 1.2 * least()
    assert found.remedies
    values = [each.value for each in found.remedies]
    assert values == sorted(values)
    for remedy in found.remedies:
        assert remedy.memory <= 1.2 * least()
        assert remedy.change
        if remedy.nodes == study.cluster.nodes:
            assert not problems(study.workload, study.cluster, remedy.plan)
            known = setting(study.workload, study.cluster, DEFAULT)
            assert price_plan(known, remedy.plan).fits


def test_fields_with_which_nothing_fits_mean_the_plan_that_needs_least():
    study = with_memory(STUDY, 1.01 * least())
    space = replace(STUDY.space, micro_batch=(16,))
    leanest = search(replace(STUDY, space=space, objective=Objective.MEMORY)).ranking[0]
    found = asked("mbs16", search(study, coefficients=QUICK_HOST), study)
    assert found.verdict is Verdict.MISFIT
    assert found.estimate.memory.total == leanest.estimate.memory.total


def test_broken_limit_says_by_how_much(answer):
    slow = asked("pp8 recompute=full", answer)
    middle = (slow.estimate.time_to_train + answer.ranking[0].estimate.time_to_train) / 2
    study = replace(STUDY, limit=loose(deadline=middle))
    found = asked("pp8 recompute=full", search(study, coefficients=QUICK_HOST), study)
    assert found.verdict is Verdict.OVER_LIMIT
    [excess] = found.excess
    assert (excess.limit, excess.allowed) == ("deadline", middle)
    assert excess.needed == found.estimate.time_to_train


def test_key_that_leaves_a_plan_out_is_named_and_the_plan_priced_all_the_same():
    space = replace(STUDY.space, recompute=(Recompute.FULL,))
    study = replace(STUDY, space=space)
    found = asked("recompute=none", search(study, coefficients=QUICK_HOST), study)
    assert found.verdict is Verdict.OUTSIDE
    assert found.excluded_by == ('plan.recompute is "full"; this needs plan.recompute = "none"',)
    assert found.loss < 0


def test_key_that_is_fixed_by_default_is_named_as_such(answer):
    study = replace(STUDY, cluster=replace(STUDY.cluster, host=HOST))
    found = asked("offload=optimizer", answer, study)
    assert found.verdict is Verdict.OUTSIDE
    assert found.plan.offload is Offload.OPTIMIZER
    assert found.excluded_by[0].startswith('plan.offload is "none" unless the study says otherwise')


def test_key_of_the_study_that_does_not_go_with_what_is_named_is_the_reason():
    study = replace(STUDY, space=replace(STUDY.space, pipeline=(4, 8)))
    found = asked("tp16", search(study, coefficients=QUICK_HOST), study)
    assert found.verdict is Verdict.OUTSIDE
    assert found.plan.tensor == 16
    assert [text.partition(" ")[0] for text in found.excluded_by] == ["plan.pipeline"]


def test_fields_that_change_nothing_leave_no_plan_out():
    study = replace(STUDY, space=replace(STUDY.space, sequence_parallel=(True,)))
    answer = search(study)
    found = asked(replace(answer.ranking[0].plan, sequence_parallel=False), answer, study)
    assert not found.excluded_by or found.plan.tensor > 1


def test_question_that_cannot_be_read_is_refused(answer):
    with pytest.raises(InputError, match=r"^why_not: plan\.tensr: unknown key"):
        asked("tensr=8", answer)


def test_degrees_that_are_no_powers_of_two_are_asked_too():
    study = llama_study()
    found = asked("tp3", search(study, coefficients=QUICK_HOST), study)
    assert found.plan.tensor == 3
    assert found.verdict is Verdict.LOSES


def test_ways_out_are_told_where_nothing_fits():
    space = replace(STUDY.space, micro_batch=(16,), recompute=(Recompute.NONE,))
    study = with_memory(replace(STUDY, space=space), 1.03 * least())
    with pytest.raises(NoPlanFits) as caught:
        search(study)
    text = str(caught.value)
    assert "Nearest miss: " in text
    assert "- plan.micro_batch left out instead of 16: " in text
    assert "- devices with " in text


def test_limit_on_memory_is_told_as_the_way_out():
    study = replace(STUDY, limit=loose(memory=0.9 * least()))
    with pytest.raises(
        NoPlanFits, match=r"(?s)search\.limit\.memory is .*\n- search.limit.memory of"
    ):
        search(study)


def test_neutral_plan_is_a_plan_too(answer):
    assert asked(Plan(data=16), answer).estimate.plan == Plan(data=16)
