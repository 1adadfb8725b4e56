"""Plans in one line: what a ranking prints reads back, and a few keys name a few fields."""

from dataclasses import replace

import pytest
from hypothesis import given
from tests.examples import few
from tests.random_nouns import plans, settings

from foretrain.errors import InputError
from foretrain.plan.plan import (
    SAID,
    ChannelSplit,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.plan.table import changed, spelled
from foretrain.study.plan import read_named, read_plan
from foretrain.workload.operator import Attention


def named(text):
    return read_named(text, where="here")


@few(60, slow=2000)
@given(settings().flatmap(plans))
def test_text_of_a_plan_reads_back_as_all_that_is_not_neutral_and_as_the_same_text(plan):
    said = replace(plan, sequence_parallel=plan.sequence_parallel and plan.tensor > 1)
    if said.tensor == 1:
        said = replace(said, convolutions=ChannelSplit.FILTER)
    if said.context == 1 or said.grid:
        said = replace(said, exchange=ContextExchange.RING)
    if said.sharding is Sharding.NONE:
        said = replace(said, shard=0, reshard=True)
    again = read_plan(str(plan), where="here")
    assert again == said
    assert str(again) == str(plan)


@few(60, slow=2000)
@given(settings().flatmap(plans))
def test_keys_and_values_of_a_plan_read_back_as_the_plan(plan):
    lines = [f"{name}={spelled(getattr(plan, name))}" for name in SAID]
    assert read_plan(" ".join(lines), where="here") == plan
    assert read_plan(", ".join(lines), where="here") == plan


def test_longest_text_reads_back():
    plan = Plan(
        data=4,
        tensor=4,
        context=2,
        pipeline=2,
        expert=4,
        expert_tensor=4,
        interleaving=2,
        micro_batch=2,
        sequence_parallel=True,
        exchange=ContextExchange.ALL_TO_ALL,
        sharding=Sharding.PARAMETERS,
        shard=4,
        reshard=False,
        recompute=Recompute.FULL,
        recompute_layers=3,
        offload=Offload.BOTH,
        attention=Attention.PLAIN,
        schedule=Schedule.ZERO_BUBBLE,
        sends=Sends.BLOCKING,
        cut=(1, 2, 2, 1),
        order=("data", "tensor", "context", "pipeline"),
    )
    assert read_plan(str(plan), where="here") == plan


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("tp8", {"tensor": (8,)}),
        ("tp8+sp", {"tensor": (8,), "sequence_parallel": (True,)}),
        ("tp=8 pp=16", {"tensor": (8,), "pipeline": (16,)}),
        ("tensor = 8, mbs = 1", {"tensor": (8,), "micro_batch": (1,)}),
        ("recompute=full", {"recompute": (Recompute.FULL,)}),
        ('recompute="full"', {"recompute": (Recompute.FULL,)}),
        ("tensor=[4, 8]", {"tensor": (4, 8)}),
        ("schedule=1f1b", {"schedule": (Schedule.ONE_F_ONE_B,)}),
        ("zero bubble", {"schedule": (Schedule.ZERO_BUBBLE,)}),
        ("order=tensor>data>pipeline", {"order": (("tensor", "context", "data", "pipeline"),)}),
        ("cut=3-5", {"cut": ((3, 5),)}),
        ("cut balanced", {"cut": ("balanced",)}),
        ("sp=false", {"sequence_parallel": (False,)}),
        ("ep8 cp2", {"expert": (8,), "context": (2,)}),
    ],
)
def test_some_words_name_some_fields(text, fields):
    assert named(text) == fields


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names nothing"),
        ("tp8 tp4", "plan.tensor: is named twice"),
        ("tp8 tensor=4", "plan.tensor: is named twice"),
        ("tp=8 tensor=4", "plan.tensor: tensor was written before"),
        ("tensr=8", "plan.tensr: unknown key. Did you mean 'tensor'?"),
        ("tensor=0", "plan.tensor: 0 is not between 1"),
        ("tensor=eight", "plan.tensor: 'eight' is not a whole number"),
        ("recompute=all", "plan.recompute: unknown 'all'."),
        ("sharded hsdp", "plan.sharding: unknown 'hsdp'. Replicas that share copies within groups"),
        ("tp8 wide", "'wide' is no key of [plan] with a value and no word of a plan."),
        ("tp8x2", "'tp8x2' is no key"),
        ("cut 0x3", "plan.cut"),
    ],
)
def test_what_is_not_understood_is_told(text, told):
    with pytest.raises(InputError) as caught:
        named(text)
    assert str(caught.value).startswith("here")
    assert told in str(caught.value)


def test_few_fields_are_no_whole_plan():
    with pytest.raises(InputError, match="is no whole plan"):
        read_plan("tp8", where="here")


def test_change_is_told_in_lines_of_a_study():
    order = ("data", "tensor", "context", "pipeline")
    after = Plan(tensor=8, recompute=Recompute.FULL, order=order)
    assert changed(Plan(), after) == (
        "plan.tensor = 8",
        'plan.recompute = "full"',
        'plan.order = ["data", "tensor", "context", "pipeline"]',
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tp8\x0b\x0btp4", "named twice"),
        ("\u00a0\u00a0", "names nothing"),
        ("tp8, zzz;yyy", "'zzz' is no key"),
        ("tensor=" + "9" * 1000, "is not a whole number"),
        ("dp" + "9" * 1000, "is not a whole number"),
        ("cut 1-999999999x2-1", "has more than 1,000 chunks"),
        ("tp8 " * 1000, "has 4,000 letters; at most 2,000 are read"),
    ],
)
def test_text_that_is_odd_or_endless_is_refused_at_once(text, told):
    with pytest.raises(InputError, match=told) as error:
        read_named(text, where="--why-not")
    assert len(str(error.value)) < 2500
