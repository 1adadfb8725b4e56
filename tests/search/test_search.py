"""The verb `search`: the best plan, its rivals, what became of the rest, and what has no answer."""

import re
from dataclasses import replace
from functools import partial

import pytest
from tests.builders import GIB
from tests.small import (
    CLASSIC,
    QUICK_HOST,
    cluster,
    expert_study,
    gpt_study,
    listed,
    llama_study,
    long_study,
    loose,
    on_ethernet,
    resnet_study,
    with_memory,
)

from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.enumeration import plan_tables
from foretrain.plan.plan import AXES, Offload, Sends, Sharding
from foretrain.plan.study import Objective, Space
from foretrain.search import exhaustive
from foretrain.search.search import search
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster as catalogued
from foretrain.study.coefficients import DEFAULT
from foretrain.units import SECONDS
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload

# Pipelines whose two resolutions differ, so that playing the best plans changes their order.
PIPELINES = on_ethernet(
    llama_study(
        space=replace(
            CLASSIC,
            pipeline=(3, 6),
            attention=None,
            sends=(Sends.BLOCKING,),
            sharding=(Sharding.NONE,),
        )
    )
)

VALUES = {
    Objective.TIME: lambda estimate: estimate.step_time,
    Objective.COST: lambda estimate: estimate.cost_per_step,
    Objective.ENERGY: lambda estimate: estimate.energy_per_step,
    Objective.MEMORY: lambda estimate: estimate.memory.total,
}


@pytest.fixture(scope="module")
def pipelines():
    return search(PIPELINES, keep=40)


def test_best_plan_is_the_first_of_the_plans(pipelines):
    assert pipelines.ranking[0] is pipelines.ranking[0]
    assert len(pipelines.ranking) == 40
    assert len({str(each.plan) for each in pipelines.ranking}) == 40


def test_estimates_are_those_of_their_plans(pipelines):
    priced = setting(PIPELINES.workload, PIPELINES.cluster, DEFAULT)
    for each in pipelines.ranking:
        assert each.estimate == price_plan(priced, each.plan)


def test_best_plans_are_ranked_again_by_what_their_estimates_say(pipelines):
    closed = [each.estimate.closed_form for each in pipelines.ranking]
    times = [each.estimate.step_time for each in pipelines.ranking]
    assert times == pytest.approx(sorted(times), rel=1e-12)
    assert closed != sorted(closed)


@pytest.mark.parametrize("objective", Objective)
def test_plans_are_in_the_order_of_the_objective(objective):
    answer = search(replace(PIPELINES, objective=objective), keep=150)
    values = [VALUES[objective](each.estimate) for each in answer.ranking]
    assert answer.objective is objective
    assert values == pytest.approx(sorted(values), rel=1e-12)


def test_memory_is_not_scaled_with_the_simulated_step():
    answer = search(replace(PIPELINES, objective=Objective.MEMORY), keep=1)
    priced = setting(PIPELINES.workload, PIPELINES.cluster, DEFAULT)
    # Where the groups lie changes no memory: one order of each plan is enough.
    every = {replace(plan, order=AXES) for plan in listed(PIPELINES)}
    plans = [price_plan(priced, plan, played=False) for plan in every]
    assert answer.ranking[0].estimate.memory.total == min(each.memory.total for each in plans)


