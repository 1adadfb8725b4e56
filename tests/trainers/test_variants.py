"""Variants: every combination that matters, weights that add up, nothing where nothing is open."""

from dataclasses import replace
from math import isclose

import pytest

from foretrain.plan.plan import Plan, Recompute
from foretrain.study.trainers import trainer, trainers
from foretrain.trainers.software import SHARED, AttentionKernel, Execution, Update
from foretrain.trainers.trainer import Circumstances
from foretrain.trainers.variants import MOST, Variant, accustomed, opened, variants, with_option
from foretrain.trainers.vocabulary import OPTIONS
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload

KNOWN = Variant(
    workload=Workload(model=build("llama-3-8b", sequence=4096), global_batch=64),
    plans=(Plan(data=4, tensor=2),),
)
ATTENTION = ("attention", (("plain", 0.25), ("flash-2", 0.75)))
SEQUENCE = ("sequence_parallel", (("off", 0.5), ("on", 0.5)))
DISPATCH = ("dispatcher", (("all-to-all", 0.5), ("deepep", 0.5)))


def test_nothing_open_is_what_is_known():
    assert variants(KNOWN, ()) == (KNOWN,)


def test_every_combination_comes_once_and_weights_add_up():
    found = variants(KNOWN, (ATTENTION, SEQUENCE))
    assert len({each.values for each in found}) == 4
    assert isclose(sum(each.weight for each in found), 1.0)
    flash = [each for each in found if ("attention", "flash-2") in each.values]
    assert all(each.software.kernel is AttentionKernel.SECOND for each in flash)


def test_an_option_that_changes_nothing_makes_no_variant():
    alone = replace(KNOWN, plans=(Plan(data=8),))
    assert variants(alone, (SEQUENCE, DISPATCH)) == (alone,)


def test_so_many_options_are_cut_to_their_likeliest_value():
    several = [
        (name, (("off", 0.4), ("on", 0.6))) for name in ("user_buffers", "overlap_gradients")
    ]
    many = (
        ATTENTION,
        SEQUENCE,
        *several,
        ("sharding", tuple((n, 0.25) for n in ("none", "optimizer", "gradients", "parameters"))),
        ("cuda_graphs", (("none", 0.5), ("whole", 0.5))),
    )
    found = variants(KNOWN, many)
    assert len(found) <= MOST
    assert {dict(each.values)["cuda_graphs"] for each in found} == {"none"}


def test_recomputation_as_needed_is_a_ladder_of_plans():
    ladder = with_option(KNOWN, "recompute", "as-needed").plans
    assert [plan.recompute for plan in ladder][:2] == [Recompute.NONE, Recompute.SELECTIVE]
    assert ladder[-1].recompute is Recompute.FULL
    assert with_option(KNOWN, "execution", "compiled").software.execution is Execution.COMPILED


def test_only_weights_of_an_entry_open_what_ran_and_any_value_a_study_that_is_still_written():
    at = Circumstances(date="2024")
    known = trainer("megatron-deepspeed")
    assert [name for name, _ in opened(known, ("attention", "sharding"), at)] == ["attention"]
    freely = dict(opened(known, ("attention", "sharding"), at, freely=True))
    assert max(dict(freely["sharding"]).values()) == dict(freely["sharding"])["none"]


@pytest.mark.parametrize("known", trainers(), ids=lambda it: it.name)
def test_every_option_of_every_trainer_can_be_open(known):
    found = dict(opened(known, tuple(OPTIONS), Circumstances(), freely=True))
    assert all(isclose(sum(weight for _, weight in each), 1.0) for each in found.values())


def test_habits_of_a_trainer_reach_the_software_that_drives_a_step():
    at = Circumstances(date="2024")
    software = accustomed(SHARED, trainer("megatron-core-0.6"), at)
    assert (software.update, software.norm_wait, software.adds_apart) == (Update.FUSED, True, False)
    before = accustomed(SHARED, trainer("megatron-lm-2.5"), at)
    assert before.adds_apart
    assert accustomed(SHARED, trainer("any"), at) == SHARED
