"""Words of free text: read as they are meant, or said to be left out."""

from dataclasses import replace

import pytest
from tests.measured.runs import GPT, RESNET, case

from foretrain.measured.degrees import stage_of
from foretrain.plan.plan import Sharding


def with_layout(run, **changed):
    return replace(run, layout=replace(run.layout, **changed))


def with_place(run, **changed):
    return replace(run, place=replace(run.place, **changed))


def left_out(run):
    return {words for words in case(run).assumed if words.endswith("left out")}


@pytest.mark.parametrize(
    ("words", "stage"),
    [
        *(("FULL_SHARD", 3), ("fsdp2", 3), ("FSDP group 64", 3), ("ZeRO-3", 3), ("zero 2", 2)),
        *(("SHARD_GRAD_OP", 2), ("DDP + distributed optimizer", 1), ("zero1", 1)),
        *(("ddp", 0), ("NO_SHARD", 0), ("hybrid_shard", None), ("HSDP", None), ("sharded", None)),
    ],
)
def test_words_for_sharding_mean_a_stage_of_zero(words, stage):
    assert stage_of(words) == stage


def test_words_for_sharding_count_where_no_stage_is_stated():
    said = with_layout(GPT, zero_stage=None, sharding="FULL_SHARD")
    assert case(said).plan.sharding is Sharding.PARAMETERS
    stated = with_layout(GPT, zero_stage=1, sharding="FULL_SHARD")
    assert case(stated).plan.sharding is Sharding.OPTIMIZER


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (with_layout(GPT, sharding="colossal"), "shard_strategy 'colossal'"),
        (with_layout(GPT, recompute="full + to disk"), "recompute 'to disk'"),
        (replace(GPT, precision="fp16 + 2:4 sparse"), "precision '2:4 sparse'"),
        (with_layout(RESNET, axes="channels"), "parallelism 'channels'"),
        (with_place(GPT, node_link="wet string"), "intra_link 'wet string'"),
        (with_place(GPT, fabric="carrier pigeons"), "inter_link 'carrier pigeons'"),
    ],
)
def test_words_that_are_not_understood_are_said(run, words):
    assert left_out(run) == {f"{words} is not understood and left out"}


def test_nothing_is_left_out_of_words_that_are_understood():
    assert left_out(GPT) == set()
    assert left_out(with_layout(RESNET, axes="data parallel (all-reduce)")) == set()
