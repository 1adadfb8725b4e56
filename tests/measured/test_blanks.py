"""What stands for the blanks of a row: each by a rule that is listed, none by its effect."""

from dataclasses import replace

import pytest
from tests.measured.runs import GPT, RESNET, case, layout, network, words

from foretrain.measured import defaults
from foretrain.measured.coverage import NotCovered, blanks
from foretrain.measured.run import Place, RunLayout, TrainedNetwork
from foretrain.plan.plan import Offload, Recompute, Sharding
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Optimizer, Precision

MOE = replace(
    GPT,
    framework="Megatron-Bridge (Megatron-Core)",
    date="2026-04",
    network=TrainedNetwork(name="Qwen3 235B-A22B", family="qwen3-moe", experts=128, sequence=4096),
    place=Place(device="GB200", devices=64, node_devices=4, node_link="NVLink 5 (NVL72 domain)"),
    layout=RunLayout(
        data=8, tensor=1, context=1, pipeline=8, interleaving=4, expert=8, micro_batch=1.0
    ),
    global_batch=1024,
    precision="mxfp8",
)


@pytest.mark.parametrize(
    ("run", "blank"),
    [
        (replace(GPT, network=TrainedNetwork(name="")), "model"),
        (replace(GPT, place=Place(devices=128)), "device"),
        (replace(GPT, place=Place(device="A100 SXM 80GB")), "number of devices"),
        (replace(GPT, global_batch=None, layout=RunLayout(data=2)), "batch"),
    ],
)
def test_coverage_counts_rows_with_model_device_count_and_batch(run, blank):
    assert blanks(run) == (blank,)
    assert blanks(GPT) == ()


def test_the_batch_of_one_device_is_batch_enough():
    assert blanks(replace(GPT, global_batch=None)) == ()


def test_one_blank_degree_follows_from_the_number_of_devices():
    found = case(layout(tensor=None))
    assert found.plan.tensor == 8
    assert "degree of the tensor axis from the number of devices" in found.assumed


def test_a_blank_global_batch_is_one_micro_batch_on_every_replica():
    found = case(replace(layout(micro_batch=4.0), global_batch=None))
    assert found.workload.global_batch == 8
    assert defaults.NO_ACCUMULATION.words in found.assumed


def test_a_blank_micro_batch_follows_from_the_accumulation():
    assert case(layout(micro_batch=None, accumulation=8)).plan.micro_batch == 4


def test_a_blank_micro_batch_is_one_sample_in_a_pipeline_and_the_whole_share_without():
    alone = layout(micro_batch=None, pipeline=1, data=16)
    assert case(layout(micro_batch=None)).plan.micro_batch == 1
    assert case(alone).plan.micro_batch == 4
    assert defaults.WHOLE_SHARE.words in case(alone).assumed


