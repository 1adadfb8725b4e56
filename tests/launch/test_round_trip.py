"""What is written from a plan and read again is the plan, or what is lost is listed."""

from dataclasses import replace
from functools import cache

import pytest
from tests.examples import MORE, every
from tests.launch.random_plans import differences, plans, refused, returned

from foretrain.errors import InputError
from foretrain.launch.around import LAUNCHERS
from foretrain.search.export import files_of
from foretrain.study.trainers import trainers
from foretrain.trainers.chosen import chosen_of
from foretrain.workload.operator import Attention

TALKING = [each.name for each in trainers() if each.dialect]
NEWEST = sorted(
    {
        each.family: each.name
        for each in sorted(trainers(), key=lambda it: it.date)
        if each.dialect
    }.values()
)
MANY = 200 if MORE > 1 else 8


@cache
def told(trainer, many, seed=1):
    """Random plans that a trainer can be told."""
    found, seed_of = [], seed
    while len(found) < many:
        found += [pair for pair in plans(trainer, 4 * many, seed_of) if refused(*pair) is None]
        seed_of += 1
    return found[:many]


@pytest.mark.parametrize("trainer", NEWEST)
def test_plan_comes_back_or_what_is_lost_is_listed(trainer):
    for asked, plan in told(trainer, MANY):
        read, left = returned(asked, plan)
        assert differences(asked, plan, read) == {}, str(plan)
        assert read.trainer == trainer
        assert not [it for it in left if it.key.startswith("plan.") and it.key != "plan.sends"]


@pytest.mark.parametrize("trainer", every(4, sorted({*TALKING} - {*NEWEST}), slow=1))
def test_plan_comes_back_through_files_of_an_older_release(trainer):
    for asked, plan in told(trainer, 3):
        read, _ = returned(asked, plan)
        assert differences(asked, plan, read) == {}, str(plan)


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("trainer", ["megatron-core-0.18", "megatron-bridge-0.5", "torchtitan-0.2"])
def test_plan_comes_back_through_every_launcher(trainer, launcher):
    for asked, plan in told(trainer, 3):
        read, _ = returned(asked, plan, launcher)
        assert differences(asked, plan, read) == {}, str(plan)


@pytest.mark.parametrize("trainer", NEWEST)
def test_numbers_of_the_workload_come_back(trainer):
    for asked, plan in told(trainer, 2):
        read, left = returned(asked, plan)
        workload, lost = read.document["workload"], {it.key for it in left}
        known = {
            "global_batch": asked.workload.global_batch,
            "sequence": asked.workload.model.tokens,
            "precision": asked.workload.precision.value,
            "optimizer": asked.workload.optimizer.value,
        }
        for key, value in known.items():
            assert workload[key] == value or f"workload.{key}" in lost


@pytest.mark.parametrize("trainer", NEWEST)
def test_what_cannot_be_told_names_the_field_and_the_release(trainer):
    release = next(each for each in trainers() if each.name == trainer)
    said = [text for pair in plans(trainer, 60, 3) if (text := refused(*pair))]
    for text in said:
        for line in text.splitlines():
            assert line.startswith("plan."), line
            assert trainer in line
            assert release.release in line


def test_a_plan_that_is_not_told_is_not_written():
    asked, plan = next(pair for pair in plans("deepspeed-0.19", 200, 1) if pair[1].recompute)
    with pytest.raises(InputError, match=r"plan\.recompute: DeepSpeed 0\.19 .* has no option"):
        files_of(asked, plan)


def test_what_is_lost_is_seen_where_a_flag_says_something_else():
    """The check fails where an entry is wrong: a flag that sets another key than it reads."""
    asked, plan = told("megatron-core-0.18", 1)[0]
    chosen = chosen_of(asked)
    dialect = chosen.trainer.dialect
    flags = tuple(
        replace(each, key="plan.tensor", words=())
        if each.name == "pipeline-model-parallel-size"
        else each
        for each in dialect.flags
    )
    broken = replace(chosen.trainer, dialect=replace(dialect, flags=flags))
    one = next(pair for pair in told("megatron-core-0.18", 8) if pair[1].pipeline > 1)
    with pytest.raises(InputError, match=r"plan\.pipeline"):
        files_of(replace(one[0], trainer=replace(chosen, trainer=broken)), one[1])
    assert files_of(asked, plan)


OPTIONS = {
    "megatron-core-0.18": {
        "attention": "cudnn",
        "gradients": "bf16",
        "overlap_gradients": "on",
        "overlap_parameters": "on",
        "user_buffers": "on",
        "cuda_graphs": "layers",
        "dispatcher": "hybridep",
        "expert_products": "grouped",
    },
    "megatron-bridge-0.5": {"gradients": "fp32", "user_buffers": "off", "dispatcher": "deepep"},
    "torchtitan-0.2": {"execution": "compiled"},
    "hf-trainer-5": {"attention": "flash-2", "execution": "compiled"},
    "llm-foundry-0.7": {"attention": "flash-2", "gradients": "bf16"},
    "nemo-24": {"attention": "plain", "overlap_gradients": "off", "user_buffers": "on"},
}


@pytest.mark.parametrize("trainer", OPTIONS)
def test_options_of_the_trainer_come_back(trainer):
    asked, plan = next(
        pair for pair in told(trainer, 8) if pair[1].attention is kernel_of(OPTIONS[trainer])
    )
    stated = replace(chosen_of(asked), options=tuple(OPTIONS[trainer].items()))
    read, left = returned(replace(asked, trainer=stated), plan)
    assert not [it for it in left if it.key.startswith("options.")]
    assert read.document["trainer"]["options"].items() >= OPTIONS[trainer].items()


def kernel_of(options):
    """The kernel of attention of some options; flash where they do not say."""
    return Attention.PLAIN if options.get("attention") == "plain" else Attention.FLASH
