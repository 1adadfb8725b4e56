"""The verb `scenarios`: the best plan of each, and the one that is never far from the best."""

from dataclasses import replace
from functools import partial
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.small import cluster, gpt_study, listed, llama_study, loose, on_ethernet, with_memory

from foretrain.cluster.offer import Offer
from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.plan import AXES, Recompute, Sharding
from foretrain.plan.study import Objective, Scenario, Space
from foretrain.search import bounded, regret
from foretrain.search.best_plans import best_plans
from foretrain.search.scenarios import placed, scenarios
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.workload import Workload

ORDERS = (
    AXES,
    ("data", "tensor", "context", "pipeline"),
    ("pipeline", "data", "tensor", "context"),
)
SPACE = Space(
    micro_batch=(1, 2),
    context=(1,),
    interleaving=(1,),
    recompute=(Recompute.NONE, Recompute.FULL),
    sharding=(Sharding.NONE, Sharding.PARAMETERS),
    order=ORDERS,
)
STUDY = gpt_study(space=SPACE)


def on_nodes(study, nodes):
    return replace(study, cluster=cluster(nodes=nodes, node_devices=8))


def with_batch(study, batch):
    workload = study.workload
    changed = Workload(model=workload.model, global_batch=batch, samples=workload.samples)
    return replace(study, workload=changed)


def asked(study, **others):
    """A study and its scenarios by name."""
    found = tuple(Scenario(name=name, study=other) for name, other in others.items())
    return replace(study, scenarios=found)


def apart(best):
    """Three futures whose best plans differ."""
    return asked(best, far=on_ethernet(best), half=on_nodes(best, 1))


@pytest.fixture(scope="module")
def answer():
    return scenarios(apart(STUDY))


def test_study_itself_is_the_first_scenario(answer):
    assert [each.name for each in answer.answers] == ["as given", "far", "half"]


def test_each_scenario_is_answered_like_its_own_study(answer):
    studies = (STUDY, on_ethernet(STUDY), on_nodes(STUDY, 1))
    for each, study in zip(answer.answers, studies, strict=True):
        found = best_plans(study, keep=40)
        assert each.value == min(entry.estimate.closed_form for entry in found.plans)
        assert each.best in found.ranking
        assert each.proven_optimal


def test_no_regret_is_below_0(answer):
    for choice in (*answer.rivals, answer.least):
        assert all(each.regret >= 0 for each in choice.outcomes if each.regret is not None)


def test_best_plan_of_a_scenario_has_no_regret_there(answer):
    for each in answer.answers:
        regrets = [
            outcome.regret
            for choice in answer.rivals
            for outcome in choice.outcomes
            if outcome.scenario == each.name and outcome.plan == each.best.plan
        ]
        assert 0.0 in regrets


def test_regret_is_what_a_plan_takes_more_than_the_best(answer):
    best = {each.name: each.value for each in answer.answers}
    for outcome in answer.least.outcomes:
        assert outcome.regret == outcome.value / best[outcome.scenario] - 1


def test_least_worst_regret_is_no_more_than_that_of_any_best_plan(answer):
    assert answer.proven
    assert answer.least.worst <= min(each.worst for each in answer.rivals if each.worst)
    assert answer.bound == pytest.approx(answer.least.worst, abs=1e-9)


def test_mean_and_worst_are_those_of_the_outcomes(answer):
    regrets = [each.regret for each in answer.least.outcomes]
    assert answer.least.worst == max(regrets)
    assert answer.least.mean == pytest.approx(sum(regrets) / 3)


def test_data_axis_follows_the_devices(answer):
    for choice in answer.rivals:
        plans = {each.scenario: each.plan for each in choice.outcomes if each.plan}
        assert all(plan.devices == (8 if name == "half" else 16) for name, plan in plans.items())
        assert len({replace(plan, data=1, shard=0) for plan in plans.values()}) == 1


def test_study_without_scenarios_is_a_search():
    found, alone = scenarios(STUDY), best_plans(STUDY)
    closed = min(alone.ranking, key=lambda each: each.estimate.closed_form)
    assert found.answers[0].best == closed
    assert (found.least.plan, found.least.worst, found.least.mean) == (closed.plan, 0.0, 0.0)
    assert found.proven