def test_blank_recomputation_is_none_or_in_a_tuned_recipe_as_much_as_memory_asks_for():
    found = case(MOE)
    kinds = [(plan.recompute, plan.recompute_layers) for plan in found.plausible]
    layers = found.workload.model.cuttable_layers
    assert kinds == [
        (Recompute.NONE, 0),
        (Recompute.SELECTIVE, 0),
        *((Recompute.FULL, layers * quarters // 4) for quarters in (1, 2, 3)),
        (Recompute.FULL, 0),
    ]
    for run in (layout(recompute=""), RESNET):
        assert words("recompute", "none") in case(run).assumed
        assert case(run).heavier == ()
    assert case(GPT).heavier == ()


def test_every_other_layer_is_full_recomputation_of_half_the_layers():
    plan = case(layout(recompute="selective (every other layer)")).plan
    assert (plan.recompute, plan.recompute_layers) == (Recompute.FULL, 48)


@pytest.mark.parametrize(
    ("words", "shard"), [("FULL_SHARD", 0), ("FSDP group 8", 8), ("FSDP group 16", 0)]
)
def test_a_group_that_shares_one_copy_is_read_from_the_words(words, shard):
    run = layout(pipeline=1, interleaving=None, data=16, zero_stage=3, sharding=words)
    assert (case(run).plan.sharding, case(run).plan.shard) == (Sharding.PARAMETERS, shard)


def test_recipes_shard_the_optimizer_and_divide_tokens_unless_a_row_says_otherwise():
    run = replace(MOE, layout=replace(MOE.layout, tensor=2, data=4, expert=8))
    plan = case(run).plan
    assert (plan.sharding, plan.sequence_parallel) == (Sharding.OPTIMIZER, True)
    assert (plan.expert, plan.expert_tensor) == (8, 1)


def test_layers_that_do_not_divide_evenly_are_cut_so_that_stages_are_balanced():
    found = case(MOE)
    assert found.workload.model.cuttable_layers == 94
    assert found.plan.cut == "balanced"
    assert defaults.BALANCED_CUT.words in found.assumed


def test_ends_that_count_as_layers_leave_fewer_chunks():
    found = case(layout(interleaving=13))
    assert found.plan.interleaving == 12
    assert defaults.FEWER_CHUNKS.words in found.assumed


def test_a_decoder_of_parameters_alone_has_about_as_many():
    run = replace(
        GPT, network=TrainedNetwork(name="GPT 52B", family="gpt", parameters=52e9, sequence=1024)
    )
    model = case(run).workload.model
    assert model.parameters == pytest.approx(52e9, rel=0.02)
    assert defaults.DEPTH.words in case(run).assumed


@pytest.mark.parametrize(
    ("name", "tokens"), [("BERT-large", 384), ("Transformer-XL base", 192), ("Llama 2 70B", 4096)]
)
def test_a_blank_sequence_is_that_of_the_models_recipe(name, tokens):
    run = replace(GPT, network=TrainedNetwork(name=name, family="bert"))
    assert (
        case(replace(run, layout=replace(run.layout, pipeline=8))).workload.model.tokens == tokens
    )


def test_adapters_alone_are_trained_where_the_task_is_lora():
    run = replace(
        GPT, task="LoRA fine-tune", network=TrainedNetwork(name="Llama 2 70B", sequence=8192)
    )
    model = case(run).workload.model
    assert model.trainable < 1e-3 * model.parameters
    assert defaults.LORA.words in case(run).assumed


@pytest.mark.parametrize(
    ("source", "ahead", "name", "default"),
    [
        ("ours", True, "deepseek-v3-mtp", None),
        ("ours", False, "deepseek-v3", None),
        ("ours", None, "deepseek-v3", defaults.NO_PREDICTION),
        ("mbridge", None, "deepseek-v3-mtp", defaults.PREDICTION_AHEAD),
    ],
)
def test_a_row_says_whether_it_predicts_several_tokens(source, ahead, name, default):
    told = TrainedNetwork(name="DeepSeek-V3", sequence=4096, token_prediction=ahead)
    found = case(replace(MOE, network=told, source_id=source))
    assert found.workload.model.name == name
    known = {defaults.NO_PREDICTION.words, defaults.PREDICTION_AHEAD.words}
    assert known & set(found.assumed) == ({default.words} if default else set())


@pytest.mark.parametrize(
    ("device", "words", "precision"),
    [
        ("A100 SXM 80GB", "", Precision.BF16),
        ("V100 SXM 32GB", "", Precision.FP16),
        ("H100 SXM 80GB", "fp8-cs", Precision.FP8_CURRENT),
        ("B200 SXM", "fp8-mx", Precision.MXFP8),
    ],
)
def test_precision_is_read_and_where_blank_the_16_bits_of_the_device(device, words, precision):
    run = replace(GPT, precision=words, place=replace(GPT.place, device=device))
    assert case(run).workload.precision is precision


def test_containers_that_make_tf32_of_fp32_are_read_so_on_devices_that_can():
    run = replace(RESNET, precision="fp32", framework="PyTorch (NGC)")
    assert case(run).workload.precision is Precision.TF32
    old = replace(run, place=replace(run.place, device="V100 SXM 32GB"))
    assert case(old).workload.precision is Precision.FP32


def test_examples_of_one_software_compute_attention_by_separate_kernels():
    run = replace(layout(attention=""), framework="PyTorch (NGC)", date="")
    assert case(run).plan.attention is Attention.PLAIN
    assert case(layout(attention="sdpa")).plan.attention is Attention.FLASH


def test_a_stated_optimizer_is_used():
    assert case(replace(GPT, optimizer="muon")).workload.optimizer is Optimizer.MUON
    with pytest.raises(NotCovered, match="optimizer 'shampoo' is not covered"):
        case(replace(GPT, optimizer="shampoo"))


def test_linear_layers_of_8_bits_are_read_where_only_notes_told_them():
    run = replace(GPT, precision="", linear_precision="fp8")
    assert case(run).workload.precision is Precision.FP8
    assert defaults.FP8_OF_MLPERF.words in case(run).assumed


def test_a_sample_has_its_mean_tokens_where_the_sequence_is_a_maximum():
    run = replace(
        GPT, network=TrainedNetwork(name="BERT-large", family="bert", sequence=512, fill=0.5)
    )
    assert case(run).workload.model.tokens == 256


@pytest.mark.parametrize("stated", [True, False])
def test_sequence_parallelism_is_as_stated(stated):
    assert case(layout(sequence_parallel=stated, recompute="full")).plan.sequence_parallel is stated


def test_activations_wait_in_the_host_where_a_row_says_so():
    assert case(layout(offload="activations")).plan.offload is Offload.ACTIVATIONS
    assert case(layout(offload="none")).plan.offload is Offload.NONE


def test_blank_chunks_of_mlperfs_decoders_are_single_layers():
    found = case(
        replace(layout(interleaving=None), task="pretrain (MLPerf)", source_id="mlperf-v3.0")
    )
    assert found.plan.interleaving == 12
    assert words("interleaving", "finest") in found.assumed


def test_a_blank_device_is_that_of_its_source_if_one_is_known():
    run = replace(GPT, place=replace(GPT.place, device=""), source_id="libai")
    assert case(run).cluster.device.name == "v100-sxm2-32gb"
    assert defaults.OF_LIBAI.words in case(run).assumed


@pytest.mark.parametrize(
    ("name", "variant", "model"),
    [
        ("nnUNet", "volumes", build("nnunet-3d")),
        ("nnUNet", "slices", build("nnunet-2d")),
        ("efficientnet-b4", "", build("efficientnet-b4", image=380)),
        ("Mask R-CNN ResNet-50 FPN", "", build("mask-rcnn-resnet-50")),
        ("RN50v1.5", "", build("resnet-50", image=224)),
    ],
)
def test_networks_of_images_come_from_the_library_at_their_recipes_size(name, variant, model):
    run = replace(RESNET, network=TrainedNetwork(name=name, variant=variant))
    assert case(run).workload.model == model


def test_the_first_version_of_resnet_is_that_of_the_benchmarks_of_2017():
    run = replace(RESNET, network=TrainedNetwork(name="ResNet-152"))
    old = replace(run, source_id="tf-bench-2017")
    assert case(run).workload.model.name == "resnet-152"
    assert case(old).workload.model.name == "resnet-152-v1"


def test_context_and_experts_are_axes_of_the_plan():
    run = layout(context=2, data=1)
    assert case(run).plan.context == 2
    assert case(MOE).plan.expert == 8
    assert case(network(name="gpt", family="gpt")).plan.expert == 1


def test_an_encoder_of_stated_sizes_is_the_librarys_of_these_sizes():
    sizes = {"layers": 24, "hidden": 1024, "heads": 16, "sequence": 512}
    found = case(
        replace(GPT, network=TrainedNetwork(name="BERT-24L-1024h", family="bert", **sizes))
    )
    parameters = build("bert-large", sequence=512).parameters
    assert found.workload.model.parameters == pytest.approx(parameters, rel=1e-3)
    assert defaults.WORD_PIECES.words in found.assumed


def test_a_blank_vocabulary_of_a_plain_decoder_is_gpt_2s():
    assert defaults.VOCABULARY.words in case(network(vocabulary=None)).assumed


def test_a_batch_of_tokens_is_as_many_samples_as_they_fill():
    run = layout(micro_batch=None, batch_tokens=8200, pipeline=1, interleaving=None, data=16)
    run = replace(run, global_batch=None)
    assert not blanks(run)
    assert case(run).plan.micro_batch == 4
    assert case(run).workload.global_batch == 64


@pytest.mark.parametrize(
    ("date", "framework", "written"),
    [
        ("2020-05", "PyTorch", True),
        ("2020-07", "PyTorch", False),
        ("", "PyTorch", False),
        ("2020-05", "DeepSpeed transformer kernel", False),
        ("2020-05", "PyTorch (NGC)", False),
    ],
)
def test_gelu_of_old_berts_is_written_in_python(date, framework, written):
    sizes = {"layers": 24, "hidden": 1024, "heads": 16, "sequence": 512}
    network = TrainedNetwork(name="BERT-large", family="bert", **sizes)
    run = replace(GPT, network=network, date=date, framework=framework)
    kept = {
        operator.kept.values
        for _, operator in case(run).workload.model.operators
        if operator.name == "activation"
    }
    assert kept == {(3 if written else 1) * 4096 * 512}