def test_plans_are_counted_once_by_what_became_of_them():
    front = search(gpt_study()).pareto
    study = with_memory(gpt_study(), front[len(front) // 2].memory)
    answer = search(study)
    assert answer.space == len(listed(study))
    assert set(answer.rejected) == {"device memory"}
    assert answer.priced + answer.excluded_by_bound + sum(answer.rejected.values()) == answer.space
    assert answer.proven_optimal
    assert all(each.estimate.fits for each in answer.ranking)


def test_front_holds_the_fastest_and_the_smallest_plan():
    answer = search(gpt_study())
    smallest = search(gpt_study(objective=Objective.MEMORY)).ranking[0]
    first, last = answer.pareto[0], answer.pareto[-1]
    assert first.step_time == answer.ranking[0].estimate.closed_form
    assert last.memory == smallest.estimate.memory.total
    for point in answer.pareto:
        assert point.cost_per_step == pytest.approx(16 * 2.5 / 3600 * point.step_time)
        assert point.energy_per_step == pytest.approx(2 * 10_200 * point.step_time)


def test_images_are_searched_too():
    answer = search(resnet_study())
    assert answer.ranking[0].plan.tensor == 1
    assert answer.ranking[0].estimate.fits


def test_what_the_reader_assumed_stands_with_every_estimate():
    answer = search(replace(resnet_study(), assumed=("workload.precision: bf16",)), keep=3)
    for each in answer.ranking:
        assert each.estimate.warnings[0] == "assumed workload.precision: bf16"


def test_same_question_has_the_same_answer():
    one, two = search(gpt_study()), search(gpt_study())
    assert replace(one, seconds=0.0) == replace(two, seconds=0.0)


def test_progress_is_told_up_to_the_whole_space():
    seen = []
    answer = search(gpt_study(), progress=seen.append)
    assert seen[-1].settled == seen[-1].space == answer.space


@pytest.fixture
def short_tables(monkeypatch):
    """Tables of a few plans each, so that a small search has many of them."""
    monkeypatch.setattr(exhaustive, "plan_tables", partial(plan_tables, rows=100))


def test_search_that_is_stopped_says_that_nothing_is_proven(short_tables):
    asked = iter([False, False])
    answer = search(gpt_study(), exhaustive=True, stop=lambda: next(asked, True))
    assert not answer.proven_optimal
    assert answer.unseen > 0
    assert answer.space == answer.priced + sum(answer.rejected.values()) + answer.unseen
    assert answer.ranking[0].estimate.step_time >= search(gpt_study()).ranking[0].estimate.step_time


def test_search_that_is_stopped_at_once_has_a_plan_all_the_same(short_tables):
    answer = search(gpt_study(), exhaustive=True, stop=lambda: True)
    assert answer.ranking[0].estimate.fits
    assert not answer.proven_optimal


def test_search_in_which_nothing_fits_names_the_nearest_miss():
    study = with_memory(gpt_study(), GIB)
    least = search(gpt_study(objective=Objective.MEMORY)).ranking[0].estimate.memory.total
    plans = {str(plan): plan for plan in listed(study)}
    with pytest.raises(NoPlanFits) as caught:
        search(study)
    text = str(caught.value)
    assert f"all {len(plans):,} legal plans are refused ({len(plans):,} by device memory)" in text
    assert f" needs {least / GIB:.2f} GiB per device, h100-sxm-80gb has 1 GiB." in text
    [name] = re.findall(r"Nearest miss: (.*) needs", text)
    priced = setting(study.workload, study.cluster, DEFAULT)
    assert price_plan(priced, plans[name]).memory.total == least


@pytest.mark.parametrize(
    ("limit", "called", "objective"),
    [
        (loose(deadline=1.0), "fastest", Objective.TIME),
        (loose(cost=0.01), "cheapest", Objective.COST),
    ],
)
def test_search_in_which_nothing_keeps_a_limit_names_the_plan_that_is_nearest(
    limit, called, objective
):
    with pytest.raises(NoPlanFits, match=r" by (deadline|cost limit)\)\. Without limits") as caught:
        search(gpt_study(limit=limit))
    best = search(gpt_study(objective=objective)).ranking[0]
    assert f"\n- the {called} plan, {best.plan} on " in str(caught.value)
    assert f": {SECONDS.write(best.estimate.time_to_train)}, " in str(caught.value)
    assert str(caught.value).endswith("\nRelax search.limit.")


def test_limits_that_every_plan_keeps_change_nothing():
    wide = search(gpt_study(limit=loose(devices=16, deadline=1e9, cost=1e9)))
    assert replace(wide, seconds=0.0) == replace(search(gpt_study()), seconds=0.0)


def test_space_without_a_legal_plan_is_refused_with_what_to_do():
    with pytest.raises(InputError) as caught:
        search(gpt_study(cluster=cluster(nodes=11, node_devices=8)))
    assert str(caught.value) == (
        "the space has no legal plan for small-gpt on 88 devices: data x tensor x context x "
        "pipeline must be 88, where tensor divides 16, 2 x context divides the 1024 tokens of a "
        "sample, pipeline cuts the 8 layers and data divides the 16 samples of "
        "workload.global_batch. Free a key of [plan], or change batch or nodes. Or let a plan use "
        "fewer: cluster.nodes = { least = 1, most = 11 }."
    )


def test_space_without_a_legal_plan_for_pictures_divides_channels():
    space = Space(tensor=(1,), context=(1,), micro_batch=(4,))
    network = Workload(model=build("inception-v3", image=224), global_batch=48)
    study = resnet_study(workload=network, cluster=cluster(nodes=16, node_devices=8), space=space)
    with pytest.raises(InputError, match="where tensor divides the channels of its convolutions"):
        search(study)


def test_space_without_a_legal_plan_of_experts_names_them():
    study = expert_study(cluster=cluster(nodes=5, node_devices=1))
    with pytest.raises(InputError, match="expert divides the 4 experts and data x tensor x contex"):
        search(study)


def test_hosts_that_are_too_small_for_every_plan_are_no_limit_of_the_study():
    study = long_study(space=Space(context=(4,), offload=(Offload.BOTH,)))
    host = replace(study.cluster.host, memory=1e6)
    small = replace(study, cluster=replace(study.cluster, host=host))
    with pytest.raises(NoPlanFits, match=r"by host memory\)\. Nearest miss: .* asks the hosts"):
        search(small)


def test_choices_of_which_none_is_legal_are_refused_by_name():
    with pytest.raises(InputError, match=r"^plan\.tensor: none of 3, 5 can run\. "):
        search(gpt_study(space=Space(tensor=(3, 5))))


def test_questions_without_an_answer_are_refused_with_every_reason_at_once():
    study = gpt_study(
        space=Space(tensor=(3,), micro_batch=(5,)),
        limit=loose(devices=8, cost=1.0, deadline=1.0),
        cluster=replace(catalogued("dgx-1-v100", nodes=2), price=None),
    )
    study = replace(study, workload=replace(study.workload, samples=None))
    with pytest.raises(InputError) as caught:
        search(study, keep=0)
    keys = [line.partition(" ")[0].rstrip(":") for line in str(caught.value).splitlines()]
    assert keys == [
        "workload.precision",
        "plan.tensor",
        "plan.micro_batch",
        "plan.tensor",
        "search.limit.cost",
        "search.limit.cost",
        "search.limit.deadline",
        "search.limit.devices",
        "keep",
    ]
    assert "8 is too few: the smallest choice, 2 nodes of dgx-1-v100, has 16" in str(caught.value)


@pytest.mark.parametrize("objective", [Objective.COST, Objective.ENERGY])
def test_objective_without_its_price_is_refused_rather_than_replaced(objective):
    study = gpt_study(objective=objective)
    free = replace(study.cluster, price=None, node_power=None)
    with pytest.raises(InputError, match=r"^search\.objective: (cost|energy) needs cluster\."):
        search(replace(study, cluster=free))


def test_plans_that_only_the_simulation_finds_too_slow_are_dropped_and_counted():
    study = resnet_study()
    found = search(study, keep=400, coefficients=QUICK_HOST)
    estimates = [each.estimate for each in found.ranking]
    slower = [each for each in estimates if each.step_time > each.closed_form]
    between = min(slower, key=lambda each: each.closed_form)
    steps = study.workload.samples / study.workload.global_batch
    deadline = steps * (between.closed_form + between.step_time) / 2
    limited = replace(study, limit=loose(deadline=deadline))
    answer = search(limited, keep=400, coefficients=QUICK_HOST)
    assert all(each.estimate.time_to_train <= deadline for each in answer.ranking)
    assert between.plan not in [each.plan for each in answer.ranking]
    assert answer.space == answer.priced + sum(answer.rejected.values())
