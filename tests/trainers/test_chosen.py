"""What a trainer lets a plan be: refused words, narrowed spaces, who else could run a plan."""

from dataclasses import replace

import numpy as np
import pytest

from foretrain.errors import InputError
from foretrain.plan.plan import AXES, Offload, Plan, Recompute, Schedule, Sharding
from foretrain.plan.study import Space
from foretrain.plan.table import table_of
from foretrain.study.trainers import trainer, trainers
from foretrain.trainers.chosen import Chosen, against, excluded, narrowed, that_can
from foretrain.workload.operator import Attention

TITAN, CORE, DDP = trainer("torchtitan"), trainer("megatron-lm"), trainer("ddp")
PLANS = [
    Plan(data=8),
    Plan(data=4, tensor=2, sequence_parallel=True),
    Plan(data=4, tensor=2),
    Plan(pipeline=4, data=2, schedule=Schedule.GPIPE),
    Plan(pipeline=4, data=2, sharding=Sharding.PARAMETERS),
    Plan(data=8, sharding=Sharding.PARAMETERS, shard=4),
    Plan(data=8, offload=Offload.OPTIMIZER),
    Plan(data=8, recompute=Recompute.FULL, recompute_layers=3),
    Plan(data=2, pipeline=2, interleaving=2, cut=(1, 2, 2, 1)),
    Plan(data=8, attention=Attention.PLAIN),
]


@pytest.mark.parametrize(
    ("known", "plan", "said"),
    [
        (DDP, Plan(tensor=2), "plan.tensor: pytorch-2.11 has no tensor axis; it has data."),
        (TITAN, Plan(tensor=2, data=4), "no sequence parallelism 'off'; it has on."),
        (CORE, PLANS[3], "plan.schedule: megatron-core-0.18 has no schedule 'gpipe'"),
        (CORE, PLANS[4], "cannot have plan.pipeline above 1 with plan.sharding gradients or"),
        (DDP, PLANS[5], "no sharding 'parameters'"),
        (DDP, PLANS[6], "no offloading 'optimizer'"),
        (trainer("hf-trainer"), PLANS[7], "no recomputation 'layers'"),
        (trainer("deepspeed"), PLANS[8], "no interleaving axis"),
    ],
)
def test_a_plan_that_a_trainer_cannot_run_is_told_with_its_key_and_what_there_is(known, plan, said):
    assert said in "\n".join(against(known, plan))


@pytest.mark.parametrize("known", [each for each in trainers() if each.can], ids=lambda it: it.name)
def test_every_trainer_runs_one_of_its_own_plans(known):
    attention = narrowed(Space(), known)[0].attention or (Attention.FLASH,)
    plain = (known.able("shardings") or ("none",))[0].upper()
    assert not against(known, Plan(data=8, attention=attention[0], sharding=Sharding[plain]))


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("known", [TITAN, CORE, DDP], ids=lambda it: it.name)
def test_a_narrowed_space_holds_what_the_trainer_can_run(known, plan):
    space, _ = narrowed(Space(), known)
    fits = all(
        choices is None or getattr(plan, name) in choices
        for name in (*AXES, "interleaving", "sharding", "recompute", "attention")
        for choices in [getattr(space, name)]
    )
    if not against(known, plan):
        assert fits


def test_a_space_of_which_nothing_is_left_is_told_and_kept():
    space, told = narrowed(Space(schedule=(Schedule.GPIPE,), tensor=(2, 4)), DDP)
    assert space.tensor == (2, 4)
    assert [text.partition(":")[0] for text in told] == ["plan.tensor"]


def test_what_an_entry_does_not_speak_of_is_not_forbidden():
    assert narrowed(Space(), trainer("any")) == (Space(), [])
    assert not any(against(trainer("any"), plan) for plan in PLANS)


def test_exclusions_of_a_table_are_those_of_its_plans():
    told = excluded(CORE, table_of(PLANS))
    alone = [any("cannot have" in text for text in against(CORE, plan)) for plan in PLANS]
    np.testing.assert_array_equal(told, alone)
    assert sum(alone) == 1


def test_trainers_that_can_are_the_newest_releases_of_their_families():
    names = that_can(trainers(), PLANS[3])
    assert "torchtitan-0.3" in names
    assert not {"torchtitan-0.2", "megatron-core-0.18", "pytorch-2.11"} & {*names}
    assert that_can(trainers(), replace(PLANS[3], schedule=Schedule.ZERO_BUBBLE))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((("atention", "flash"),), "has no such option. Did you mean 'attention'"),
        ((("recompute", "selectiv"),), "has no 'selectiv'. Did you mean 'selective'"),
    ],
)
def test_options_that_a_trainer_does_not_have_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        Chosen(trainer=TITAN, options=options)