def test_answer_that_is_known_is_not_asked_for_again(monkeypatch):
    known = best_plans(STUDY)
    monkeypatch.setattr(import_module("foretrain.search.scenarios"), "best_plans", None)
    assert scenarios(STUDY, given=known) == scenarios(STUDY, given=known)


def test_same_future_twice_changes_nothing():
    once, twice = scenarios(asked(STUDY)), scenarios(asked(STUDY, again=STUDY))
    assert twice.least.plan == once.least.plan
    assert twice.least.worst == 0.0


def test_price_alone_changes_no_plan():
    cheap = replace(STUDY, cluster=replace(STUDY.cluster, price=1e-4))
    found = scenarios(asked(STUDY, cheap=replace(cheap, objective=Objective.COST)))
    assert len(found.rivals) == 1
    assert found.least.worst == pytest.approx(0.0, abs=1e-12)


def test_batch_that_no_number_of_replicas_divides_is_said():
    found = scenarios(asked(STUDY, odd=on_nodes(STUDY, 11)))
    assert "no legal plan for small-gpt on 88 devices" in found.answers[1].reason
    assert found.least.plan == found.answers[0].best.plan


def test_batch_that_the_replicas_of_a_shape_do_not_divide_is_said():
    wide = replace(STUDY, space=replace(SPACE, tensor=(1,), pipeline=(1,)))
    other = on_nodes(with_batch(replace(STUDY, space=replace(SPACE, tensor=(2,))), 8), 2)
    found = scenarios(asked(wide, other=other))
    assert "16 replicas do not divide the 8 samples" in found.rivals[0].outcomes[1].reason


def test_devices_that_a_shape_cannot_fill_are_said():
    wide = replace(STUDY, space=replace(SPACE, tensor=(16,)))
    half = on_nodes(replace(STUDY, space=replace(SPACE, tensor=(8, 16))), 1)
    found = scenarios(asked(wide, half=half))
    [first, second] = found.rivals
    assert "8 devices are no multiple of tensor x context x pipeline = 16" in (
        first.outcomes[1].reason
    )
    assert "[plan] has no tensor = 8" in second.outcomes[0].reason
    assert found.least is None
    assert found.proven
    assert (first.worst, first.mean) == (None, None)


def test_plan_that_does_not_fit_is_said():
    most = max(entry.estimate.memory.total for entry in best_plans(STUDY).ranking[:1])
    found = scenarios(asked(STUDY, small=with_memory(STUDY, most * 0.9)))
    assert "device memory" in found.rivals[0].outcomes[1].reason
    assert found.rivals[0].worst is None
    assert found.least.worst is not None


def test_future_that_no_plan_can_answer_is_left_out_and_said():
    found = scenarios(asked(STUDY, tiny=with_memory(STUDY, 1e6)))
    assert "no plan fits" in found.answers[1].reason
    assert found.answers[1].best is None
    assert [each.scenario for each in found.least.outcomes] == ["as given"]


def test_no_future_with_a_plan_is_refused():
    with pytest.raises(NoPlanFits, match="no plan fits in any scenario"):
        scenarios(with_memory(STUDY, 1e6))


def test_deadline_that_only_some_plans_keep_is_held():
    entries = best_plans(STUDY, keep=40).ranking
    fast = replace(STUDY, limit=loose(deadline=entries[2].estimate.time_to_train * 1.0001))
    found = scenarios(asked(on_ethernet(STUDY), fast=fast))
    assert found.least is None or found.least.outcomes[1].reason is None
    assert {each.reason for each in found.rivals[0].outcomes} <= {None, "over the deadline"}


def test_keep_must_be_at_least_1():
    with pytest.raises(InputError, match="keep must be at least 1"):
        scenarios(STUDY, keep=0)


def test_search_that_is_stopped_says_that_nothing_is_proven():
    found = scenarios(apart(STUDY), keep=1, given=best_plans(STUDY), stop=lambda: True)
    assert not found.proven
    assert found.bound == 0.0


