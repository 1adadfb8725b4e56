"""Enumeration: every legal plan once, aliases left out, choices honoured."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.examples import every
from tests.plan.scalar_enumerator import Case, legal_plans, placement
from tests.small import (
    cluster,
    expert_study,
    gpt_study,
    listed,
    llama,
    llama_study,
    long_study,
    resnet_study,
)

from foretrain.plan.choices import divisors
from foretrain.plan.enumeration import order_counts, plan_tables, with_orders
from foretrain.plan.legality import problems
from foretrain.plan.plan import (
    AXES,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.plan.study import Space
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

GPT = gpt_study()
LLAMA = llama_study()
RESNET = resnet_study()
RESNET = replace(RESNET, space=replace(RESNET.space, context=None))
EXPERTS = expert_study()
LONG = long_study()
ODD = llama_study(
    workload=Workload(model=llama(sequence=12), global_batch=3),
    cluster=cluster(nodes=3, node_devices=3),
    space=Space(micro_batch=(1,), recompute=(Recompute.NONE,)),
)

CLASSIC = {
    "shardings": (Sharding.NONE, Sharding.OPTIMIZER),
    "shards": False,
    "key_heads": 0,
    "sends": tuple(Sends),
}
CASES = {
    "gpt": (
        GPT,
        Case(
            levels=(8, 2),
            batch=16,
            layers=8,
            tokens=1024,
            tensor_parts=(16, 4096, 51_200),
            kernels=tuple(Attention),
            **CLASSIC,
        ),
    ),
    "llama": (
        LLAMA,
        Case(
            levels=(4, 3),
            batch=36,
            layers=6,
            tokens=512,
            tensor_parts=(12, 6, 2304, 30_720),
            kernels=tuple(Attention),
            **CLASSIC,
        ),
    ),
    "resnet": (
        RESNET,
        Case(
            levels=(8, 1),
            batch=64,
            layers=16,
            tokens=1,
            tensor_parts=(),
            pixels=(7, 7),
            channels=(64, 64),
            kernels=(Attention.FLASH,),
            **CLASSIC,
        ),
    ),
    "experts": (
        EXPERTS,
        Case(
            levels=(2, 2),
            batch=4,
            layers=4,
            tokens=256,
            tensor_parts=(8, 4, 2048, 512, 16_384),
            kernels=tuple(Attention),
            key_heads=4,
            experts=4,
            expert_columns=512,
            cuts=("even", "balanced"),
        ),
    ),
    "long": (
        LONG,
        Case(
            levels=(4, 1),
            batch=4,
            layers=6,
            tokens=512,
            tensor_parts=(12, 6, 2304, 30_720),
            kernels=tuple(Attention),
            key_heads=6,
            schedules=tuple(Schedule),
            recompute_layers=(0, 3),
            offloads=(Offload.NONE, Offload.BOTH),
            shards=False,
            shardings=(Sharding.PARAMETERS,),
            reshards=(True, False),
        ),
    ),
    "odd": (
        ODD,
        Case(
            levels=(3, 3),
            batch=3,
            layers=6,
            tokens=12,
            tensor_parts=(12, 6, 2304, 30_720),
            kernels=tuple(Attention),
            key_heads=6,
        ),
    ),
}
ASKED = {
    "experts": {"micro_batch": (1,), "recompute": (Recompute.NONE,)},
    "long": {"micro_batch": (1, 2), "context": (2, 4)},
    "odd": {"micro_batch": (1,), "recompute": (Recompute.NONE,)},
}
"""Choices that leave out no other plan, and make a case small."""


def tables(study, **options):
    return plan_tables(study.workload, study.cluster, study.space, **options)


def within(study, **choices):
    """The plans of a study with some more choices made."""
    return listed(replace(study, space=replace(study.space, **choices)))


def named_by_place(plans, levels):
    """Plans with the levels that their groups span in place of their order."""
    return {(str(replace(plan, order=AXES)), placement(plan, levels)) for plan in plans}


def asked(name, plan):
    """Whether a plan has the values that the question asks for."""
    wanted = ASKED.get(name, {})
    return all(getattr(plan, field) in values for field, values in wanted.items())


@pytest.mark.parametrize("name", CASES)
def test_plans_are_those_of_the_scalar_enumerator(name):
    study, case = CASES[name]
    ours, theirs = listed(study), [*filter(partial(asked, name), legal_plans(case))]
    assert len(ours) == len(theirs) > 100
    assert named_by_place(ours, case.levels) == named_by_place(theirs, case.levels)


@pytest.mark.parametrize("name", CASES)
def test_no_plan_is_listed_twice_under_any_name(name):
    study, case = CASES[name]
    plans = listed(study)
    assert len(named_by_place(plans, case.levels)) == len(set(plans)) == len(plans)


@pytest.mark.parametrize("name", CASES)
def test_every_plan_is_legal(name):
    study, _ = CASES[name]
    plans = every(5, listed(study), slow=1)
    wrong = {str(plan): problems(study.workload, study.cluster, plan) for plan in plans}
    assert not any(wrong.values())


@pytest.mark.parametrize("name", CASES)
def test_orders_are_counted_as_they_are_listed(name):
    study, _ = CASES[name]
    for plans in tables(study):
        counts = order_counts(plans, study.cluster, study.space)
        ordered, source = with_orders(plans, study.cluster, study.space)
        assert counts.sum() == len(ordered) == len(source)
        np.testing.assert_array_equal(np.bincount(source, minlength=len(plans)), counts)


def test_orders_change_nothing_but_the_order():
    for plans in tables(LLAMA):
        ordered, source = with_orders(plans, LLAMA.cluster, LLAMA.space)
        for row in range(0, len(ordered), 97):
            assert replace(ordered.plan(row), order=AXES) == plans.plan(source[row])


@pytest.mark.parametrize("rows", [1, 100, 10_000_000])
def test_tables_of_any_length_list_the_same_plans(rows):
    assert listed(GPT, rows=rows) == listed(GPT)
    assert all(len(plans) for plans in tables(GPT, rows=rows))


FIXED = [
    {"data": (4,)},
    {"tensor": (2, 4)},
    {"pipeline": (2,), "interleaving": (2,)},
    {"micro_batch": (1, 2)},
    {"sequence_parallel": (True,)},
    {"sequence_parallel": (False,)},
    {"sharding": (Sharding.OPTIMIZER,)},
    {"recompute": (Recompute.NONE, Recompute.FULL)},
    {"attention": (Attention.PLAIN,)},
    {"sends": (Sends.BLOCKING,)},
    {"context": (1, 2)},
    {
        "order": (
            ("pipeline", "data", "tensor", "context"),
            ("data", "tensor", "context", "pipeline"),
        )
    },
]


OTHERS = [
    {"expert": (2, 4)},
    {"expert_tensor": (1,)},
    {"shard": (2,), "sharding": (Sharding.PARAMETERS,)},
    {"sharding": (Sharding.GRADIENTS,)},
    {"cut": ("balanced",)},
    {"cut": ((1, 3), (3, 1)), "pipeline": (2,)},
    {"reshard": (False,)},
    {"schedule": (Schedule.GPIPE,), "interleaving": (1,)},
    {"recompute": (Recompute.FULL,), "recompute_layers": (2,)},
    {"exchange": (ContextExchange.ALL_TO_ALL,)},
]


@pytest.mark.parametrize(
    ("name", "choices"),
    [*(("gpt", choices) for choices in FIXED), *(("experts", choices) for choices in OTHERS)],
    ids=str,
)
def test_choices_are_honoured(name, choices):
    plans = within(CASES[name][0], **choices)
    assert plans
    assert all(
        getattr(plan, field) in allowed for plan in plans for field, allowed in choices.items()
    )


NEUTRAL = [{"data": (4,)}, {"tensor": (2, 4)}, {"micro_batch": (1, 2)}, {"pipeline": (2, 8)}]


@pytest.mark.parametrize("choices", NEUTRAL, ids=str)
def test_choices_leave_out_no_other_plan(choices):
    [(name, allowed)] = choices.items()
    assert within(GPT, **choices) == [
        plan for plan in listed(GPT) if getattr(plan, name) in allowed
    ]


ALIASES = [
    ({"tensor": (1,)}, {"sequence_parallel": (True,)}),
    ({"data": (1,)}, {"sharding": (Sharding.OPTIMIZER,)}),
    ({"pipeline": (1,)}, {"sends": (Sends.BLOCKING,)}),
    ({"pipeline": (1,)}, {"schedule": (Schedule.ZERO_BUBBLE,)}),
    ({"pipeline": (1,)}, {"cut": ("balanced",)}),
    ({"context": (1,)}, {"exchange": (ContextExchange.ALL_TO_ALL,)}),
    ({"data": (1,)}, {"shard": (4,)}),
    ({"sharding": (Sharding.NONE,)}, {"reshard": (False,)}),
]


@pytest.mark.parametrize(("degree", "choice"), ALIASES, ids=str)
def test_choice_without_effect_keeps_its_plans_under_the_name_asked_for(degree, choice):
    [(name, [value])] = choice.items()
    neutral = getattr(Plan(), name)
    plain = [plan for plan in within(GPT, **degree) if getattr(plan, name) == neutral]
    named = within(GPT, **degree, **choice)
    assert named == [replace(plan, **{name: value}) for plan in plain] != []


def test_selective_recomputation_that_would_do_nothing_is_kept_where_it_alone_is_asked_for():
    flash = {"attention": (Attention.FLASH,), "recompute": (Recompute.SELECTIVE,)}
    plans = within(GPT, **flash)
    none = within(GPT, **flash | {"recompute": (Recompute.NONE,)})
    assert plans == [replace(plan, recompute=Recompute.SELECTIVE) for plan in none] != []


def test_selective_recomputation_that_would_do_nothing_is_none_where_both_are_free():
    plans = within(GPT, attention=(Attention.FLASH,))
    assert {plan.recompute for plan in plans} == {Recompute.NONE, Recompute.FULL}


def test_kernel_that_no_operator_has_is_no_choice():
    assert len(listed(RESNET)) == len(within(RESNET, attention=tuple(Attention)))


def test_space_without_a_legal_plan_has_no_table():
    assert list(tables(replace(GPT, space=Space(tensor=(3,))))) == []
    assert list(tables(replace(GPT, space=Space(micro_batch=(5,))))) == []


def test_divisors_come_in_order_and_once():
    for number in (1, 2, 36, 97, 1536):
        assert list(divisors(number)) == [n for n in range(1, number + 1) if number % n == 0]


def test_absent_kernel_is_free():
    free = listed(replace(GPT, space=replace(GPT.space, attention=None)))
    assert sorted(map(str, free)) == sorted(map(str, listed(GPT)))
