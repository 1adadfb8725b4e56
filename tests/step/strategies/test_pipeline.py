"""Pipelines: every layer stands on one stage, and 1F1B keeps what the papers say."""

from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.random_models import models
from tests.random_nouns import sizes

from foretrain.plan.plan import Plan, Schedule, cut_into
from foretrain.plan.table import table_of
from foretrain.step.strategies.pipeline import (
    boundary_bytes,
    cuts,
    in_flight,
    least_cuts,
    named,
    stage_layers,
)
from foretrain.workload.library.entries import build

GPT = build("gpt-3-175b", sequence=2048)


def even(model, chunks):
    return named(model, "even", pipeline=1, chunks=chunks)


@st.composite
def ways(draw):
    model = draw(models)
    layers = model.cuttable_layers
    pipeline = draw(st.integers(1, layers))
    chunks = draw(st.integers(1, layers // pipeline if pipeline > 1 else 1))
    return model, pipeline, draw(sizes(layers, pipeline * chunks))


@given(way=ways())
def test_stages_together_hold_every_layer_once(way):
    model, pipeline, chunks = way
    stages = stage_layers(model, pipeline, chunks)
    assert len(stages) == pipeline
    held = [sum(kind) for kind in zip(*stages, strict=True)]
    assert held == [layer.repeats for layer in model.layers]


@given(way=ways())
def test_stages_hold_the_layers_of_their_chunks(way):
    model, pipeline, chunks = way
    cuttable = [layer.cuttable for layer in model.layers]
    held = [
        sum(count for count, can in zip(stage, cuttable, strict=True) if can)
        for stage in stage_layers(model, pipeline, chunks)
    ]
    assert held == [sum(chunks[stage::pipeline]) for stage in range(pipeline)]


@given(way=ways())
def test_runs_are_the_stages_folded(way):
    model, *shape = way
    found = cuts(model, [tuple(shape), (1, even(model, 1))])
    unfolded = []
    for run in range(len(found.stages)):
        assert found.stages[run, 0] == 0 or found.first[run, 0] == len(unfolded)
        unfolded += [tuple(found.layers[run, :, 0])] * int(found.stages[run, 0])
    assert unfolded == stage_layers(model, *shape)
    assert found.stages[:, 1].sum() == 1


@given(way=ways())
def test_the_first_and_the_last_stage_stand_alone(way):
    model, pipeline, chunks = way
    found = cuts(model, [(pipeline, chunks)])
    runs = found.stages[:, 0][found.stages[:, 0] > 0]
    assert runs[0] == runs[-1] == 1


@given(way=ways())
def test_the_least_of_one_way_to_cut_is_that_way(way):
    model, *shape = way
    way = tuple(shape)
    mine, least = cuts(model, [way]), least_cuts(model, [(way,)])
    for name in ("layers", "stages", "first"):
        np.testing.assert_array_equal(getattr(least, name), getattr(mine, name))


def test_the_least_of_several_ways_is_what_each_of_them_leaves_a_stage():
    found = least_cuts(GPT, [((4, (23, 24, 24, 25)), (4, (24, 24, 25, 23)))])
    held = np.repeat(found.layers[:, 1, 0], found.stages[:, 0].astype(int))
    assert held.tolist() == [23, 24, 24, 23]


def test_stages_of_blocks_alone_are_three_runs():
    _, blocks, _ = GPT.layers
    found = cuts(replace(GPT, layers=(blocks,)), [(8, (12,) * 8)])
    assert found.stages[:, 0].tolist() == [1, 6, 1]


def test_embedding_stands_first_and_head_last():
    # Kinds: embedding, block, head.
    assert stage_layers(GPT, 4, even(GPT, 4)) == [(1, 24, 0), (0, 24, 0), (0, 24, 0), (0, 24, 1)]
    assert stage_layers(GPT, 1, even(GPT, 1)) == [(1, 96, 1)]
    assert stage_layers(GPT, 2, even(GPT, 6)) == [(1, 48, 0), (0, 48, 1)]


def test_chunks_of_resnet_go_round_the_stages():
    # 16 bottlenecks in four chunks: 1-4, 5-8, 9-12, 13-16, of which a stage holds every other.
    resnet = build("resnet-50", image=224)
    stem, *groups, classifier = zip(*stage_layers(resnet, 2, even(resnet, 4)), strict=True)
    assert (stem, classifier) == ((1, 0), (0, 1))
    assert groups == [(1, 0), (2, 0), (1, 0), (0, 3), (0, 1), (4, 1), (0, 1), (0, 2)]


def test_uneven_cut_gives_each_stage_what_it_lists():
    assert stage_layers(GPT, 2, (40, 56)) == [(1, 40, 0), (0, 56, 1)]
    assert stage_layers(GPT, 2, (10, 20, 30, 36)) == [(1, 40, 0), (0, 56, 1)]


PUBLISHED = (
    # Layouts of Megatron-Bridge 0.3: "Et*4|(t*4|)*14tmL", "Et|(tt|)*30mL".
    ("remainder", 61, 16, 16, "15x4-1"),
    ("remainder", 61, 4, 16, "15x4-1"),
    ("counted", 61, 8, 32, "1-30x2-0"),
    # Megatron-LM's account_for_embedding_ and account_for_loss_in_pipeline_split: 126 + 2 in 8.
    ("counted", 126, 8, 8, "15-6x16-15"),
    # Megatron-Bridge 0.3, Llama 3.1 405B on GB200: 16 stages of 8 chunks.
    ("counted", 126, 16, 128, "0-126x1-0"),
    ("counted", 94, 8, 32, "2-30x3-2"),
    # BLOOM: 70 layers and two embeddings on 12 stages, type:transformer|embedding.
    ("counted", 70, 12, 12, "5-10x6-5"),
)


@pytest.mark.parametrize(("cut", "layers", "pipeline", "chunks", "found"), PUBLISHED)
def test_cut_is_the_one_that_a_trainer_makes(cut, layers, pipeline, chunks, found):
    sizes = cut_into(cut, layers, pipeline=pipeline, chunks=chunks)
    assert "-".join(f"{n}x{size}" if n > 1 else f"{size}" for size, n in folded(sizes)) == found


def folded(sizes):
    return [(size, len([*run])) for size, run in groupby(sizes)]


@given(
    cut=st.sampled_from(["counted", "remainder"]),
    most=st.integers(2, 12),
    pipeline=st.integers(2, 32),
    each=st.integers(1, 8),
    data=st.data(),
)
def test_uneven_cut_has_every_layer_once_and_full_chunks_between_the_ends(
    cut, most, pipeline, each, data
):
    chunks = pipeline * each
    layers = data.draw(st.integers(most * (chunks - 1) + 1, most * chunks - 1))
    sizes = cut_into(cut, layers, pipeline=pipeline, chunks=chunks)
    assume(sizes)
    assert layers % pipeline
    assert sum(sizes) == layers
    assert len(sizes) == chunks
    assert len(set(sizes[1:-1])) <= 1
    assert max(sizes) == sizes[min(1, chunks - 2)] >= sizes[0]
    assert sizes[0] >= (0 if cut == "counted" and each > 1 else 1)
    assert sizes[-1] >= (1 if each == 1 else 0)


def test_first_chunk_may_be_what_stands_before_the_layers_alone():
    model = build("gpt-3-175b", sequence=2048)
    assert stage_layers(model, 2, (0, 40, 40, 16)) == [(1, 40, 0), (0, 56, 1)]


def test_last_chunk_may_be_what_stands_behind_the_layers_alone():
    model = build("gpt-3-175b", sequence=2048)
    shorter = stage_layers(model, 2, (40, 40, 16, 0))
    assert shorter == [(1, 56, 0), (0, 40, 1)]


def kept(position, *, micro_batches=64.0, **fields):
    plans = table_of([Plan(**fields)])
    return in_flight(
        plans, position=np.array([float(position)]), micro_batches=np.array([micro_batches])
    )[0]


@given(pipeline=st.integers(1, 64), data=st.data())
def test_stage_of_1f1b_keeps_one_more_micro_batch_than_its_successor(pipeline, data):
    stage = data.draw(st.integers(0, pipeline - 1))
    assert kept(stage, pipeline=pipeline) == pipeline - stage


@given(pipeline=st.integers(2, 16), interleaving=st.integers(2, 8))
def test_first_stage_of_interleaved_chunks_keeps_the_published_factor(pipeline, interleaving):
    found = kept(0, pipeline=pipeline, interleaving=interleaving, micro_batches=1000.0)
    factor = 1 + (pipeline - 1) / (pipeline * interleaving)  # korthikanti2022, section 4.2.3
    assert found == pytest.approx(pipeline * factor, rel=1e-12)


def test_no_stage_keeps_more_micro_batches_than_there_are():
    assert kept(0, pipeline=8, micro_batches=3.0) == 3
    assert kept(0, pipeline=8, interleaving=4, micro_batches=8.0) == 8


@given(pipeline=st.integers(2, 16), data=st.data())
def test_every_stage_of_gpipe_keeps_every_micro_batch(pipeline, data):
    stage = data.draw(st.integers(0, pipeline - 1))
    found = kept(stage, pipeline=pipeline, schedule=Schedule.GPIPE, micro_batches=24.0)
    assert found == 24


def test_member_of_the_tensor_axis_sends_its_part_of_the_tokens():
    plans = table_of([Plan(tensor=8, micro_batch=4)])
    # 2 b s h / t bytes (narayanan2021, section 4.1).
    assert boundary_bytes(GPT, plans, value_bytes=2.0)[0] == 2 * 4 * 2048 * 12_288 / 8