def test_same_plan_everywhere_is_not_proven_by_searches_that_were_cut_short(monkeypatch):
    for name in ("FIRST", "WIDTH", "ROWS"):
        monkeypatch.setattr(bounded, name, 8)
    study = llama_study()
    found = scenarios(asked(study, again=study), keep=1, stop=lambda: True)
    assert not any(each.proven_optimal for each in found.answers)
    assert (found.least.worst, found.proven) == (0.0, False)


def test_too_many_near_plans_leave_the_least_unproven(monkeypatch):
    monkeypatch.setattr(regret, "ONE_BY_ONE", 0)
    found = scenarios(apart(STUDY))
    assert not found.proven
    assert found.least is not None


def everything(study):
    """Every plan of a study on everything that may be rented."""
    for offer in study.choices:
        for devices in offer.devices:
            yield from listed(replace(study, cluster=offer.of(devices), offers=()))


def brute_force(study):
    """Least worst regret over every shape that any scenario lists, priced plan by plan."""
    studies = [study, *(each.study for each in study.scenarios)]
    shapes = {
        replace(plan, data=1, order=order, shard=shard)
        for each in studies
        for plan in everything(each)
        for order in ORDERS
        for shard in {plan.shard, 0 if plan.shard else plan.data * plan.context}
        if plan.sharding is not Sharding.NONE or shard == plan.shard
    }
    values = [[placed(each, shape, DEFAULT).value for each in studies] for shape in shapes]
    answered = [column for column in zip(*values, strict=True) if any(column)]
    best = [min(filter(None, column)) for column in answered]
    worst = [
        max(value / least - 1 for value, least in zip(row, best, strict=True))
        for row in zip(*answered, strict=True)
        if None not in row
    ]
    return min(worst, default=None)


def test_number_of_devices_may_be_free_too():
    space = replace(
        SPACE, tensor=(2,), pipeline=(1, 2), micro_batch=(1,), recompute=(Recompute.FULL,)
    )
    whole = replace(STUDY, space=space, objective=Objective.COST)
    free = replace(whole, offers=(Offer(cluster=whole.cluster, nodes=(1, 2)),))
    far = replace(on_ethernet(whole), objective=Objective.TIME)
    free_far = replace(far, offers=(Offer(cluster=far.cluster, nodes=(1, 2)),))
    question = asked(free, far=free_far, whole=whole)
    found = scenarios(question, keep=1)
    assert found.proven
    assert found.least.worst == pytest.approx(brute_force(question), abs=1e-9)
    devices = {each.scenario: each.plan.devices for each in found.least.outcomes}
    assert devices["whole"] == 16
    assert devices["as given"] in (8, 16)


changes = st.sampled_from(
    [
        on_ethernet,
        partial(on_nodes, nodes=1),
        partial(with_batch, batch=48),
        partial(with_memory, memory=2.9e9),
        partial(replace, objective=Objective.MEMORY),
        partial(replace, space=replace(SPACE, tensor=(2, 4), sharding=None)),
    ]
)
spaces = st.builds(
    partial(replace, SPACE),
    tensor=st.sampled_from([(1, 2), (2,)]),
    pipeline=st.sampled_from([(1, 2), (2,)]),
    recompute=st.sampled_from([(Recompute.NONE,), (Recompute.FULL,)]),
    shard=st.sampled_from([None, (0,)]),
    sequence_parallel=st.just((False,)),
    micro_batch=st.sampled_from([(1,), (2,)]),
)


@few(2, slow=40)
@given(space=spaces, changed=st.lists(changes, min_size=1, max_size=2), base=st.booleans())
def test_least_regret_is_that_of_all_plans_priced_one_by_one(space, changed, base):
    study = replace(STUDY if base else llama_study(), space=space)
    study = study if base else on_nodes(with_batch(study, 32), 2)
    whole = asked(study, **{str(place): change(study) for place, change in enumerate(changed)})
    found, least = scenarios(whole, keep=1), brute_force(whole)
    assert found.proven
    if least is None:
        assert found.least is None
    else:
        assert found.least.worst == pytest.approx(least, abs=1e-9)
