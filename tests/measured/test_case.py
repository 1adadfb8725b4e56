"""Measured runs in the words of the nouns: every default listed, and what is not covered."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from tests.measured.runs import GPT, RESNET, case, layout, network, place, words
from tests.tables import published

from foretrain.errors import InputError
from foretrain.measured import defaults
from foretrain.measured.coverage import Default, NotCovered
from foretrain.measured.decoders import FAMILIES
from foretrain.measured.run import Place, RunLayout, Subject, TableKind, TrainedNetwork
from foretrain.plan.plan import Plan, Recompute, Sends, Sharding
from foretrain.study.catalogue import cluster
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Optimizer, Precision

TABLES = Path(__file__).parents[2] / "validation" / "tables"


def test_a_row_that_states_everything_becomes_its_plan():
    assert case(GPT).plan == Plan(
        data=2,
        tensor=8,
        pipeline=8,
        interleaving=3,
        micro_batch=1,
        sequence_parallel=True,
        sharding=Sharding.NONE,
        recompute=Recompute.SELECTIVE,
        attention=Attention.PLAIN,
        sends=Sends.BLOCKING,
    )


def test_a_row_that_states_everything_becomes_its_workload():
    workload = case(GPT).workload
    assert workload.model.parameters == build("gpt-3-175b", sequence=2048).parameters
    assert (workload.global_batch, workload.precision) == (64, Precision.FP16)


def test_only_what_tables_have_no_column_for_is_assumed_of_a_full_row():
    assert set(case(GPT).assumed) == {
        defaults.ADAM.words,
        words("gradients", "fp16-sent"),
        "sends between stages block",
        defaults.RANK_ORDER.words,
    }


def test_a_name_of_the_library_is_structure_enough():
    run = replace(GPT, network=TrainedNetwork(name="GPT-3 175B", sequence=2048))
    assert case(run).workload.model == build("gpt-3-175b", sequence=2048)


def test_a_blank_task_is_training_of_every_parameter():
    assert defaults.WHOLE_TRAINING.words in case(replace(GPT, task="")).assumed


def test_the_cluster_is_the_catalogues_with_the_runs_devices():
    found, known = case(GPT).cluster, cluster("dgx-a100", 16)
    assert found.devices == 128
    assert found.levels == known.levels
    assert found.device == known.device


@pytest.mark.parametrize(
    ("fabric", "alone", "node"),
    [
        ("InfiniBand HDR 8x200Gbps per node", 25e9, 200e9),
        ("Omni-Path 100 x4 per node (Jean Zay)", 12.5e9, 50e9),
        ("InfiniBand EDR 100Gbps per node", 12.5e9, 12.5e9),
        ("RoCE 1600Gbps per node", 25e9, 200e9),
    ],
)
def test_a_stated_rate_per_node_is_used(fabric, alone, node):
    link = case(place(fabric=fabric)).cluster.levels[1].link
    assert (link.bandwidth, link.capacity) == (alone, node)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fabric": ""}, "fabric of the catalogue (infiniband)"),
        ({"fabric": "RoCE 1600Gbps per node"}, "fabric as efficient as infiniband"),
        ({"node_link": ""}, "links in a node as in dgx-a100"),
        ({"node_devices": None}, "eight devices in a node"),
    ],
)
def test_what_is_taken_from_the_nearest_cluster_is_listed(change, words):
    assert words in case(place(**change)).assumed


def test_devices_of_one_node_use_no_fabric():
    run = replace(GPT, layout=replace(GPT.layout, data=1, pipeline=1))
    run = replace(run, place=replace(GPT.place, devices=8, fabric=""))
    found = case(run)
    assert [level.members for level in found.cluster.levels] == [8, 1]
    assert not [words for words in found.assumed if "fabric" in words]


@pytest.mark.parametrize(
    ("change", "said", "value"),
    [
        ({"zero_stage": None}, words("sharding", "none"), ("sharding", Sharding.NONE)),
        ({"interleaving": None}, words("interleaving", "none"), ("interleaving", 1)),
        ({"recompute": "full"}, words("sequence_parallel", "off"), ("sequence_parallel", False)),
        ({"attention": ""}, words("attention", "plain"), ("attention", Attention.PLAIN)),
    ],
)
def test_a_blank_of_the_layout_is_filled_and_listed(change, said, value):
    found = case(layout(**change))
    assert getattr(found.plan, value[0]) == value[1]
    assert said in found.assumed


def test_a_blank_kernel_is_flash_attention_once_that_was_published():
    run = replace(layout(attention=""), framework="PyTorch", date="2023-05")
    assert case(run).plan.attention is Attention.FLASH
    assert words("attention", "flash") in case(run).assumed


@pytest.mark.parametrize(
    ("framework", "date", "interleaving", "sends"),
    [
        ("Megatron-LM", "2022-05", 3, Sends.BLOCKING),
        ("Megatron-LM", "2023-05", 3, Sends.OVERLAPPED),
        ("Megatron-LM", "2023-05", 1, Sends.BLOCKING),
        ("Megatron-DeepSpeed", "2022-03", 1, Sends.BLOCKING),
        ("OneFlow", "2021-05", 1, Sends.OVERLAPPED),
    ],
)
def test_sends_follow_the_software(framework, date, interleaving, sends):
    run = replace(layout(interleaving=interleaving), framework=framework, date=date)
    assert case(run).plan.sends is sends


def test_blank_widths_of_a_plain_decoder_follow_from_its_sizes():
    found = case(network(feed_forward=None, kv_heads=None))
    assert found.workload.model.parameters == case(GPT).workload.model.parameters
    assert {defaults.FOUR_HIDDEN.words, defaults.HEADS_PER_KV_HEAD.words} <= set(found.assumed)


def test_model_of_another_family_is_taken_from_the_library():
    found = case(network(name="BERT-large", family="bert", sequence=512))
    assert found.workload.model.parameters == 336_226_108


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (replace(GPT, table=TableKind.COLLECTIVES), "tables of kind collectives are not covered"),
        (replace(GPT, table=TableKind.PARAMETER_SERVER), "plans have no parameter servers yet"),
        (replace(GPT, task="distillation"), "task 'distillation' is not covered"),
        (replace(GPT, precision="int8 (AQT)"), "precision 'int8 \\(AQT\\)' is not covered"),
        (network(experts=8), "experts of a token not stated"),
        (network(family="llama", vocabulary=None), "vocabulary not stated"),
        (network(hidden=None), "structure of 'gpt' not stated, nor in the library"),
        (network(name="resnet-50", family="", hidden=None), "structure of 'resnet-50' not stated"),
        (network(layers=None), "layers not stated"),
        (network(family="llama3", kv_heads=None), "key-value heads not stated"),
        (place(device=""), "device not stated"),
        (place(device="B2000 SXM"), "device 'B2000 SXM' is not in the catalogue"),
        (place(node_devices=7), "do not fill nodes of 7"),
        (place(devices=64), "do not multiply to the number of devices"),
        (layout(tensor=None, data=3), "do not multiply to the number of devices"),
        (layout(recompute="odd layers"), "recomputation 'odd layers'"),
        (layout(attention="linear"), "attention 'linear'"),
        (
            replace(RESNET, network=TrainedNetwork(name="AlexNotNet")),
            "network 'AlexNotNet' is not in",
        ),
    ],
)
def test_a_run_that_is_not_covered_says_why(run, reason):
    with pytest.raises(NotCovered, match=reason):
        case(run)


def test_a_row_that_contradicts_itself_is_an_error_and_not_a_crash():
    with pytest.raises(InputError, match="heads"):
        case(network(heads=95, kv_heads=95))


def test_parameters_sharded_over_one_replica_are_not_sharded():
    run = layout(zero_stage=3, data=1, pipeline=8)
    run = replace(run, place=replace(run.place, devices=64))
    assert case(run).plan.sharding is Sharding.NONE


def test_resnet_50_is_trained_with_momentum_on_224_pixels():
    found = case(RESNET)
    assert found.plan == Plan(data=8, micro_batch=128)
    assert found.workload.optimizer is Optimizer.MOMENTUM
    assert found.workload.model == build("resnet-50", image=224)
    assert defaults.IMAGE.words in found.assumed


def test_a_share_of_activations_is_that_of_one_micro_batch_on_one_stage():
    run = replace(
        GPT,
        table=TableKind.MEMORY,
        subject=Subject.ACTIVATION_SHARE,
        network=TrainedNetwork(name="gpt3-175B", sequence=2048),
        layout=RunLayout(tensor=8, recompute="selective only"),
        place=Place(device="A100 SXM 80GB", devices=64),
        global_batch=None,
        precision="",
    )
    found = case(run)
    assert (found.plan.devices, found.workload.global_batch) == (8, 1)
    assert not found.plan.sequence_parallel


def test_every_default_says_what_it_assumes_and_why():
    every = [value for value in vars(defaults).values() if isinstance(value, Default)]
    assert len(every) > 10
    assert all(default.words and default.why for default in every)
    assert len({default.words for default in every}) == len(every)


def test_families_agree_with_the_table_of_models():
    with (TABLES / "models.csv").open(newline="") as file:
        models = [row for row in csv.DictReader(file) if row["model"] != "GPT-NeoX-20B"]
    for row in models:
        family = FAMILIES[row["family"]]
        assert family.gated == (row["gated_mlp"] == "yes"), row["model"]
        assert family.tied == (row["tied_embeddings"] == "yes"), row["model"]


@pytest.mark.parametrize("name", ["llm_training", "memory"])
def test_every_evaluation_only_row_of_korthikanti_is_covered(name):
    runs = published(name)
    assert all(case(run) for run in runs if run.source_id.startswith("korthikanti"))
