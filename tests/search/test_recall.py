"""Warm start: what is known beforehand makes a search shorter and its answer no other."""

from dataclasses import replace

import pytest
from tests.small import (
    CLASSIC,
    QUICK_HOST,
    cluster,
    expert_study,
    gpt_study,
    listed,
    llama_study,
    long_study,
    resnet_study,
    with_memory,
)

from foretrain.cluster.offer import Offer
from foretrain.plan.choices import question_of
from foretrain.plan.plan import Plan, Recompute
from foretrain.plan.study import Objective
from foretrain.search.bounded import among
from foretrain.search.search import search


def changed(study, **changes):
    return replace(study, workload=replace(study.workload, **changes))


PAIRS = {
    "batch": (gpt_study(), changed(gpt_study(), global_batch=48)),
    "devices": (gpt_study(), replace(gpt_study(), cluster=cluster(nodes=1, node_devices=8))),
    "memory": (llama_study(), with_memory(llama_study(), 4e9)),
    "objective": (llama_study(), llama_study(objective=Objective.MEMORY)),
    "space": (
        gpt_study(),
        gpt_study(space=replace(CLASSIC, recompute=(Recompute.FULL,), cut=("balanced",))),
    ),
    "none of the plans": (
        gpt_study(space=replace(CLASSIC, tensor=(2,))),
        gpt_study(space=replace(CLASSIC, tensor=(4,))),
    ),
    "model": (long_study(), expert_study()),
    "nothing": (expert_study(), expert_study()),
    "rent": (
        gpt_study(),
        replace(
            gpt_study(objective=Objective.COST),
            offers=(Offer(cluster=cluster(nodes=4, node_devices=8), nodes=(1, 2, 4)),),
        ),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_known_beforehand_changes_nothing_of_the_answer(name):
    before, asked = PAIRS[name]
    cold, warm = search(asked), search(asked, known=search(before).shown)
    for field in ("plans", "pareto", "space", "unseen", "gap"):
        assert getattr(warm, field) == getattr(cold, field), field
    settled = warm.priced + warm.excluded_by_bound + sum(warm.rejected.values())
    assert settled == warm.space


def test_answer_that_is_known_leaves_little_to_price():
    study = expert_study()
    cold = search(study, keep=3, coefficients=QUICK_HOST)
    warm = search(study, keep=3, coefficients=QUICK_HOST, known=cold.shown)
    assert warm.priced < cold.priced


def test_nonsense_is_not_believed():
    study = gpt_study()
    wild = [
        Plan(tensor=3, data=5),
        Plan(tensor=16, pipeline=7, micro_batch=999),
        Plan(cut=(1, 7), pipeline=2, data=8),
        *listed(resnet_study())[:50],
    ]
    assert search(study, known=wild).ranking == search(study).ranking


@pytest.mark.parametrize("other", [llama_study, long_study])
def test_recalled_plans_are_those_of_the_space_that_agree_with_a_known_one(other):
    study, known = gpt_study(), listed(other())
    question = question_of(study.workload, study.space)
    found = among(question, (study.cluster.devices,), known)
    shapes = {neutral(plan) for plan in known}
    here = {neutral(plan) for plan in listed(study)}
    assert {neutral(found.plan(row)) for row in range(len(found))} == shapes & here


def neutral(plan):
    """A plan without what it may have differently."""
    return replace(plan, data=1, order=Plan().order)
