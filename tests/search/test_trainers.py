"""Searches with a trainer: the best of what it can run, whichever engine looks for it."""

import pytest

from foretrain.errors import InputError
from foretrain.plan.plan import Offload, Plan, Recompute
from foretrain.search.search import search
from foretrain.search.table import TRAINER
from foretrain.study.study import study_from
from foretrain.study.trainers import trainer
from foretrain.trainers.chosen import against

STUDY = {
    "workload": {"model": "llama-3-8b", "global_batch": 32, "sequence": 4096},
    "cluster": {"name": "dgx-h100", "nodes": 1},
    "plan": {"micro_batch": 1, "recompute": "none"},
    "search": {"fits": "0 %"},
}


def found(name=None, *, exhaustive=False, **plan):
    section = {"trainer": {"name": name}} if name else {}
    study = study_from({**STUDY, **section, "plan": STUDY["plan"] | plan}, "x")
    return search(study, keep=5, exhaustive=exhaustive)


@pytest.mark.parametrize("name", ["megatron-lm", "deepspeed", "torchtitan"])
def test_plans_of_a_search_are_what_its_trainer_can_run_and_counts_add_up(name):
    answer = found(name)
    assert not any(against(trainer(name), each.plan) for each in answer.ranking)
    settled = answer.priced + answer.excluded_by_bound + sum(answer.rejected.values())
    assert settled == answer.space
    assert [each.plan for each in answer.ranking] == [
        each.plan for each in found(name, exhaustive=True).ranking
    ]


def test_plans_that_a_trainer_excludes_together_are_counted():
    assert found("megatron-lm", exhaustive=True).rejected[TRAINER] > 0


def test_a_ranking_says_who_can_run_each_plan_and_changes_nothing_else():
    answer = found(tensor=2, sequence_parallel=True, pipeline=2, sharding="none")
    assert {"torchtitan-0.3", "megatron-core-0.18"} <= {*answer.ranking[0].trainers}
    assert "pytorch-2.11" not in answer.ranking[0].trainers
    assert answer.ranking[0].estimate.decides is None


def test_options_are_fixed_while_searching_and_priced_for_plans_that_are_shown():
    best = found("hf-trainer").ranking[0].estimate
    assert best.step_time_low < best.step_time < best.step_time_high
    assert any(text.startswith("open in the trainer") for text in best.warnings)


def test_a_space_of_which_a_trainer_can_run_nothing_is_refused():
    with pytest.raises(InputError, match="Trainers that can: "):
        found("ddp", pipeline=2)


def test_a_plan_that_the_trainer_cannot_run_is_why_it_is_not_the_best():
    study = study_from({**STUDY, "trainer": {"name": "ddp"}}, "x")
    [why] = search(study, keep=1, why_not=["pipeline=2"]).why_not
    assert "pytorch-2.11 has no pipeline axis" in "\n".join(why.rules)


def test_activations_on_the_host_come_with_neither_stages_nor_recomputation_in_megatron():
    def problems(name, **plan):
        return against(trainer(name), Plan(offload=Offload.ACTIVATIONS, **plan))

    assert not problems("megatron-core-0.12", data=8)
    for name in ("megatron-core-0.6", "megatron-core-0.12", "megatron-bridge-0.4"):
        assert problems(name, data=2, pipeline=4)
        assert problems(name, data=8, recompute=Recompute.FULL)
