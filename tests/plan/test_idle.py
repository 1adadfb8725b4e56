"""Idle fields: which ones a plan has, by hand."""

from dataclasses import replace

import pytest
from tests.small import expert_study, gpt_study, resnet_study

from foretrain.plan.plan import Plan, Sharding, idle

GPT = gpt_study().workload.model
EXPERTS = expert_study().workload.model
RESNET = resnet_study().workload.model

ALWAYS = ("expert", "expert_tensor", "grid", "convolutions", "split")
BUSY = Plan(data=2, tensor=2, context=2, pipeline=2, sharding=Sharding.PARAMETERS)
STAGES = ("interleaving", "schedule", "sends", "cut")


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ({}, ()),
        ({"tensor": 1}, ("sequence_parallel",)),
        ({"context": 1}, ("exchange",)),
        ({"pipeline": 1}, STAGES),
        ({"sharding": Sharding.NONE}, ("shard", "reshard")),
        ({"sharding": Sharding.OPTIMIZER}, ("reshard",)),
        ({"data": 1}, ()),
        ({"data": 1, "context": 1}, ("exchange", "sharding")),
        ({"data": 1, "context": 1, "pipeline": 1}, ("exchange", "sharding", "order", *STAGES)),
        (
            {"data": 1, "context": 1, "tensor": 1},
            ("exchange", "sharding", "order", "sequence_parallel"),
        ),
    ],
    ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value),
)
def test_fields_without_effect_are_named(change, more):
    assert set(idle(replace(BUSY, **change), GPT)) == {*ALWAYS, *more}


@pytest.mark.parametrize(
    ("change", "alone"),
    [({}, False), ({"expert": 2}, True), ({"expert": 4}, True), ({"expert_tensor": 2}, True)],
    ids=str,
)
def test_members_that_hold_the_same_experts_have_something_to_shard(change, alone):
    """Two tensor members fold one copy of the experts over each of them, unless it is divided."""
    plan = Plan(tensor=2, pipeline=2, sequence_parallel=True, sharding=Sharding.PARAMETERS)
    found = idle(replace(plan, **change), EXPERTS)
    assert ("sharding" in found) is alone
    assert not {"expert", "expert_tensor"} & set(found)


def test_kernel_of_attention_is_idle_where_there_is_none():
    assert "attention" not in idle(BUSY, GPT)
    assert idle(BUSY, RESNET)["attention"] == "resnet-50, which has no attention"


def test_what_divides_pictures_is_idle_where_there_are_none():
    pictured = replace(BUSY, grid=(2, 1))
    found = idle(pictured, RESNET)
    assert not {"grid", "convolutions", "split"} & set(found)
    assert found["exchange"] == "pixels that are shared, not tokens"
    assert idle(BUSY, GPT)["convolutions"].endswith("which has no convolutions")
