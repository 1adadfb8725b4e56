"""Columns of our copies: the rules give what stands in the files, from the source's own words."""

import csv

import pytest
from validation.columns import TABLES, added, with_columns
from validation.parts.column_rules import (
    COLUMNS,
    attention_kernel,
    container,
    cuda_graphs,
    doubt,
    offload,
    sequence_fill,
    sequence_parallel,
    token_prediction,
)

NAMES = (
    "id source_id source framework date notes check recompute attention_impl gpu_norm seq_len model"
)
BLANK = dict.fromkeys(NAMES.split(), "")


def row(**cells):
    return BLANK | cells


@pytest.mark.parametrize("table", COLUMNS)
def test_the_rules_give_what_stands_in_the_file(table):
    text = (TABLES / f"{table}.csv").read_text()
    assert with_columns(table, text) == text


@pytest.mark.parametrize(
    ("cells", "release"),
    [
        ({"notes": "container 26.04.01; MoE"}, "26.04.01"),
        ({"framework": "PyTorch NVIDIA Release 23.09"}, "23.09"),
        ({"framework": "MXNet NGC20.06"}, "20.06"),
        ({"framework": "NGC MXNet 24.04, NGC Pytorch 23.09"}, ""),
        ({"framework": "PyTorch", "source": "results/dgxh100_ngc23.04_pytorch/bert"}, "23.04"),
        ({"framework": "CUDA 12.0"}, ""),
        ({"framework": "tensorflow 2.11.0"}, ""),
    ],
)
def test_a_container_is_named_or_the_only_release_of_the_words(cells, release):
    assert container(row(**cells)) == release


@pytest.mark.parametrize(
    ("notes", "graphs"),
    [
        ("layout from config file name config_DGXH100_1344x8x6x4x6_mbs1_cg.sh", "yes"),
        ("layout from config file name config_DGXH100_512x8x16x4x8_mbs1.sh", "no"),
        ("submitter Dell", ""),
    ],
)
def test_a_configuration_tells_graphs_by_its_name(notes, graphs):
    assert cuda_graphs(row(notes=notes)) == graphs


@pytest.mark.parametrize(
    ("cells", "fill"),
    [
        ({"check": "seq_len 512 is nominal: about 256 tokens per sample"}, "0.5"),
        ({"check": "phase 2 runs on LDDL bins of 64"}, "0.5625"),
        ({"notes": "samples packed to 512 tokens"}, "1"),
        ({}, ""),
    ],
)
def test_the_fill_of_a_sequence_is_its_mean_tokens_over_the_most(cells, fill):
    assert sequence_fill(row(seq_len="512", **cells)) == fill


@pytest.mark.parametrize(
    ("cells", "kernel"),
    [
        ({"attention_impl": "flash", "date": "2023-03"}, "1"),
        ({"attention_impl": "flash", "date": "2023"}, ""),
        ({"attention_impl": "flash", "date": "2023-09"}, ""),
        ({"attention_impl": "sdpa", "date": "2024-04"}, "2"),
        ({"attention_impl": "flash", "date": "2025-01"}, ""),
        ({"attention_impl": "flash", "date": "2024-01", "framework": "Composer"}, "1"),
        ({"framework": "NeMo Release 24.04", "gpu_norm": "H100 SXM 80GB"}, "cudnn"),
        ({"framework": "NeMo Release 23.09", "gpu_norm": "H100 SXM 80GB"}, ""),
        ({"framework": "NeMo Release 24.04", "gpu_norm": "L40S"}, ""),
    ],
)
def test_a_generation_of_attention_is_told_only_where_one_can_be_meant(cells, kernel):
    assert attention_kernel(row(**cells)) == kernel


@pytest.mark.parametrize(
    ("rule", "cells", "said"),
    [
        (sequence_parallel, {"notes": "Megatron sequence parallelism off; x"}, "no"),
        (sequence_parallel, {"recompute": "full + sequence parallel"}, "yes"),
        (sequence_parallel, {}, ""),
        (offload, {"notes": "x; CPU activations Y; z"}, "activations"),
        (token_prediction, {"notes": "DeepSeekV3 (w/o MTP)"}, "no"),
        (doubt, {"notes": "source flags a known performance regression"}, "regression known to"),
        (doubt, {"id": "mpt-0080"}, "memory close to full"),
    ],
)
def test_words_of_the_notes_become_a_cell(rule, cells, said):
    found = rule(row(**cells))
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_runs_of_one_configuration_have_the_first_id_of_their_group():
    one, other, apart = row(id="a"), row(id="b"), row(id="c", model="another")
    cells = added("llm_training", [one, other, apart])
    assert [each["repeat"] for each in cells] == ["a", "a", ""]


def test_submitters_of_one_container_run_one_configuration_in_their_own_words():
    words = {"source_id": "mlperf-v3.0", "source": "ngc23.04"}
    rows = [
        row(id="a", framework="NGC PyTorch 23.04", **words),
        row(id="b", framework="PyTorch NVIDIA Release 23.04", **words),
    ]
    assert [each["repeat"] for each in added("llm_training", rows)] == ["a", "a"]


def test_repeats_are_of_one_source():
    with (TABLES / "llm_training.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    sources = {}
    for each in rows:
        sources.setdefault(each["repeat"], set()).add(each["source_id"])
    del sources[""]
    assert sources
    assert all(len(found) == 1 for found in sources.values())
