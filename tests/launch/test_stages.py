"""Cuts of layers and what waits on the host, as each trainer is told them and says them."""

from dataclasses import replace

import pytest
from tests.launch.random_plans import differences, refused, returned, study

from foretrain.launch.stages import rule_of
from foretrain.plan.plan import AS_MADE, Offload, Plan, Recompute, Sharding, cut_into
from foretrain.search.export import files_of

LAYERS = {"llama-3-405b": 126, "deepseek-v3": 61}
COUNTED = ["--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"]


def of(trainer, model, pipeline, interleaving, cut):
    sharding = Sharding.NONE if "titan" in trainer else Sharding.OPTIMIZER
    plan = Plan(
        data=256 // pipeline,
        pipeline=pipeline,
        interleaving=interleaving,
        cut=cut,
        sharding=sharding,
    )
    return study(trainer, model, 32, "bf16"), plan


def lines(asked, plan):
    files, _ = files_of(asked, plan)
    return [line.strip() for each in files for line in each.text.splitlines()]


def said(asked, plan, *words):
    return [line for line in lines(asked, plan) if any(word in line for word in words)]


CUT = ("account-for", "decoder-", "layout", "virtual-pipeline")


@pytest.mark.parametrize(
    ("trainer", "model", "stages", "cut", "options"),
    [
        # 128 of 126 and two ends in 16 stages: 7, 14 x 8, 7.
        ("megatron-core-0.12", "llama-3-405b", (16, 1), "counted", COUNTED),
        (
            "megatron-core-0.12",
            "llama-3-405b",
            (16, 2),
            "counted",
            ["--num-layers-per-virtual-pipeline-stage 4", *COUNTED],
        ),
        # 63 are no multiple of 16: 3, 14 x 4, 2.
        (
            "megatron-core-0.12",
            "deepseek-v3",
            (16, 1),
            "counted",
            ["--decoder-first-pipeline-num-layers 3", "--decoder-last-pipeline-num-layers 2"],
        ),
        # 1, 30 x 2, and a head alone.
        (
            "megatron-core-0.14",
            "deepseek-v3",
            (16, 2),
            "counted",
            ["--pipeline-model-parallel-layout 'Et|(t*2|)*30L'"],
        ),
        (
            "megatron-core-0.10",
            "deepseek-v3",
            (16, 1),
            "remainder",
            ["--decoder-last-pipeline-num-layers 1"],
        ),
        (
            "megatron-core-0.18",
            "deepseek-v3",
            (8, 2),
            "remainder",
            ["--pipeline-model-parallel-layout 'Et*4|(t*4|)*14tL'"],
        ),
        (
            "megatron-core-0.18",
            "deepseek-v3",
            (4, 1),
            (16, 14, 16, 15),
            ["--pipeline-model-parallel-layout 'Et*16|t*14|t*16|t*15L'"],
        ),
    ],
)
def test_megatron_is_told_a_cut_in_one_way_and_it_comes_back(trainer, model, stages, cut, options):
    asked, plan = of(trainer, model, *stages, cut)
    assert sorted(said(asked, plan, *CUT)) == sorted(options)
    read, _ = returned(asked, plan)
    assert differences(asked, plan, read) == {}
    assert read.not_understood == ()


def test_a_release_without_layouts_refuses_what_only_they_say():
    for stages, cut in (((16, 2), "counted"), ((8, 2), "remainder")):
        told = refused(*of("megatron-core-0.12", "deepseek-v3", *stages, cut))
        assert f"Megatron-LM 0.12 (megatron-core-0.12) has no option that says {cut}" in told


def test_torchtitan_is_told_how_many_layers_ends_count_as():
    asked, plan = of("torchtitan-0.2", "llama-3-405b", 16, 2, "counted")
    assert said(asked, plan, "less_layers", "per_stage") == [
        "pipeline_parallel_layers_per_stage = 4",
        "pipeline_parallel_first_stage_less_layers = 1",
        "pipeline_parallel_last_stage_less_layers = 1",
    ]
    read, _ = returned(asked, plan)
    assert differences(asked, plan, read) == {}
    even = (asked, replace(plan, pipeline=2, data=128, interleaving=1, cut="even"))
    assert len([it for it in said(*even, "less_layers") if it.endswith("= 0")]) == 2
    assert differences(*even, returned(*even)[0]) == {}


def test_the_chunks_of_a_rule_have_its_name_and_no_others_do():
    for layers in (61, 94, 126):
        for pipeline in (2, 4, 8, 16):
            for chunks in (pipeline, 2 * pipeline):
                for rule in AS_MADE:
                    sizes = cut_into(rule, layers, pipeline=pipeline, chunks=chunks)
                    assert sizes is None or rule_of(sizes, pipeline) == rule
    assert rule_of((16, 14, 16, 15), 4) == (16, 14, 16, 15)


@pytest.mark.parametrize("trainer", ["megatron-core-0.18", "megatron-bridge-0.5"])
@pytest.mark.parametrize("offload", [Offload.ACTIVATIONS, Offload.BOTH])
def test_layers_on_the_host_are_counted(trainer, offload):
    asked, plan = of(trainer, "llama-3-405b", 1, 1, "even")
    plan = replace(plan, offload=offload, offload_layers=20)
    told = said(asked, plan, "cpu-offload", "cpu_offload")
    assert any(
        line.replace("=", " ").endswith("_num_layers 20") or "num-layers 20" in line
        for line in told
    )
    assert any("optimizer" in line for line in told) == (offload is Offload.BOTH)
    read, _ = returned(asked, plan)
    assert differences(asked, plan, read) == {}


def test_megatron_has_no_layers_on_the_host_in_stages_or_beside_recomputation():
    asked, plan = of("megatron-core-0.18", "llama-3-405b", 1, 1, "even")
    plan = replace(plan, offload=Offload.ACTIVATIONS, offload_layers=20)
    assert refused(asked, plan) is None
    assert "plan.offload" in refused(asked, replace(plan, recompute=Recompute.FULL))
    assert "plan.offload" in refused(asked, replace(plan, pipeline=2, data=128))
